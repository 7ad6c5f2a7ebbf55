#!/bin/bash
# Row 21: kernels that lack newer calls. The audit library answers ENOSYS for the named ones, alone
# and together.
. "$(dirname "$0")/lib.sh"

[ -n "${VT_AUDIT_SO:-}" ] && [ -e "$VT_AUDIT_SO" ] ||
    fail "expected VT_AUDIT_SO to name the audit library, saw '${VT_AUDIT_SO:-}'"
VT_SO=$VT_AUDIT_SO
compile "$TMP/workout" workout.c
compile "$TMP/grow" grow.c

names="mremap_dontunmap noreplace anon_name getrandom sysfs proc hugepages purge"
for missing in $names; do
    VITRINE_FAIL_ALWAYS=$missing preload /bin/true 2>"$TMP/err"
    ! grep 'vitrine: error' "$TMP/err" || fail "expected a call of the name '$missing'"
done
VITRINE_FAIL_ALWAYS=purge,no_call preload /bin/true 2>"$TMP/err"
grep -q "no such call to fail: 'no_call'" "$TMP/err" || fail "expected a line about a name of no call, saw: $(cat "$TMP/err")"

all=$(printf %s "$names" | tr ' ' ',')
for missing in $names "$all" "$all in the constrained mode"; do
    export VITRINE_FAIL_ALWAYS=${missing%% *}
    # where the large reservation is refused, which depends on other calls
    case $missing in *constrained*) export VITRINE_WINDOW=64G VITRINE_FAIL_NTH=1:reserve ;; esac
    must "$TMP/workout" strict=1 ops=8000 max=4000000
    must "$TMP/grow"
    if have /usr/bin/python3; then
        seen=$(preload /usr/bin/python3 -c 'print(sum(len(str(i)) for i in range(100000)))')
        [ "$seen" = 488890 ] || fail "python3 without $missing: expected 488890, saw '$seen'"
    fi
    say "ok: without $missing"
done
unset VITRINE_WINDOW VITRINE_FAIL_NTH

# The proof that the hook bites: a library that cannot map at all must refuse, not crash.
export VITRINE_FAIL_ALWAYS=reserve,map,noreplace,commit
preload "$TMP/workout" strict=1 threads=1 ops=100 fork=0 >"$TMP/out" 2>&1
status=$?
[ $status -eq 1 ] && grep -q 'refusals under strict' "$TMP/out" ||
    fail "without any memory: expected a refusal (status 1), saw status $status: $(tail -1 "$TMP/out")"
