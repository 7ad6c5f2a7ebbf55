# The run-time library: one list of sources, linked under several names.
#
#   vitrine          libvitrine.so.1        hardening level 1, the default
#   vitrine_static   libvitrine.a           the same objects
#   vitrine_secure   libvitrine-secure.so   level 2
#   vitrine_fast     libvitrine-fast.so     level 0: for measuring, not installed
#   vitrine_audit    libvitrine-audit.so    level 1 with every structure checked, and system calls that can be made to fail

set(VT_SOURCES
    src/base/lock.c src/base/text.c
    src/os/memory.c src/os/arena.c src/os/process.c
    src/conf/options.c
    src/heap/class.c src/heap/window.c src/heap/chunk.c src/heap/purge.c src/heap/hugepages.c src/heap/slab.c src/heap/remote.c
    src/heap/shelf.c src/heap/medium.c
    src/heap/thread.c src/heap/large.c src/heap/alloc.c src/heap/check.c src/heap/stats.c
    src/dump/emit.c src/dump/stats.c
    src/life/start.c src/life/thread.c src/life/purger.c src/life/foreign.c src/life/exit.c
    src/dialect/vitrine.c)
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

function(vt_shared target output)
    add_library(${target} SHARED ${VT_SOURCES} ${VT_OVERRIDE_SOURCES} src/dialect/dlopen.c src/dialect/dlopen.S)
    vt_flags(${target} ${ARGN})
    target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--gc-sections -Wl,-z,defs
        $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-Wl,-z,shstk>)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output})
endfunction()

vt_shared(vitrine vitrine)
set_target_properties(vitrine PROPERTIES SOVERSION 1 VERSION 1.0.0)
vt_shared(vitrine_secure vitrine-secure VT_HARDEN=2)
target_sources(vitrine_secure PRIVATE src/heap/secure.c)
vt_shared(vitrine_fast vitrine-fast VT_HARDEN=0)
vt_shared(vitrine_audit vitrine-audit VT_WITH_AUDIT)
target_sources(vitrine_audit PRIVATE src/os/fail.c)

add_library(vitrine_static STATIC ${VT_SOURCES} ${VT_OVERRIDE_SOURCES})
vt_flags(vitrine_static)
set_target_properties(vitrine_static PROPERTIES OUTPUT_NAME vitrine)

target_include_directories(vitrine INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_include_directories(vitrine_static INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
