# The library from inside: the same sources, audited, without the names that replace libc's (a
# sanitizer brings its own malloc). Tests call vt__malloc and its sisters, src/heap/heap.h. Include
# after cmake/library.cmake.
#
#   vitrine_plain   vitrine_plain_asan   vitrine_plain_ubsan   vitrine_plain_tsan
#
# vt_flavoured(NAME name SOURCES ... [LABELS ...] [TIMEOUT seconds] [FLAVOURS ...] [ARGS ...] [LINK ...])
#   one program per flavour (plain asan ubsan tsan), each a test: name, name.asan, name.ubsan ...

if(NOT VT_TESTS)
    return()
endif()

set(VT_FLAVOURS plain asan ubsan tsan)
set(VT_FLAGS_plain)
set(VT_FLAGS_asan -fsanitize=address -fno-omit-frame-pointer)
set(VT_FLAGS_ubsan -fsanitize=undefined -fno-sanitize-recover=all)
set(VT_FLAGS_tsan -fsanitize=thread)
# A report ends the run. Leaks: LeakSanitizer sees none of our blocks. The thread sanitizer's shadow
# leaves 1.5 TiB for mappings, so the window is a small one.
set(VT_ENV_plain)
set(VT_ENV_asan ASAN_OPTIONS=detect_leaks=0:abort_on_error=1)
set(VT_ENV_ubsan UBSAN_OPTIONS=print_stacktrace=1)
set(VT_ENV_tsan TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 VITRINE_WINDOW=64G)

foreach(flavour ${VT_FLAVOURS})
    if(flavour STREQUAL plain)
        set(target vitrine_plain)
    else()
        set(target vitrine_plain_${flavour})
    endif()
    add_library(${target} STATIC ${VT_STATIC_SOURCES} ${VT_DOOR_SOURCES} src/os/fail.c)
    vt_flags(${target} VT_WITH_AUDIT)
    target_compile_options(${target} PUBLIC ${VT_FLAGS_${flavour}})
    target_link_options(${target} INTERFACE ${VT_FLAGS_${flavour}})
    # what a test sees of the rooms must be what the library was compiled with
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/src
                               ${CMAKE_SOURCE_DIR}/include)
    target_compile_definitions(${target} INTERFACE _GNU_SOURCE VT_WITH_AUDIT VT_FLAVOUR_${flavour})
    target_compile_options(${target} INTERFACE -fno-strict-aliasing)
    target_link_libraries(${target} INTERFACE pthread ${CMAKE_DL_LIBS})
endforeach()

function(vt_flavoured)
    cmake_parse_arguments(F "" "NAME;TIMEOUT" "LABELS;FLAVOURS;SOURCES;ARGS;LINK" ${ARGN})
    if(NOT F_FLAVOURS)
        set(F_FLAVOURS ${VT_FLAVOURS})
    endif()
    string(REPLACE . _ program ${F_NAME})
    foreach(flavour ${F_FLAVOURS})
        if(flavour STREQUAL plain)
            set(exe ${program})
            set(test ${F_NAME})
            set(library vitrine_plain)
        else()
            set(exe ${program}_${flavour})
            set(test ${F_NAME}.${flavour})
            set(library vitrine_plain_${flavour})
        endif()
        if(NOT TARGET ${exe})
            add_executable(${exe} ${F_SOURCES})
            target_compile_options(${exe} PRIVATE -Wall -Wextra -Werror -Wshadow -fno-builtin)
            target_link_libraries(${exe} PRIVATE ${library} ${F_LINK})
        endif()
        vt_test(NAME ${test}
                COMMAND ${CMAKE_COMMAND} -E env ${VT_ENV_${flavour}} $<TARGET_FILE:${exe}> ${F_ARGS}
                LABELS ${F_LABELS} ${flavour} TIMEOUT ${F_TIMEOUT})
    endforeach()
endfunction()
