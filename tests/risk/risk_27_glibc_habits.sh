#!/bin/bash
# Row 27: usable sizes, mallopt, mallinfo, and a build with _FORTIFY_SOURCE=3.
. "$(dirname "$0")/lib.sh"

compile "$TMP/habits" risk_27_glibc_habits.c -ldl
compile "$TMP/fortified" risk_27_glibc_habits.c -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -ldl
must "$TMP/habits"
must "$TMP/fortified"
nm -D "$TMP/fortified" | grep -q '__memset_chk\|__stpcpy_chk' ||
    fail "expected checked calls in the fortified build, saw none: it was the same program twice"
