#!/bin/bash
# Row 19: a seccomp filter installed after the first malloc kills every call that malloc has no business with.
. "$(dirname "$0")/lib.sh"

compile "$TMP/locked" risk_19_seccomp.c -ldl
for mode in strict remap deny; do
    preload "$TMP/locked" $mode
    status=$?
    [ $status -ne 159 ] || fail "$mode: the filter killed a system call (run under strace to see which)"
    died $status "seccomp $mode"
done
