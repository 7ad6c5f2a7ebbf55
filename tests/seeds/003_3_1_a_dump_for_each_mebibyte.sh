#!/bin/bash
# Seed 003, section 3.1: lg_prof_interval:20, and two of its files compared. A file comes with a sample: when every block is one, there
# are five, each of a mebibyte and a part of the block that made it full; with one sample for 512 KiB, as in the note, some more or less,
# and in one run of forty fewer than two, or the last from before do_something_else: five are tried.
. "$(dirname "$0")/jemalloc_lib.sh"
files() { # files CONF
    rm -f jeprof.*
    MALLOC_CONF=$1 LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
    n=$(find . -name 'jeprof.*.i*.heap' | wc -l)
    first=$(ls jeprof.*.0.i0.heap 2>/dev/null) last=$(ls jeprof.*.i$((n - 1)).heap 2>/dev/null)
}
files prof:true,lg_prof_interval:20,lg_prof_sample:0
[ "$n" -eq 5 ] || fail "every block is a sample: expected 5 files for 6.2 MiB, saw $(ls)"
for _ in 1 2 3 4 5; do
    files prof:true,lg_prof_interval:20
    [ "$n" -le 20 ] || fail "expected some 6 files, saw $(ls)"
    [ "$n" -lt 2 ] || [ "$(top "$last" --base="$first" | grep -c do_something_else)" -eq 0 ] || break
done
[ "$n" -ge 2 ] || fail "expected some 6 files, saw $(ls)"
top "$last" >seen; grep -qE '^Total: [0-9.]+ MB' seen || fail "top: $(cat seen)"
[ "$(top "$last" --base="$first" | grep -c do_something_else)" -gt 0 ] || fail "--base: $(top "$last" --base="$first")"
top "$last" --base="$last" >seen; grep -qE '^Total: -?0\.0 MB' seen || fail "base equal to the profile: $(cat seen)"
