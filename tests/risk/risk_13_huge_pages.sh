#!/bin/bash
# Row 13: huge pages must not make small programs big.
. "$(dirname "$0")/lib.sh"

policy_file=/sys/kernel/mm/transparent_hugepage/enabled
policy=$(sed -n 's/.*\[\(.*\)\].*/\1/p' $policy_file 2>/dev/null)
compile "$TMP/small" risk_13_small.c

# least N CMD...: the smallest of N answers; the page cache and the loader add noise, never take it
# away.
least() {
    local n=$1; shift
    for _ in $(seq "$n"); do "$@"; done | sort -n | head -1
}
check_preload "$TMP/small"
read -r glibc _ nohuge_alone <<<"$(least 7 "$TMP/small")"
read -r ours huge _ <<<"$(least 7 preload "$TMP/small")"
say "policy '$policy': glibc $glibc KiB, ours $ours KiB, of it huge $huge KiB"
[ "$ours" -gt 0 ] || fail "expected a resident size, saw '$ours'"
[ "$huge" -eq 0 ] || fail "expected no huge page in a small program, saw $huge KiB"
if [ "$policy" = always ]; then
    [ "$ours" -le $((glibc + 307)) ] ||
        fail "expected at most glibc's $glibc KiB + 0.3 MiB, saw $ours KiB"
fi

# Below the size where huge pages begin to pay, none are asked for.
if [ "$policy" != always ]; then
    read -r _ huge _ <<<"$(preload "$TMP/small" 32)"
    [ "$huge" -eq 0 ] ||
        fail "expected no huge page at 32 MiB under policy '$policy', saw $huge KiB"
fi

# The policy belongs to the whole machine, so `always` is not set here but shown to the program
# alone.
[ "$policy" = always ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! have unshare; then
    skip "part: policy is '$policy', and no root for a private view of 'always'"
fi
echo '[always] madvise never' >"$TMP/always"
cat >"$TMP/pretend" <<END
mount --bind "$TMP/always" $policy_file && exec env LD_PRELOAD="$VT_SO" "$TMP/small"
END
seen=$(timeout -k 10 "$LIMIT" unshare --mount --propagation private sh "$TMP/pretend" 2>"$TMP/err") ||
    skip "part: no private mount here: $(head -1 "$TMP/err")"
read -r _ _ nohuge <<<"$seen"
[ "$nohuge" -gt "$nohuge_alone" ] ||
    fail "policy always: expected more mappings kept from huge pages (flag nh) than $nohuge_alone with glibc, saw $nohuge"
say "under a pretended 'always': $nohuge mappings kept from huge pages"
