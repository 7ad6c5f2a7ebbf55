#!/bin/bash
# A program compiled with the original's header, run with the original and with ours: the same errors and lengths. And compiled with
# our header, it says the same again.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/answers" answers.c
with_original "$TMP/answers" >"$TMP/original" 2>"$TMP/original.err" || fail "the original: status $?"
with_ours "$TMP/answers" >"$TMP/ours" 2>"$TMP/ours.err" || fail "ours: status $?: $(tail -3 "$TMP/ours.err")"
diff "$TMP/original" "$TMP/ours" || fail "the answers differ (<: the original, >: ours)"
for_ours "$TMP/own" answers.c
"$TMP/own" >"$TMP/ours2" || fail "with our header: status $?"
diff "$TMP/ours" "$TMP/ours2" || fail "the answers differ with our header"
say "$(wc -l <"$TMP/ours") answers"
