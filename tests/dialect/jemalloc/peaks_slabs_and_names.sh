#!/bin/bash
# thread.peak, thread.idle, experimental.utilization and arena.N.name mean what they mean there: one program for the original and for ours.
. "$(dirname "$0")/lib.sh"
for_ours "$TMP/own" own.c -fno-builtin
timeout -k 10 "$LIMIT" "$TMP/own" >"$TMP/said" || fail "ours: status $?: $(cat "$TMP/said")"
MALLOC_CONF=prof:true,lg_prof_sample:14 timeout -k 10 "$LIMIT" "$TMP/own" >"$TMP/said" || fail "ours, with many samples: status $?: $(cat "$TMP/said")"
timeout -k 10 "$LIMIT" "$TMP/own" new >"$TMP/said" || fail "names of arenas: status $?: $(cat "$TMP/said")"
MALLOC_CONF=narenas:3 timeout -k 10 "$LIMIT" "$TMP/own" new >"$TMP/said" || fail "names, with three automatic ones: status $?: $(cat "$TMP/said")"
MALLOC_CONF=zero:true timeout -k 10 "$LIMIT" "$TMP/own" zero >"$TMP/said" || fail "zero: status $?: $(cat "$TMP/said")"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/theirs" own.c -fno-builtin
MALLOC_CONF=narenas:16 with_original "$TMP/theirs" || fail "the original: status $?"
MALLOC_CONF=zero:true with_original "$TMP/theirs" zero || fail "the original, zero: status $?"
