#!/bin/bash
# The secure library's quarantine: a freed block is cleared and kept aside, and a write to it is noticed.
. "$(dirname "$0")/lib.sh"
VT_SO=$VT_SECURE_SO
compile "$TMP/quarantine" quarantine.c
must "$TMP/quarantine"
{ env LD_PRELOAD="$VT_SO" "$TMP/quarantine" write >/dev/null 2>"$TMP/err"; } 2>/dev/null
status=$?
[ $status -eq 134 ] || fail "expected SIGABRT after a write to a quarantined block, saw status $status"
grep -q '^vitrine: error: free list corrupted' "$TMP/err" || fail "expected one line about it, saw '$(cat "$TMP/err")'"
