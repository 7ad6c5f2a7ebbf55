# The run-time library: one list of sources, linked under several names. The old names (libtcmalloc and the others) are links of
# the same objects with another door: cmake/dialect.cmake.
#
#   vitrine          libvitrine.so.1        hardening level 1, the default
#   vitrine_static   libvitrine.a           the same objects
#   vitrine_secure   libvitrine-secure.so   level 2
#   vitrine_fast     libvitrine-fast.so     level 0: for measuring, not installed
#   vitrine_audit    libvitrine-audit.so    level 1 with every structure checked, and system calls that can be made to fail

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(VT_ARCH aarch64)
else()
    set(VT_ARCH x86_64)
endif()

# In the order they are linked: first what every program runs that calls malloc, then what profiles and statistics need. The kernel
# maps code in windows of 64 KiB around what is touched, so a program that does not profile never sees most of the second part;
# what runs rarely, in either, is compiled for size. tests/risk/mem_footprint.sh sees to it.
set(VT_SOURCES
    src/heap/alloc.c src/heap/slab.c src/heap/stock.c src/heap/medium.c src/heap/draw.c
    src/heap/chunk.c src/heap/recent.c src/heap/purge.c src/heap/hugepages.c src/heap/thread.c src/heap/window.c src/heap/class.c
    src/base/lock.c src/base/text.c src/os/memory.c src/os/arena.c src/os/process.c src/conf/options.c
    src/life/start.c src/life/thread.c src/life/forks.c src/life/exit.c src/life/heap_dump.c
    src/probe/chance.c src/heap/count.c src/probe/sample.c src/life/control.c src/heap/large.c src/heap/shelf.c src/heap/magazine.c src/life/foreign.c src/life/purger.c src/heap/remote.c src/heap/exchange.c src/heap/spare.c src/probe/exact.c src/probe/exact_places.c src/heap/own_cache.c
    src/os/region.c src/os/box.c src/os/box_take.c src/stack/unwind.c src/stack/recall.c src/stack/depot.c src/stack/rules.c src/stack/${VT_ARCH}.c src/stack/reach.c
    src/stack/modules.c src/stack/unload.c src/stack/cfi.c src/stack/full.c
    src/probe/sample_sites.c src/probe/sample_records.c src/probe/sample_totals.c src/probe/table.c src/probe/growth.c src/probe/labels.c src/probe/threads.c
    src/probe/maps.c src/probe/exact_read.c src/probe/counts.c src/probe/cpu_tasks.c src/probe/cpu_tick.c src/probe/cpu.c src/probe/waits.c)
set(VT_SMALL_SOURCES
    src/os/file.c src/os/place.c src/os/draft.c src/os/box_file.c src/os/pressure.c src/os/timer.c src/heap/own.c src/heap/tract.c src/heap/atlas.c src/heap/estate.c src/heap/holding.c src/heap/visit.c src/heap/check.c src/heap/stats.c src/heap/peak.c src/heap/ranges.c
    src/stack/gone.c src/dump/emit.c src/dump/stats.c src/dump/stats_gperftools.c src/dump/out.c src/dump/modules.c src/dump/profile.c src/dump/names.c src/dump/heap_source.c src/dump/heap_total.c
    src/dump/heap_proto.c src/dump/heap_gperftools.c src/dump/heap_jemalloc.c src/dump/heap_collapsed.c
    src/dump/file.c src/dump/proto.c src/dump/cpu_profile.c src/dump/cpu_proto.c src/dump/cpu_gperftools.c
    src/dump/box_modules.c src/dump/box_end.c src/dump/waits_source.c src/dump/contention_text.c
    src/life/box.c src/life/oom.c src/life/mark.c src/life/profile_file.c src/life/cpu.c src/life/contention.c src/life/cpu_births.c src/life/cpu_labels.c
    src/dialect/vitrine.c src/dialect/gperftools_cpu.c src/dialect/gperftools_rank.c src/dialect/profiler_own.c)
