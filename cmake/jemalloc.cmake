# libjemalloc: the library's objects by jemalloc's names, with its door. Include after cmake/library.cmake and cmake/install.cmake.
#
#   jemalloc          libjemalloc.so.2
#   jemalloc_static   libjemalloc.a

set(VT_JEMALLOC_SOURCES
    src/dialect/door_jemalloc.c src/dialect/jemalloc_alloc.c src/dialect/jemalloc_environment.c src/dialect/jemalloc_say.c
    src/dialect/jemalloc_names.c src/dialect/jemalloc_ctl.c src/dialect/jemalloc_nodes.c src/dialect/jemalloc_arenas.c
    src/dialect/jemalloc_settings.c src/dialect/jemalloc_extents.c src/dialect/jemalloc_snapshot.c src/dialect/jemalloc_prof.c src/dialect/jemalloc_samples.c
    src/dialect/jemalloc_history.c src/dialect/jemalloc_hooks.c src/dialect/jemalloc_print.c src/dialect/jemalloc_print_arena.c src/dialect/jemalloc_print_write.c
    src/probe/history.c src/dump/history_jemalloc.c)

# The names of C and C++ with jemalloc's rules: the thread's arena, and what options fill blocks with.
set(VT_JEMALLOC_RENAMES vt__malloc_slow=vt__je_malloc_slow vt__malloc=vt__je_malloc vt__calloc=vt__je_calloc
    vt__realloc=vt__je_realloc vt__aligned_alloc=vt__je_aligned_alloc vt__free_other=vt__je_free_other
    vt__free_sized=vt__je_free_sized)
vt_objects(jemalloc_names ${VT_OVERRIDE_SOURCES})
target_compile_definitions(jemalloc_names PRIVATE ${VT_JEMALLOC_RENAMES})
set_source_files_properties(src/dialect/jemalloc_alloc.c PROPERTIES COMPILE_DEFINITIONS "${VT_JEMALLOC_RENAMES}")
string(REPLACE vitrine_names jemalloc_names VT_SHARED_OBJECTS "${VT_SHARED_OBJECTS}")
string(REPLACE vitrine_names jemalloc_names VT_STATIC_OBJECTS "${VT_STATIC_OBJECTS}")

vt_library(jemalloc SHARED jemalloc ${VT_JEMALLOC_SOURCES})
set_target_properties(jemalloc PROPERTIES SOVERSION 2 VERSION 2)
# A program's own malloc_conf and malloc_message take the place of ours.
target_link_options(jemalloc PRIVATE -Wl,-Bsymbolic-functions)
vt_library(jemalloc_static STATIC jemalloc ${VT_JEMALLOC_SOURCES})
string(REPLACE jemalloc_names vitrine_names VT_SHARED_OBJECTS "${VT_SHARED_OBJECTS}")
string(REPLACE jemalloc_names vitrine_names VT_STATIC_OBJECTS "${VT_STATIC_OBJECTS}")

if(VT_COMPAT)
    install(TARGETS jemalloc jemalloc_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/compat/jemalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/jemalloc.pc.in ${CMAKE_BINARY_DIR}/jemalloc.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/jemalloc.pc DESTINATION ${VT_PKGCONFIG_DIR})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/jemalloc-config.in ${CMAKE_BINARY_DIR}/jemalloc-config @ONLY)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/jemalloc-config DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
