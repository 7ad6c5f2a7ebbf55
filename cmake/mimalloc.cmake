# libmimalloc: mimalloc's names. Two lines of it are in use, which differ in a file (mimalloc_v2.c, mimalloc_v3.c).
#
#   mimalloc          libmimalloc.so.3, which libmimalloc.so leads to
#   mimalloc_v2       libmimalloc.so.2
#   mimalloc_static   libmimalloc.a; mimalloc.o is the same in one object, for those who link that first
#
# The CMake package `mimalloc` has the targets mimalloc and mimalloc-static.

set(VT_MIMALLOC_SOURCES src/dialect/door_mimalloc.c src/dialect/mimalloc_environment.c src/dialect/mimalloc_values.c src/dialect/mimalloc_options.c
    src/dialect/mimalloc_message.c src/dialect/mimalloc_alloc.c src/dialect/mimalloc_names.c src/dialect/mimalloc_heap.c
    src/dialect/mimalloc_stats.c src/dialect/mimalloc_arena.c)

# The names of C and C++ with mimalloc's rules: what heap they take from, what calloc clears, what realloc to 0 gives.
vt_objects(mimalloc_names ${VT_OVERRIDE_SOURCES})
target_compile_definitions(mimalloc_names PRIVATE vt__malloc_slow=vt__mi_malloc_slow vt__malloc=vt__mi_plain_malloc
    vt__calloc=vt__mi_plain_calloc vt__realloc=vt__mi_plain_realloc vt__aligned_alloc=vt__mi_plain_aligned)
string(REPLACE vitrine_names mimalloc_names VT_SHARED_OBJECTS "${VT_SHARED_OBJECTS}")
string(REPLACE vitrine_names mimalloc_names VT_STATIC_OBJECTS "${VT_STATIC_OBJECTS}")

vt_library(mimalloc SHARED mimalloc ${VT_MIMALLOC_SOURCES} src/dialect/mimalloc_v3.c)
set_target_properties(mimalloc PROPERTIES SOVERSION 3 VERSION 3.4)
vt_library(mimalloc_v2 SHARED mimalloc ${VT_MIMALLOC_SOURCES} src/dialect/mimalloc_v2.c)
# a name of its own while it is built: libmimalloc.so is the other's
set_target_properties(mimalloc_v2 PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/mimalloc-2 SOVERSION 2 VERSION 2.4)
vt_library(mimalloc_static STATIC mimalloc ${VT_MIMALLOC_SOURCES} src/dialect/mimalloc_v3.c)

string(REPLACE mimalloc_names vitrine_names VT_SHARED_OBJECTS "${VT_SHARED_OBJECTS}")
string(REPLACE mimalloc_names vitrine_names VT_STATIC_OBJECTS "${VT_STATIC_OBJECTS}")

set(VT_MIMALLOC_OBJECT ${CMAKE_BINARY_DIR}/lib/mimalloc.o)
add_custom_command(OUTPUT ${VT_MIMALLOC_OBJECT}
    COMMAND ${CMAKE_LINKER} -r -o ${VT_MIMALLOC_OBJECT} --whole-archive $<TARGET_FILE:mimalloc_static>
    DEPENDS mimalloc_static VERBATIM)
add_custom_target(mimalloc_object ALL DEPENDS ${VT_MIMALLOC_OBJECT})

target_include_directories(mimalloc INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(mimalloc_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(mimalloc_static INTERFACE -pthread)
target_link_options(mimalloc_static INTERFACE LINKER:-u,malloc LINKER:-u,vt_profiler_functions LINKER:--eh-frame-hdr)
set_target_properties(mimalloc_static PROPERTIES EXPORT_NAME mimalloc-static)

if(VT_COMPAT)
    set(VT_MIMALLOC_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/mimalloc)
    install(TARGETS mimalloc mimalloc_static EXPORT mimalloc-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(TARGETS mimalloc_v2 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
    install(FILES ${VT_MIMALLOC_OBJECT} DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES include/compat/mimalloc.h include/compat/mimalloc-override.h include/compat/mimalloc-new-delete.h
        include/compat/mimalloc-stats.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT mimalloc-targets FILE mimalloc-config.cmake DESTINATION ${VT_MIMALLOC_PACKAGE})
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/mimalloc-config-version.cmake VERSION 3.4.3 COMPATIBILITY AnyNewerVersion)
    install(FILES ${CMAKE_BINARY_DIR}/mimalloc-config-version.cmake DESTINATION ${VT_MIMALLOC_PACKAGE})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/mimalloc.pc.in ${CMAKE_BINARY_DIR}/mimalloc.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/mimalloc.pc DESTINATION ${VT_PKGCONFIG_DIR})
endif()
