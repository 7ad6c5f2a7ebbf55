#!/bin/bash
# docs/dialects.md tells of each key of MALLOC_CONF, by its name, what it does here or why nothing.
. "$(dirname "$0")/lib.sh"
sed -n '/^## jemalloc$/,/^## mimalloc$/p' "$VT_SRC/docs/dialects.md" | grep '^|' >"$TMP/rows"
keys=$(sed -n 's/^\(OPTION\|HIDDEN\)(\([a-z_0-9]*\),.*/\2/p' "$VT_SRC/src/dialect/jemalloc_options.def" | grep -vx key)
[ "$(echo "$keys" | wc -l)" -gt 80 ] || fail "only $(echo "$keys" | wc -l) keys were found"
for key in $keys; do
    grep -qF "\`$key\`" "$TMP/rows" || missing="${missing:-} $key"
done
[ -z "${missing:-}" ] || fail "no row has$missing"
say "$(echo "$keys" | wc -l) keys"
