#!/bin/sh
# jemalloc.sh - libFuzzer on MALLOC_CONF and mallctl for a minute (VT_FUZZ_SECONDS), with the undefined-behaviour sanitizer; guard
# pages end every buffer. An input that fails is kept as crash-* in the folder the last line names.
set -u
: "${VT_SRC:?set VT_SRC to the project root}" "${VT_BUILD:?set VT_BUILD to the build tree}"
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: no clang (scripts/setup test installs it)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-fuzz.XXXXXX") || exit 1
mkdir "$work/corpus"
# over the library without its names (cmake/sanitize.cmake)
if ! clang -g -O1 -fsanitize=fuzzer,undefined -fno-sanitize-recover=all -fno-strict-aliasing -D_GNU_SOURCE -DVT_WITH_AUDIT \
    -I"$VT_SRC/src" -I"$VT_SRC/include" -o "$work/jemalloc" "$VT_SRC/tests/fuzz/jemalloc.c" "$VT_SRC"/src/dialect/jemalloc_[cen]*.c \
    "$VT_SRC"/src/dialect/jemalloc_arenas.c "$VT_SRC"/src/dialect/jemalloc_pr*.c "$VT_SRC"/src/dialect/jemalloc_snapshot.c \
    "$VT_BUILD/lib/libvitrine_plain.a" -ldl -pthread; then
    rm -rf "$work"
    echo "the fuzzer does not build"
    exit 1
fi
n=0
for input in 'Cprof:true,lg_prof_sample:0' 'Cslab_sizes:1-2:3|4-5:6' 'Chpa_dirty_mult:0.25,dss:primary' 'h0stats.arenas.0.bins.1.curregs' \
    '0harena.0.extent_hooks' 'hhepoch' 'xhexperimental.utilization.query' 'd0arenas.create' '00arena.4096.purge'; do
    n=$((n + 1))
    printf '%s' "$input" >"$work/corpus/$n"
done
cd "$work" || exit 1
./jemalloc -max_total_time="${VT_FUZZ_SECONDS:-60}" -max_len=512 -print_final_stats=1 corpus >log 2>&1
status=$?
if [ $status -ne 0 ]; then
    tail -40 log
    echo "libFuzzer: expected status 0, seen $status; the input is in $work"
    exit 1
fi
grep -E 'number_of_executed_units|new_units_added' log
rm -rf "$work"
