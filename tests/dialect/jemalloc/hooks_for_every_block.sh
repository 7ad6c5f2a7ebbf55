#!/bin/bash
# experimental.hooks.install: the program hears of each malloc and free, as with the original.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/hooks" hooks.c
with_original "$TMP/hooks" >"$TMP/original" || fail "the original: status $?"
with_ours "$TMP/hooks" >"$TMP/ours" || fail "ours: status $?: $(cat "$TMP/ours")"
diff "$TMP/original" "$TMP/ours" || fail "<: the original, >: ours"
