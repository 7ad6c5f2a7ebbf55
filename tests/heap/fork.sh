#!/bin/bash
# Parent and child write files of their own, both complete; a program started by exec begins anew.
. "$(dirname "$0")/lib.sh"
sites
export VITRINE_HEAP_FORMAT=collapsed VITRINE_EXACT=on

VITRINE_HEAP_PROFILE=$TMP/p must "$TMP/sites" grow fork exit
are_there "$TMP/p.0001.heap"
child=$(ls "$TMP"/p.*.0001.heap)
are_there "$child"
[ "$(in_use "$TMP/p.0001.heap" keep_this)" = $((3000 * 10240)) ] || fail "parent: expected 3000 blocks"
[ "$(in_use "$child" keep_this)" = $((6000 * 10240)) ] ||
    fail "child: expected the parent's 3000 blocks and its own, saw $(in_use "$child" keep_this)"

VITRINE_HEAP_PROFILE=$TMP/q must "$TMP/sites" grow exec grow exit
are_there "$TMP/q.0001.heap"
[ "$(in_use "$TMP/q.0001.heap" keep_this)" = $((3000 * 10240)) ] || fail "after exec: expected 3000 blocks"
