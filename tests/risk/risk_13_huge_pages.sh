#!/bin/bash
# Row 13: huge pages must not make small programs big.
. "$(dirname "$0")/lib.sh"

policy_file=/sys/kernel/mm/transparent_hugepage/enabled
policy=$(sed -n 's/.*\[\(.*\)\].*/\1/p' $policy_file 2>/dev/null)
compile "$TMP/small" risk_13_small.c
check_preload "$TMP/small"

# a sample in one of twenty runs adds 160 KiB
read -r glibc _ <<<"$(least 7 "$TMP/small")"
read -r ours huge kept <<<"$(least 7 preload "$TMP/small")"
say "policy '$policy': glibc $glibc KiB, ours $ours KiB, of it huge $huge KiB"
[ "$ours" -gt 0 ] || fail "expected a weight, saw '$ours'"
[ "$huge" -eq 0 ] || fail "expected no huge page in a small program, saw $huge KiB"
read -r _ huge _ <<<"$(preload "$TMP/small" 2)"
[ "$huge" -eq 0 ] || fail "expected no huge page at 2 MiB, saw $huge KiB"
# 0.3 MiB, less the two windows of 64 KiB of libc's file that are mapped only with us and not weighed
[ "$ours" -le $((glibc + 179)) ] ||
    fail "expected at most glibc's $glibc + 179 KiB, saw $ours KiB"

# Below the size where huge pages begin to pay, none are asked for.
if [ "$policy" != always ]; then
    read -r _ huge _ <<<"$(preload "$TMP/small" 32)"
    [ "$huge" -eq 0 ] ||
        fail "expected no huge page at 32 MiB under policy '$policy', saw $huge KiB"
fi

# Where the policy is not `always`, the heap refuses nothing until it is asked to. With a limit of
# addresses it is mapped in another way.
[ -n "$policy" ] || skip "part: a kernel without huge pages"
if [ "$policy" != always ]; then
    [ "$kept" = 0 ] || fail "expected no flag nh under policy '$policy', saw '$kept'"
fi
for addresses in unlimited 4000000; do
    kept=$( (ulimit -v $addresses && VITRINE_THP=off preload "$TMP/small" 2) | cut -d ' ' -f 3)
    [ "$kept" = 1 ] || fail "thp=off, $addresses KiB of addresses: expected the flag nh on the heap, saw '$kept'"
done

# The policy belongs to the whole machine, so `always` is not set here but shown to the program
# alone.
[ "$policy" = always ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! have unshare; then
    skip "part: policy is '$policy', and no root for a private view of 'always'"
fi
echo '[always] madvise never' >"$TMP/always"
for addresses in unlimited 4000000; do
    cat >"$TMP/pretend" <<END
mount --bind "$TMP/always" $policy_file && ulimit -v $addresses && exec env LD_PRELOAD="$VT_SO" "$TMP/small" 2
END
    seen=$(timeout -k 10 "$LIMIT" unshare --mount --propagation private sh "$TMP/pretend" 2>"$TMP/err") ||
        skip "part: no private mount here: $(head -1 "$TMP/err")"
    [ "${seen##* }" = 1 ] ||
        fail "policy always, $addresses KiB of addresses: expected the flag nh on the first 8 MiB, saw '$seen'"
done
say "under a pretended 'always' the heap is kept from huge pages"
