#!/bin/bash
# The four formats of one program, as the option names them; an unknown one is said, and the default written.
. "$(dirname "$0")/lib.sh"
sites
first() { head -c "$2" "$1"; }
for format in gperftools jemalloc collapsed proto; do
    VITRINE=heap_profile=$TMP/$format,heap_format=$format must "$TMP/sites"
    are_there "$TMP/$format.0001.heap"
done
[ "$(first "$TMP/gperftools.0001.heap" 13)" = "heap profile:" ] || fail "gperftools: expected its first line"
[ "$(first "$TMP/jemalloc.0001.heap" 8)" = "heap_v2/" ] || fail "jemalloc: expected its first line"
VITRINE=heap_profile=$TMP/odd,heap_format=xml must "$TMP/sites" 2>"$TMP/errors"
grep -q "unknown format 'xml'" "$TMP/errors" || fail "expected a warning, saw: $(cat "$TMP/errors")"
are_there "$TMP/odd.0001.heap"
