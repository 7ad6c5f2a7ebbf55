#!/bin/bash
# Seed 003, section 3.4: profiling begins when the program says so; a dump before and one after, compared.
. "$(dirname "$0")/jemalloc_lib.sh"
dump='mallctl("prof.dump",NULL,NULL,NULL,0)'
export MALLOC_CONF="prof:true,prof_active:false,prof_prefix:jeprof.out,lg_prof_sample:0"
cc_jemalloc -o a.out -DBETWEEN='set_active(true)' -DAFTER="$dump"
LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
file=$(ls jeprof.out.*.0.m0.heap) || fail "saw $(ls)"
near "$(share "$file" do_something_else)" $OTHER do_something_else
[ -z "$(share "$file" do_something)" ] || fail "do_something ran before"
rm -f ./*.heap
cc_jemalloc -o a.out -DBETWEEN="$dump,set_active(true)" -DAFTER="set_active(false),$dump"
LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
near "$(share jeprof.out.*.1.m1.heap do_something_else --base="$(ls jeprof.out.*.0.m0.heap)")" $OTHER "--base"
