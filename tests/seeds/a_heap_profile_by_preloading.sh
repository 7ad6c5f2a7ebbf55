#!/bin/bash
# A program that knows nothing of the library; and without the variable there is no file.
. "$(dirname "$0")/lib.sh"
VITRINE=exact,heap_profile=$TMP/app must "$TMP/leaky" grow more
leaked "$TMP/app.0001.heap" small_ones $SMALL
leaked "$TMP/app.0001.heap" large_ones $LARGE
mkdir "$TMP/empty" && (cd "$TMP/empty" && must "$TMP/leaky" grow more)
[ -z "$(ls "$TMP/empty")" ] || fail "expected no file, saw: $(ls "$TMP/empty")"
