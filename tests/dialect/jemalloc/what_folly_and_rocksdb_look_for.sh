#!/bin/bash
# The checks that folly and RocksDB make before they believe in jemalloc: all functions are there as weak symbols, the counter of
# the thread moves with a malloc, and an arena with hooks of the program's own can be made and used.
. "$(dirname "$0")/lib.sh"
compile "$TMP/weak" weak.c -ldl -pthread
timeout -k 10 "$LIMIT" "$TMP/weak" no || fail "without the library: status $?"
LD_PRELOAD=$VT_JE_SO timeout -k 10 "$LIMIT" "$TMP/weak" yes caches || fail "preloaded: status $?"
MALLOC_CONF=prof:true,lg_prof_sample:12 LD_PRELOAD=$VT_JE_SO timeout -k 10 "$LIMIT" "$TMP/weak" yes caches || fail "with samples: status $?"
if has_original; then
    LD_PRELOAD=$ORIGINAL timeout -k 10 "$LIMIT" "$TMP/weak" yes || fail "the original: status $?"
fi
