# gperftools' libraries: links of libvitrine's objects with its door (docs/dialects.md). libprofiler is cmake/profiler.cmake's.
#
#   tcmalloc                 libtcmalloc.so.4                 malloc, heap profiler, samples
#   tcmalloc_minimal         libtcmalloc_minimal.so.4         malloc alone
#   tcmalloc_and_profiler    libtcmalloc_and_profiler.so.4    as the first; all of ours have the CPU profiler
#   tcmalloc_debug           libtcmalloc_debug.so.4           as the first, with guards around blocks
#   tcmalloc_minimal_debug   libtcmalloc_minimal_debug.so.4   as the second, with guards
#
# and each as an archive.

set(VT_TC_COMMON src/dialect/gperftools_environment.c src/dialect/gperftools_start.c src/dialect/gperftools_say.c
    src/dialect/gperftools_extension.c src/dialect/gperftools_extension_cxx.c src/dialect/gperftools_tc.c
    src/dialect/gperftools_hook.c src/dialect/gperftools_new_mode.c)
set(VT_TC_FULL src/dialect/door_gperftools.c src/dialect/gperftools_heap.c src/dialect/gperftools_mmap_log.c
    src/dialect/gperftools_stacktrace.c ${VT_TC_COMMON})
set(VT_TC_MINIMAL src/dialect/door_gperftools_minimal.c ${VT_TC_COMMON})

# vt_tcmalloc(names name version words source...); its names of C and C++ are the objects `names`
function(vt_tcmalloc names name version words)
    string(REPLACE vitrine_names ${names} VT_SHARED_OBJECTS "${VT_SHARED_OBJECTS}")
    string(REPLACE vitrine_names ${names} VT_STATIC_OBJECTS "${VT_STATIC_OBJECTS}")
    vt_library(${name} SHARED ${name} ${ARGN})
    set_target_properties(${name} PROPERTIES SOVERSION 4 VERSION ${version})
    # a program that declares a flag by hand has a copy of it, which is the one that counts
    target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions)
    vt_library(${name}_static STATIC ${name} ${ARGN})
    if(VT_COMPAT)
        install(TARGETS ${name} ${name}_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
        set(VT_TC_NAME ${name})
        set(VT_TC_WORDS ${words})
        configure_file(${CMAKE_SOURCE_DIR}/cmake/tcmalloc.pc.in ${CMAKE_BINARY_DIR}/lib${name}.pc @ONLY)
        install(FILES ${CMAKE_BINARY_DIR}/lib${name}.pc DESTINATION ${VT_PKGCONFIG_DIR})
    endif()
endfunction()

vt_objects(tcmalloc_names ${VT_OVERRIDE_SOURCES})
target_compile_definitions(tcmalloc_names PRIVATE VT_NEW_MODE)
set(VT_TC_PLAIN src/dialect/gperftools_no_debug.c)
vt_tcmalloc(tcmalloc_names tcmalloc 4.6.5 "malloc with heap profiler" ${VT_TC_FULL} ${VT_TC_PLAIN})
vt_tcmalloc(tcmalloc_names tcmalloc_minimal 4.6.5 "malloc" ${VT_TC_MINIMAL} ${VT_TC_PLAIN})
vt_tcmalloc(tcmalloc_names tcmalloc_and_profiler 4.7.5 "malloc with heap and CPU profiler" ${VT_TC_FULL} ${VT_TC_PLAIN})

# The debug libraries have other names in front: the same files, with blocks_guarded.h.
vt_objects(tcmalloc_debug_names ${VT_OVERRIDE_SOURCES})
target_compile_definitions(tcmalloc_debug_names PRIVATE VT_GUARDED_BLOCKS)
set(VT_TC_DEBUG src/dialect/gperftools_debug.c src/dialect/gperftools_trace.c src/probe/guard_block.c
    src/dump/symbol.c)
vt_tcmalloc(tcmalloc_debug_names tcmalloc_debug 4.6.5 "malloc with heap profiler that finds mistakes" ${VT_TC_FULL} ${VT_TC_DEBUG})
vt_tcmalloc(tcmalloc_debug_names tcmalloc_minimal_debug 4.6.5 "malloc that finds mistakes" ${VT_TC_MINIMAL} ${VT_TC_DEBUG})
