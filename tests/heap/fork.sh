#!/bin/bash
# Parent and child write files of their own, both complete, whether the child goes on or starts another program; one that takes the
# place of its own begins anew.
. "$(dirname "$0")/lib.sh"
sites
export VITRINE_HEAP_FORMAT=collapsed VITRINE_EXACT=on

VITRINE_HEAP_PROFILE=$TMP/p must "$TMP/sites" grow fork exit
are_there "$TMP/p.0001.heap"
child=$(ls "$TMP"/p.*.0001.heap)
are_there "$child"
[ "$(in_use "$TMP/p.0001.heap" keep_this)" = $((3000 * 10000)) ] || fail "parent: expected 3000 blocks"
[ "$(in_use "$child" keep_this)" = $((6000 * 10000)) ] ||
    fail "child: expected the parent's 3000 blocks and its own, saw $(in_use "$child" keep_this)"

# the child counts from the first again, however many the parent has written
VITRINE_HEAP_PROFILE=$TMP/n VITRINE=heap_interval=20M must "$TMP/sites" grow fork exit
are_there "$TMP/n.0001.heap" "$TMP/n.0002.heap"
[ "$(ls "$TMP"/n.*.0001.heap | wc -l)" = 1 ] || fail "child: expected its first file, saw: $(ls "$TMP"/n.*)"

VITRINE_HEAP_PROFILE=$TMP/q must "$TMP/sites" grow exec grow exit
are_there "$TMP/q.0001.heap"
[ "$(in_use "$TMP/q.0001.heap" keep_this)" = $((3000 * 10000)) ] || fail "after exec: expected 3000 blocks"

# started by fork and exec, whichever variable has the name; and by one that was itself started so
spawned() { # spawned PREFIX: of three programs the first has the name, and each all of its own
    are_there "$1.0001.heap"
    [ "$(ls "$1".*.heap | wc -l)" = 3 ] || fail "expected a file of each of three programs, saw: $(ls "$1".*)"
    for f in "$1".*.heap; do
        [ "$(in_use "$f" keep_this)" = $((3000 * 10000)) ] || fail "$(basename "$f"): expected 3000 blocks, saw $(in_use "$f" keep_this)"
    done
}
VITRINE_HEAP_PROFILE=$TMP/r must "$TMP/sites" grow spawn grow spawn grow exit
spawned "$TMP/r"
VITRINE=stats=off,heap_profile=$TMP/s,heap_exit must "$TMP/sites" grow spawn grow spawn grow exit
spawned "$TMP/s"
VITRINE_HEAP_PROFILE=$TMP/t.%p must "$TMP/sites" grow spawn grow exit
[ "$(ls "$TMP"/t.*.0001.heap | wc -l)" = 2 ] || fail "with %p: expected a file of each of two programs, saw: $(ls "$TMP"/t.*)"
