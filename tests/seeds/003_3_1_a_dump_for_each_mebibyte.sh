#!/bin/bash
# Seed 003, section 3.1: lg_prof_interval:20, and two of its files compared.
. "$(dirname "$0")/jemalloc_lib.sh"
export MALLOC_CONF="prof:true,lg_prof_interval:20"
LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
n=$(ls jeprof.*.i*.heap | wc -l)
[ "$n" -ge 2 ] && [ "$n" -le 12 ] || fail "expected some 6 files, saw $(ls)"
unset MALLOC_CONF
first=$(ls jeprof.*.0.i0.heap) last=$(ls jeprof.*.i$((n - 1)).heap)
top "$last" >seen; grep -qE '^Total: [0-9.]+ MB' seen || fail "top: $(cat seen)"
[ "$(top "$last" --base="$first" | grep -c do_something_else)" -gt 0 ] || fail "--base: $(top "$last" --base="$first")"
top "$last" --base="$last" >seen; grep -qE '^Total: -?0\.0 MB' seen || fail "base equal to the profile: $(cat seen)"
