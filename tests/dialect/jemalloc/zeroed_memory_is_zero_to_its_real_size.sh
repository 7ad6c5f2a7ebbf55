#!/bin/bash
# MALLOCX_ZERO and calloc clear what sallocx tells, not only what was asked for; through every way a block can grow and shrink.
. "$(dirname "$0")/lib.sh"
for_ours "$TMP/zeroed" zeroed.c
if has_original; then
    for_original "$TMP/theirs" zeroed.c
    with_original "$TMP/theirs" || fail "the original: status $?"
fi
with_ours "$TMP/zeroed" || fail "ours: status $?"
VITRINE=sample=4096 with_ours "$TMP/zeroed" || fail "with many samples: status $?"
VITRINE=exact,heap_profile="$TMP/p" with_ours "$TMP/zeroed" || fail "in exact mode: status $?"
VITRINE=retain=0 with_ours "$TMP/zeroed" || fail "where nothing free is kept: status $?"
