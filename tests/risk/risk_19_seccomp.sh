#!/bin/bash
# Row 19: a seccomp filter installed after the first malloc allows only what malloc has business
# with.
. "$(dirname "$0")/lib.sh"

compile "$TMP/locked" risk_19_seccomp.c -ldl
for mode in strict remap deny; do must "$TMP/locked" $mode; done
