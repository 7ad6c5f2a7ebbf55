#!/bin/bash
# Seed 003, section 3.1: lg_prof_interval:20, and two of its files compared.
. "$(dirname "$0")/jemalloc_lib.sh"
export MALLOC_CONF="prof:true,lg_prof_interval:20"
# A file comes with a sample, one for 512 KiB: now and then the last one is from before do_something_else, so there are three runs.
for _ in 1 2 3; do
    rm -f jeprof.*
    LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
    n=$(ls jeprof.*.i*.heap | wc -l)
    [ "$n" -ge 2 ] && [ "$n" -le 12 ] || fail "expected some 6 files, saw $(ls)"
    first=$(ls jeprof.*.0.i0.heap) last=$(ls jeprof.*.i$((n - 1)).heap)
    [ "$(MALLOC_CONF='' top "$last" | grep -c do_something_else)" -eq 0 ] || break
done
unset MALLOC_CONF
top "$last" >seen; grep -qE '^Total: [0-9.]+ MB' seen || fail "top: $(cat seen)"
[ "$(top "$last" --base="$first" | grep -c do_something_else)" -gt 0 ] || fail "--base: $(top "$last" --base="$first")"
top "$last" --base="$last" >seen; grep -qE '^Total: -?0\.0 MB' seen || fail "base equal to the profile: $(cat seen)"
