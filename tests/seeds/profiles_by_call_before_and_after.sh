#!/bin/bash
# Start, a dump, more work, a dump, stop: the second has what the first has and what came since; after stop none is written.
. "$(dirname "$0")/lib.sh"
VITRINE=exact must "$TMP/leaky" start "$TMP/app" grow dump more dump stop grow
leaked "$TMP/app.0001.heap" small_ones $SMALL
[ "$(in_use "$TMP/app.0001.heap" large_ones leaky)" = 0 ] || fail "the first: expected nothing of large_ones"
leaked "$TMP/app.0002.heap" small_ones $SMALL
leaked "$TMP/app.0002.heap" large_ones $LARGE
not_there "$TMP/app.0003.heap"
