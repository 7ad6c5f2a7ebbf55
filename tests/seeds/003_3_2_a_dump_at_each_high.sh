#!/bin/bash
# Seed 003, section 3.2: prof_gdump.
. "$(dirname "$0")/jemalloc_lib.sh"
MALLOC_CONF="prof:true,prof_gdump:true" LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out || fail "status $?"
ls jeprof.*.0.u0.heap jeprof.*.1.u1.heap >/dev/null || fail "expected a file for each new high, saw $(ls)"
