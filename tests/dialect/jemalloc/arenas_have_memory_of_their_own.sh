#!/bin/bash
# arenas.create, MALLOCX_ARENA, thread.arena, arenas.lookup, arena.N.reset and destroy: blocks are in their arena, are counted there, and go with
# it. The same words from the original and from ours.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/arenas" arenas.c -pthread
with_original "$TMP/arenas" >"$TMP/original" || fail "the original: status $?"
with_ours "$TMP/arenas" >"$TMP/ours" || fail "ours: status $?: $(tail -3 "$TMP/ours")"
diff "$TMP/original" "$TMP/ours" || fail "the answers differ (<: the original, >: ours)"
MALLOC_CONF=narenas:4 with_ours "$TMP/arenas" >"$TMP/four" || fail "with four automatic ones: status $?"
diff "$TMP/ours" "$TMP/four" || fail "with four automatic ones"
with_ours "$TMP/arenas" strangers || fail "arenas.lookup of what is nobody's: status $?"
for_ours "$TMP/crowd" crowd.c -pthread
for conf in '' junk:true prof:true,lg_prof_sample:12,prof_recent_alloc_max:100,prof_log:true,prof_prefix:"$TMP/log"; do
    MALLOC_CONF=$conf timeout -k 10 "$LIMIT" "$TMP/crowd" || fail "threads with arenas, MALLOC_CONF=$conf: status $?"
done
say "$(wc -l <"$TMP/ours") lines"
