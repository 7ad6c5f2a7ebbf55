#!/bin/bash
# Seed 003, section 3.3: a program built with our header and library that calls mallctl("prof.dump").
. "$(dirname "$0")/jemalloc_lib.sh"
dump='mallctl("prof.dump",NULL,NULL,NULL,0)'
cc_jemalloc -o a.out -DBETWEEN="$dump" -DAFTER="$dump"
export MALLOC_CONF="prof:true,prof_prefix:jeprof.out"
LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
ls jeprof.out.*.0.m0.heap jeprof.out.*.1.m1.heap >/dev/null || fail "saw $(ls)"
[ "$(ls ./*.heap | wc -l)" -eq 2 ] || fail "expected two files, saw $(ls)"
