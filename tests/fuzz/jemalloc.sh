#!/bin/sh
# jemalloc.sh - libFuzzer on MALLOC_CONF and mallctl for a minute (VT_FUZZ_SECONDS), with the undefined-behaviour sanitizer; guard
# pages end every buffer. An input that fails is kept as crash-* in the folder the last line names.
. "${VT_SRC:?set VT_SRC to the project root}/tests/fuzz/lib.sh"
: "${VT_BUILD:?set VT_BUILD to the build tree}"
subject=jemalloc
sources=$(ls "$VT_SRC"/src/dialect/jemalloc_*.c | grep -vE 'jemalloc_(alloc|say)\.c$')
# over the library without its names (cmake/sanitize.cmake)
build undefined -fno-strict-aliasing -DVT_WITH_AUDIT -I"$VT_SRC/src" -I"$VT_SRC/include" $sources \
    "$VT_SRC/src/probe/history.c" "$VT_SRC/src/dump/history_jemalloc.c" "$VT_BUILD/lib/libvitrine_plain.a" -ldl -pthread
begin_with 'Cprof:true,lg_prof_sample:0' 'Cslab_sizes:1-2:3|4-5:6' 'Chpa_dirty_mult:0.25,dss:primary' 'h0stats.arenas.0.bins.1.curregs' \
    '0harena.0.extent_hooks' 'hhepoch' 'xhexperimental.utilization.query' 'd0arenas.create' '00arena.4096.purge' \
    '00arena.1.reset' '00arena.1.destroy' '09prof.log_start' '00prof.log_stop' '0Aexperimental.prof_recent.alloc_dump' \
    'A0prof.stats.bins.0.live' '99experimental.hooks.prof_sample'
run 60 -max_len=512
