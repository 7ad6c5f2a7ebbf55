#!/bin/bash
# A trivial program weighs at most glibc's + 0.5 MiB, a hundred idle threads at most glibc's + 4
# MiB.
. "$(dirname "$0")/lib.sh"

compile "$TMP/footprint" mem_footprint.c
check_preload "$TMP/footprint"
# How many OS pages of libc are mapped around each fault differs from run to run by some 200 KiB.
least() { for _ in $(seq 25); do "$@"; done | sort -n | head -1; }

while read -r what allowed; do
    glibc=$(least "$TMP/footprint" "$what")
    ours=$(least preload "$TMP/footprint" "$what")
    [ "${ours:-0}" -gt 0 ] || fail "$what: expected a figure, saw '$ours'"
    say "$what: glibc $glibc KiB, ours $ours KiB"
    [ "$ours" -le $((glibc + allowed)) ] ||
        fail "$what: expected at most $glibc + $allowed KiB, saw $ours KiB"
done <<END
trivial 512
threads 4096
END
