#!/bin/bash
# Linked with the library, nothing but a variable is needed: a profile at the end of the program.
. "$(dirname "$0")/lib.sh"
compile "$TMP/leaky" "$HERE/leaky.c" -ldl "$VT_SO" -Wl,--no-as-needed -Wl,-rpath,"$(dirname "$VT_SO")"
VITRINE=exact,heap_profile=$TMP/app "$TMP/leaky" grow more || fail "expected status 0"
are_there "$TMP/app.0001.heap"
not_there "$TMP/app.0002.heap"
leaked "$TMP/app.0001.heap" small_ones $SMALL
leaked "$TMP/app.0001.heap" large_ones $LARGE
