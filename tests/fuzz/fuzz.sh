#!/bin/sh
# fuzz.sh [options|gperftools|mimalloc] - libFuzzer on a parser of variables for a minute (VT_FUZZ_SECONDS), with the address and undefined-behaviour
# sanitizers. An input that fails is printed as bytes and kept as crash-* in the folder the last line names.
set -u
subject=${1:-options}
: "${VT_SRC:?set VT_SRC to the project root}"
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: no clang (scripts/setup test installs it)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-fuzz.XXXXXX") || exit 1
mkdir "$work/corpus"
if ! clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE \
    -I"$VT_SRC/src" -I"$VT_SRC/include" -o "$work/$subject" "$VT_SRC/tests/fuzz/$subject.c" \
    $([ "$subject" = options ] || echo "$VT_SRC/src/conf/options.c") \
    "$VT_SRC/src/base/text.c" "$VT_SRC/src/base/lock.c" "$VT_SRC/src/os/process.c" "$VT_SRC/src/os/arena.c" "$VT_SRC/src/os/memory.c"; then
    rm -rf "$work"
    echo "the fuzzer does not build"
    exit 1
fi
for word in limit=1 retain=8MiB purge_delay=5,stats thp=auto 'LIMIT=1' 'limmit=x' 10ms 64KiB VERBOSE=1; do
    printf '%s' "$word" >"$work/corpus/$(printf '%s' "$word" | cksum | cut -d' ' -f1)"
done
cd "$work" || exit 1
"./$subject" -max_total_time="${VT_FUZZ_SECONDS:-60}" -max_len=4096 -print_final_stats=1 corpus >log 2>&1
status=$?
if [ $status -ne 0 ]; then
    tail -40 log
    echo "libFuzzer: expected status 0, seen $status; the input is in $work"
    exit 1
fi
grep -E 'number_of_executed_units|new_units_added' log
rm -rf "$work"
