#!/bin/sh
# report.sh [READER SEED...] - libFuzzer on the readers of profiles, or on the one of that name, for ten minutes (VT_FUZZ_SECONDS),
# with the address and undefined-behaviour sanitizers. SEED: files of corpus/report to begin with. An input that fails is kept as crash-* in the folder the last line names.
. "${VT_SRC:?set VT_SRC to the project root}/tests/fuzz/lib.sh"
: "${VT_BUILD:?set VT_BUILD to the build tree}"
subject=report
build address,undefined -I"$VT_SRC" -I"$VT_SRC/include" -I/usr/include/libiberty "$VT_SRC"/report/*.c "$VT_BUILD"/web_*.c \
    -ldw -lelf -lpcre2-8 -lcapstone -lz -lzstd -liberty -lm
# one small file of each kind; the first byte chooses the view
seeds=$VT_SRC/tests/fuzz/corpus/report
if [ $# -gt 0 ]; then
    export VT_FUZZ_READER="$1"
    shift
    (cd "$seeds" && cp "$@" "$work/corpus") || exit 1
else
    cp "$seeds"/* "$work/corpus" || exit 1
fi
run 600 -max_len=4096 -timeout=20
