#!/bin/sh
# report.sh - libFuzzer on the readers of profiles for ten minutes (VT_FUZZ_SECONDS), with the address and undefined-behaviour
# sanitizers. An input that fails is kept as crash-* in the folder the last line names.
set -u
: "${VT_SRC:?set VT_SRC to the project root}" "${VT_BUILD:?set VT_BUILD to the build tree}"
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: no clang (scripts/setup test installs it)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-fuzz.XXXXXX") || exit 1
mkdir "$work/corpus"
if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE -I"$VT_SRC" -I"$VT_SRC/include" \
    -I/usr/include/libiberty -o "$work/report" "$VT_SRC/tests/fuzz/report.c" "$VT_SRC"/report/*.c "$VT_BUILD"/web_*.c \
    -ldw -lelf -lpcre2-8 -lcapstone -lz -lzstd -liberty -lm; then
    rm -rf "$work"
    echo "the fuzzer does not build"
    exit 1
fi
# one small file of each kind; the first byte chooses the view
cp "$VT_SRC"/tests/fuzz/corpus/report/* "$work/corpus" || exit 1
cd "$work" || exit 1
./report -max_total_time="${VT_FUZZ_SECONDS:-600}" -max_len=4096 -timeout=20 -print_final_stats=1 corpus >log 2>&1
status=$?
if [ $status -ne 0 ]; then
    tail -40 log
    echo "libFuzzer: expected status 0, seen $status; the input is in $work"
    exit 1
fi
grep -E 'number_of_executed_units|new_units_added' log
rm -rf "$work"
