#!/bin/bash
# Parent and child each write their own, complete: by the variable, and when the program started it by itself.
. "$(dirname "$0")/lib.sh"
check() { # PREFIX
    local child
    child=$(ls "$1".*.0001.heap) || fail "expected a file of the child"
    are_there "$1.0001.heap" "$child"
    leaked "$1.0001.heap" small_ones $SMALL
    leaked "$1.0001.heap" large_ones $LARGE
    leaked "$child" small_ones $SMALL
    leaked "$child" large_ones $LARGE
}
VITRINE=exact,heap_profile=$TMP/app must "$TMP/leaky" grow fork more
check "$TMP/app"
VITRINE=exact must "$TMP/leaky" start "$TMP/own" grow fork more dump stop
check "$TMP/own"
