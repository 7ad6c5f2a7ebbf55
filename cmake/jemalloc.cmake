# libjemalloc: the library's objects by jemalloc's names, with its door. Include after cmake/library.cmake and cmake/install.cmake.
#
#   jemalloc          libjemalloc.so.2
#   jemalloc_static   libjemalloc.a

set(VT_JEMALLOC_SOURCES
    src/dialect/door_jemalloc.c src/dialect/jemalloc_alloc.c src/dialect/jemalloc_environment.c src/dialect/jemalloc_say.c
    src/dialect/jemalloc_ctl.c src/dialect/jemalloc_nodes.c src/dialect/jemalloc_arenas.c src/dialect/jemalloc_snapshot.c
    src/dialect/jemalloc_prof.c src/dialect/jemalloc_print.c)

vt_library(jemalloc SHARED jemalloc ${VT_JEMALLOC_SOURCES})
set_target_properties(jemalloc PROPERTIES SOVERSION 2 VERSION 2)
# A program's own malloc_conf and malloc_message take the place of ours.
target_link_options(jemalloc PRIVATE -Wl,-Bsymbolic-functions)
vt_library(jemalloc_static STATIC jemalloc ${VT_JEMALLOC_SOURCES})

if(VT_COMPAT)
    install(TARGETS jemalloc jemalloc_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/compat/jemalloc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/jemalloc.pc.in ${CMAKE_BINARY_DIR}/jemalloc.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/jemalloc.pc DESTINATION ${VT_PKGCONFIG_DIR})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/jemalloc-config.in ${CMAKE_BINARY_DIR}/jemalloc-config @ONLY)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/jemalloc-config DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
