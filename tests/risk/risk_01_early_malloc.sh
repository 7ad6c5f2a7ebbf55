#!/bin/bash
# Row 1: malloc before constructors, from the loader, from ifunc resolvers, beside LD_AUDIT and
# LD_DEBUG.
. "$(dirname "$0")/lib.sh"

compile "$TMP/early" risk_01_early.c -ldl
compile "$TMP/early_now" risk_01_early.c -Wl,-z,now -ldl
compile "$TMP/early_nopie" risk_01_early.c -no-pie -ldl
compile "$TMP/workout" workout.c
compile "$TMP/audit.so" risk_01_audit.c -shared -fPIC
compile "$TMP/ctor.so" risk_01_ctor_lib.c -shared -fPIC

for program in early early_now early_nopie; do
    must "$TMP/$program"
    LD_BIND_NOW=1 must "$TMP/$program"
done

# LD_DEBUG makes the loader talk (and allocate) at every step.
LD_DEBUG=all LD_DEBUG_OUTPUT=$TMP/debug must "$TMP/early"
ls "$TMP"/debug.* >/dev/null 2>&1 || fail "expected the loader's debug output, saw none"

# $1: the auditor; both the early program and one with threads and fork
for program in "$TMP/early" "$TMP/workout"; do
    check_preload "$program"
    timeout -k 10 "$LIMIT" env LD_AUDIT="$TMP/audit.so" LD_PRELOAD="$VT_SO" "$program" 2>"$TMP/err"
    died $? "LD_AUDIT with $program: $(tail -3 "$TMP/err")"
    grep -q '^audited$' "$TMP/err" || fail "expected the auditor's word, saw: $(head -3 "$TMP/err")"
done

# A neighbour's constructors and destructors on either side of ours.
check_preload "$TMP/early" "$TMP/ctor.so"
for order in "$TMP/ctor.so:$VT_SO" "$VT_SO:$TMP/ctor.so"; do
    timeout -k 10 "$LIMIT" env LD_PRELOAD="$order" "$TMP/early"
    died $? "LD_PRELOAD=$order"
done
