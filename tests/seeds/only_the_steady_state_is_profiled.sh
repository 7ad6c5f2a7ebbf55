#!/bin/bash
# Off while the program starts (prof_active:false), on when it is in its steady state, off and on again as often as one likes.
. "$(dirname "$0")/lib.sh"
VITRINE=sample=0 must "$TMP/leaky" start "$TMP/app" grow on more dump stop
[ "$(in_use "$TMP/app.0001.heap" small_ones leaky)" = 0 ] || fail "expected nothing of what came before"
leaked "$TMP/app.0001.heap" large_ones $LARGE
VITRINE=sample=1 must "$TMP/leaky" start "$TMP/again" off grow on grow off more dump stop
leaked "$TMP/again.0001.heap" small_ones $SMALL
[ "$(in_use "$TMP/again.0001.heap" large_ones leaky)" = 0 ] || fail "expected nothing of what came while it was off"