list(APPEND VT_SOURCES ${VT_SMALL_SOURCES} src/heap/sums.c)
set_source_files_properties(${VT_SMALL_SOURCES} src/conf/options.c src/life/control.c src/life/heap_dump.c src/life/foreign.c src/life/purger.c
    src/heap/purge.c src/heap/window.c src/heap/hugepages.c src/heap/magazine.c src/heap/shelf.c src/heap/spare.c src/heap/chunk.c src/base/text.c src/os/process.c PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
# Where our own code is depends on how it is linked.
set(VT_SHARED_SOURCES ${VT_SOURCES} src/stack/own_shared.c)
set(VT_STATIC_SOURCES ${VT_SOURCES} src/stack/own_static.c src/life/no_locks.c)
# What is wrapped of other libraries' functions, in shared libraries only; rlimit.c in static ones, too.
set(VT_WRAPPER_SOURCES src/dialect/dlopen.c src/dialect/dlopen.S src/dialect/dlclose.c src/dialect/mmap.c src/dialect/pthread.c
    src/dialect/locks.c src/dialect/rlimit.c)
# The same, in the first window of code: most programs call it.
set(VT_FIRST_WRAPPER_SOURCES src/dialect/sigaction.c)
# The front door of libvitrine, src/life/upcalls.h.
set(VT_DOOR_SOURCES src/dialect/door_vitrine.c)
# The names that replace libc's and C++'s: left out where a sanitizer brings its own.
set(VT_OVERRIDE_SOURCES src/dialect/libc.c src/dialect/cxx.c src/dialect/cxx_catch.S)

set(VT_WARNINGS -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wpointer-arith -Wcast-align -Wwrite-strings -Wundef -Wvla)

function(vt_flags target)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE ${ARGN})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${VT_WARNINGS}> -fvisibility=hidden -fno-plt -fexceptions
        -fno-builtin-malloc -fno-builtin-free -fno-builtin-calloc -fno-builtin-realloc
        -fno-strict-aliasing -ffunction-sections -fno-tree-loop-distribute-patterns
        $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection=return>)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

function(vt_link_options target)
    target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,defs
        -Wl,-T,${CMAKE_SOURCE_DIR}/cmake/sections.ld
        -Wl,-z,max-page-size=65536 # the first window begins with the first function, wherever the library is loaded
        -Wl,--eh-frame-hdr # our own frames are the first of each stack; musl-gcc does not ask for it by itself
        -Wl,-fini=vt__none # crti's does nothing, at the end of our code: each process would have that window when it exits
        $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-Wl,-z,shstk>)
endfunction()

function(vt_shared target output)
    add_library(${target} SHARED ${VT_OVERRIDE_SOURCES} ${VT_FIRST_WRAPPER_SOURCES} ${VT_SHARED_SOURCES} ${VT_DOOR_SOURCES} ${VT_WRAPPER_SOURCES})
    vt_flags(${target} ${ARGN})
    vt_link_options(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output})
endfunction()

# The objects that libvitrine and the libraries of old names share, in the order of VT_SOURCES.
function(vt_objects target)
    add_library(${target} OBJECT ${ARGN})
    vt_flags(${target})
endfunction()
vt_objects(vitrine_names ${VT_OVERRIDE_SOURCES})
vt_objects(vitrine_first_shared_objects ${VT_FIRST_WRAPPER_SOURCES})
vt_objects(vitrine_objects ${VT_SOURCES})
vt_objects(vitrine_shared_objects src/stack/own_shared.c ${VT_WRAPPER_SOURCES})
vt_objects(vitrine_static_objects src/stack/own_static.c src/life/no_locks.c src/dialect/rlimit.c)
set(VT_SHARED_OBJECTS $<TARGET_OBJECTS:vitrine_names> $<TARGET_OBJECTS:vitrine_first_shared_objects> $<TARGET_OBJECTS:vitrine_objects> $<TARGET_OBJECTS:vitrine_shared_objects>)
set(VT_STATIC_OBJECTS $<TARGET_OBJECTS:vitrine_objects> $<TARGET_OBJECTS:vitrine_static_objects> $<TARGET_OBJECTS:vitrine_names>)

# A library of these objects, with the door and what else is given: vt_library(target SHARED|STATIC output source...)
function(vt_library target kind output)
    add_library(${target} ${kind} ${VT_${kind}_OBJECTS} ${ARGN})
    vt_flags(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output})
    if(kind STREQUAL SHARED)
        vt_link_options(${target})
    else()
        add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -DARCHIVE=$<TARGET_FILE:${target}>
            -DOBJDUMP=${CMAKE_OBJDUMP} -DOBJCOPY=${CMAKE_OBJCOPY} -P ${CMAKE_SOURCE_DIR}/cmake/own_section.cmake)
    endif()
endfunction()

vt_library(vitrine SHARED vitrine ${VT_DOOR_SOURCES})
set_target_properties(vitrine PROPERTIES SOVERSION 1 VERSION 1.0.0)
vt_shared(vitrine_secure vitrine-secure VT_HARDEN=2)
target_sources(vitrine_secure PRIVATE src/heap/secure.c)
vt_shared(vitrine_fast vitrine-fast VT_HARDEN=0)
vt_shared(vitrine_audit vitrine-audit VT_WITH_AUDIT)
target_sources(vitrine_audit PRIVATE src/os/fail.c)

vt_library(vitrine_static STATIC vitrine ${VT_DOOR_SOURCES})

target_include_directories(vitrine INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_include_directories(vitrine_static INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
