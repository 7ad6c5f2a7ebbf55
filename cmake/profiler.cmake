# libprofiler: the CPU profiler alone, by gperftools' name. It defines no malloc and calls none, so it goes with any. Include
# after cmake/library.cmake.
#
#   profiler          libprofiler.so.0
#   profiler_static   libprofiler.a
#
# With libvitrine in the same process it hands every call on to that (src/dialect/profiler.h).

set(VT_PROFILER_SOURCES
    src/base/lock.c src/base/text.c
    src/os/memory.c src/os/arena.c src/os/region.c src/os/box.c src/os/process.c src/os/file.c src/os/place.c src/os/draft.c src/os/timer.c
    src/conf/options.c
    src/stack/modules.c src/stack/unload.c src/stack/gone.c src/stack/cfi.c src/stack/rules.c src/stack/${VT_ARCH}.c src/stack/reach.c src/stack/full.c
    src/stack/unwind.c src/stack/recall.c src/stack/depot.c
    src/probe/counts.c src/probe/cpu_tasks.c src/probe/cpu_tick.c src/probe/cpu.c
    src/dump/out.c src/dump/modules.c src/dump/file.c src/dump/proto.c
    src/dump/cpu_profile.c src/dump/cpu_proto.c src/dump/cpu_gperftools.c src/dump/contention_text.c
    src/life/start_profiler.c src/life/forks.c src/life/mark.c src/life/profile_file.c src/life/cpu.c src/life/cpu_births.c src/life/no_labels.c
    src/dialect/gperftools_cpu.c src/dialect/gperftools_rank.c src/dialect/gperftools_stacktrace.c
    src/dialect/profiler_other.c)

add_library(profiler SHARED ${VT_PROFILER_SOURCES} src/stack/own_shared.c src/dialect/pthread.c src/dialect/dlclose.c src/dialect/sigaction.c)
vt_flags(profiler)
target_link_options(profiler PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,defs
    $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-Wl,-z,shstk>)
set_target_properties(profiler PROPERTIES SOVERSION 0 VERSION 0.5.19)

add_library(profiler_static STATIC ${VT_PROFILER_SOURCES} src/stack/own_static.c)
vt_flags(profiler_static)
set_target_properties(profiler_static PROPERTIES OUTPUT_NAME profiler)

if(VT_COMPAT)
    install(TARGETS profiler profiler_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/compat/gperftools ${CMAKE_SOURCE_DIR}/include/compat/google
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    configure_file(${CMAKE_CURRENT_LIST_DIR}/libprofiler.pc.in ${CMAKE_BINARY_DIR}/libprofiler.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/libprofiler.pc DESTINATION ${VT_PKGCONFIG_DIR})
endif()
