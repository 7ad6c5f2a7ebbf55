#!/bin/bash
# A trivial program weighs at most glibc's + 0.5 MiB, a hundred idle threads at most glibc's + 4 MiB;
# less the two windows of 64 KiB of libc's file that are mapped only with us, which are not weighed.
. "$(dirname "$0")/lib.sh"

compile "$TMP/footprint" mem_footprint.c
check_preload "$TMP/footprint"

while read -r what allowed; do # one run in twenty has a sample, whose stack takes 160 KiB
    glibc=$(least 10 "$TMP/footprint" "$what")
    ours=$(least 10 preload "$TMP/footprint" "$what")
    [ "${ours:-0}" -gt 0 ] || fail "$what: expected a figure, saw '$ours'"
    say "$what: glibc $glibc KiB, ours $ours KiB"
    [ "$ours" -le $((glibc + allowed)) ] ||
        fail "$what: expected at most $glibc + $allowed KiB, saw $ours KiB"
done <<END
trivial 384
threads 3968
END
