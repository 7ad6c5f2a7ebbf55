#!/bin/sh
# report.sh - libFuzzer on the readers of profiles for a minute (VT_FUZZ_SECONDS), with the address and undefined-behaviour
# sanitizers. An input that fails is kept as crash-* in the folder the last line names.
set -u
: "${VT_SRC:?set VT_SRC to the project root}" "${VT_BUILD:?set VT_BUILD to the build tree}"
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: no clang (scripts/setup test installs it)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-fuzz.XXXXXX") || exit 1
mkdir "$work/corpus"
if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE -I"$VT_SRC" \
    -I/usr/include/libiberty -o "$work/report" "$VT_SRC/tests/fuzz/report.c" "$VT_SRC"/report/*.c "$VT_BUILD"/web_*.c \
    -ldw -lelf -ldebuginfod -lpcre2-8 -lcapstone -lz -lzstd -lcurl -liberty -lm; then
    rm -rf "$work"
    echo "the fuzzer does not build"
    exit 1
fi
# one small file of each kind; the first byte chooses the view
maps='MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 77 /bin/app\n'
seed() { printf "$2" >"$work/corpus/$1"; }
seed heap " heap profile: 3: 300 [5: 500] @ heap_v2/100\n1: 100 [2: 200] @ 0x400010 0x20\n2: 200 [3: 300] @ 0x30\n$maps"
seed exact "!heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x400010\n--- Memory map:\n build=/x\n 400000-500000: \$build/app\n"
seed jemalloc "\"heap_v2/1000\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0] main\n@ 0x400010 0x20\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n\n$maps"
seed contention "#--- contention\ncycles/second=10\nsampling period=3\n500 2 @ 0x400010\n$maps"
seed symbols "(--- symbol\nbinary=/x\n0x10 f--g\n---\n--- heap\nheap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x10\n"
seed collapsed ')main;f<int>(char);g 3\nmain 4\n'
seed perf '0app 1 [001] 2.3: 25 cycles:u: \n\t 55d0 f+0x14 (/x)\n\t 55d1 [unknown] (/lib/y)\n\n'
seed cpu '1\0\0\0\0\3\0\0\0\0\0\0\0\20\47\0\0\0\0\0\0\2\0\0\0\2\0\0\0\20\0\100\0\40\0\100\0\0\0\0\0\1\0\0\0\0\0\0\0400000-500000: /x\n'
seed heaptrack '3v 10400 3\nX ./app\ns 4 main\ns 3 f.c\ns 1 f\ni 5560 0 1 2 3\ni 5570 0 3 2 4 1 2 5\nt 1 0\nt 2 1\na 3e8 2\n+ 0\n+ 0\n- 0\n# strings: 3\n'
seed heaptrack-raw '4v 10400 3\nx 6 /bin/x\nm 1 -\nm 1 x 1000 0 800 1000 500\nm 3 a b 90000 0 10\nt 2010 0\nt 2020 1\n+ 10 2 5500\n+ 20 1 5500\n- 5500\n- 77\n'
seed proto '2\n\4\10\1\20\2\22\10\n\2\1\1\22\2\5\0\32\4\10\1\30\20\"\12\10\1\20\1\30\20\"\2\10\1*\4\10\1\20\3002\0002\1a2\1b2\1f'
cd "$work" || exit 1
./report -max_total_time="${VT_FUZZ_SECONDS:-60}" -max_len=4096 -timeout=20 -print_final_stats=1 corpus >log 2>&1
status=$?
if [ $status -ne 0 ]; then
    tail -40 log
    echo "libFuzzer: expected status 0, seen $status; the input is in $work"
    exit 1
fi
grep -E 'number_of_executed_units|new_units_added' log
rm -rf "$work"
