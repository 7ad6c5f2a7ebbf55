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

# exact: what the program asked for, in every format, also beside mappings
for options in exact exact:heap_mmap; do
    for format in gperftools jemalloc collapsed; do
        VITRINE=heap_profile=$TMP/$options.$format,heap_format=$format,${options/:/,} must "$TMP/sites"
    done
    grep -q '^ *3000: 30000000 \[ *3000: 30000000\] @' "$TMP/$options.gperftools.0001.heap" ||
        fail "$options, gperftools: expected 3000 blocks of 10000 bytes, saw: $(grep 3000: "$TMP/$options.gperftools.0001.heap")"
    grep -q '^  t\*: 3000: 30000000 \[3000: 30000000\]$' "$TMP/$options.jemalloc.0001.heap" ||
        fail "$options, jemalloc: expected 3000 blocks of 10000 bytes, saw: $(grep 3000: "$TMP/$options.jemalloc.0001.heap")"
    [ "$(in_use "$TMP/$options.collapsed.0001.heap" keep_this)" = 30000000 ] || fail "$options, collapsed: expected 30000000 bytes"
done
# sampled: with the sizes of blocks, by which they were drawn, as in the dumps of jemalloc
VITRINE=heap_profile=$TMP/each,heap_format=jemalloc,sample=1 must "$TMP/sites"
grep -q '^  t\*: 3000: 30720000 \[3000: 30720000\]$' "$TMP/each.0001.heap" ||
    fail "each block a sample: expected 3000 of 10240 bytes, saw: $(grep 3000: "$TMP/each.0001.heap")"
