#!/bin/bash
# A profile that cannot be written: one line that says so, and the program goes on and ends with its own status.
. "$(dirname "$0")/lib.sh"
sites
expect_error() { # expect_error WHAT PREFIX
    VITRINE_HEAP_PROFILE=$2 must "$TMP/sites" 2>"$TMP/errors"
    grep -q "^vitrine: error: cannot write" "$TMP/errors" || fail "$1: expected one line, saw: $(cat "$TMP/errors")"
    [ "$(grep -c '' "$TMP/errors")" = 1 ] || fail "$1: expected one line, saw: $(cat "$TMP/errors")"
}
expect_error "no such folder" "$TMP/none/x"
mkdir "$TMP/file.0001.heap"
expect_error "a folder of that name" "$TMP/file"
VITRINE_HEAP_INTERVAL=5M expect_error "ten times, for the same reason" "$TMP/none/x"
( ulimit -f 1 && VITRINE_HEAP_FORMAT=gperftools expect_error "a limit on files" "$TMP/limited" ) || exit 1
# nobody to tell, and files that would be numbers 0 to 2
VITRINE_HEAP_PROFILE=$TMP/none/x must "$TMP/sites" 2>&-
VITRINE_HEAP_PROFILE=$TMP/mute must "$TMP/sites" <&- >&- 2>&-
are_there "$TMP/mute.0001.heap"
[ -z "$(find "$TMP" -name '*.tmp')" ] || fail "expected no temporary file left, saw: $(find "$TMP" -name '*.tmp')"
