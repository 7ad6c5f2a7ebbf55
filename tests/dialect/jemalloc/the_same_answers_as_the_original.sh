#!/bin/bash
# A program compiled with the original's header, run with the original and with ours: the same errors and lengths. And compiled with
# our header, it says the same again. Every name that the original has is there, and with je_.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/answers" answers.c
with_original "$TMP/answers" >"$TMP/original" 2>"$TMP/original.err" || fail "the original: status $?"
with_ours "$TMP/answers" >"$TMP/ours" 2>"$TMP/ours.err" || fail "ours: status $?: $(tail -3 "$TMP/ours.err")"
diff "$TMP/original" "$TMP/ours" || fail "the answers differ (<: the original, >: ours)"
nm -D --defined-only "$VT_JE_SO" | awk '{ print $3 }' >"$TMP/names"
for name in $(nm -D --defined-only "$ORIGINAL" | awk '{ print $3 }' | grep -vE '^(_Z|je_)'); do
    grep -qx "$name" "$TMP/names" && grep -qx "je_$name" "$TMP/names" || fail "there is no $name, or no je_$name"
done
for name in $(nm -D --defined-only "$ORIGINAL" | awk '{ print $3 }' | grep '^_Z'); do
    grep -qx "$name" "$TMP/names" || fail "there is no $name"
done
for_ours "$TMP/own" answers.c
"$TMP/own" >"$TMP/ours2" || fail "with our header: status $?"
diff "$TMP/ours" "$TMP/ours2" || fail "the answers differ with our header"
say "$(wc -l <"$TMP/ours") answers"
