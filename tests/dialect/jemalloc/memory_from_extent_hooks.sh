#!/bin/bash
# arena.N.extent_hooks: the arena's memory comes from the program's functions, in the patterns of RocksDB and folly, and goes back to
# them. The same words from the original and from ours; then what only ours promises.
. "$(dirname "$0")/lib.sh"
for_ours "$TMP/own" extents.c -pthread -fno-builtin
"$TMP/own" >"$TMP/ours" || fail "ours: status $?: $(tail -3 "$TMP/ours")"
grep -v ': yes$' "$TMP/ours" && fail "something is not so"
"$TMP/own" ours || fail "figures, changes, forks: status $?"
for conf in junk:true narenas:4 prof:true,lg_prof_sample:12; do
    MALLOC_CONF=$conf "$TMP/own" >"$TMP/again" || fail "MALLOC_CONF=$conf: status $?: $(tail -3 "$TMP/again")"
    diff "$TMP/ours" "$TMP/again" || fail "MALLOC_CONF=$conf changes the answers"
done
# a mistake, and what is said of it
refused() {
    "$TMP/own" ours "$1" >"$TMP/said" 2>&1 && fail "$1: it went on"
    grep -q "^vitrine: error: $2" "$TMP/said" || fail "$1: $(cat "$TMP/said")"
}
refused twice 'double free of 0x[0-9a-f]*: no block is there, it was freed or never allocated$'
refused inside 'free of 0x[0-9a-f]*: not the start of a block: 8 bytes inside a block of 112 bytes (class 6)$'
refused gone 'free of 0x[0-9a-f]*: not a pointer from malloc$'
refused size 'free of 0x[0-9a-f]*: not the start of a block: 50 bytes inside a block of 112 bytes (class 6)$'
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/extents" extents.c -pthread -fno-builtin
with_original "$TMP/extents" >"$TMP/original" || fail "the original: status $?"
with_ours "$TMP/extents" >"$TMP/theirs" || fail "ours, made for the original: status $?: $(tail -3 "$TMP/theirs")"
diff "$TMP/original" "$TMP/theirs" || fail "the answers differ (<: the original, >: ours)"
say "$(wc -l <"$TMP/ours") lines"
