#!/bin/bash
# Row 22: every call for memory fails once. n goes up until a run no longer reaches the n-th call;
# each run either gets NULL with ENOMEM and goes on, or succeeds. A crash, an abort or a hang at any
# n is a failure.
. "$(dirname "$0")/lib.sh"

[ -n "${VT_AUDIT_SO:-}" ] && [ -e "$VT_AUDIT_SO" ] ||
    fail "expected VT_AUDIT_SO to name the audit library, saw '${VT_AUDIT_SO:-}'"
VT_SO=$VT_AUDIT_SO
LIMIT=60                                               # each run is short
compile "$TMP/workout" workout.c
compile "$TMP/grow" grow.c
compile "$TMP/cpp" static_user.cpp
most=$(soak 400 20000)                                 # runs per program; `make soak` goes to the end

# sweep NAME CMD...: NAME limits the failures to one kind of call ("" is any).
sweep() {
    local kind=$1 n=0 reached=0 status; shift
    check_preload "$1"
    while :; do
        n=$((n + 1))
        timeout -k 10 "$LIMIT" env VITRINE_FAIL_NTH="$n${kind:+:$kind}" LD_PRELOAD="$VT_SO" "$@" >"$TMP/out" 2>"$TMP/err"
        status=$?
        case $status in
            0|"$EXPECTED") ;;
            *) head -3 "$TMP/out" "$TMP/err"
               died $status "VITRINE_FAIL_NTH=$n${kind:+:$kind} $*" ;;
        esac
        if grep -q '^vitrine: error:' "$TMP/err"; then
            fail "VITRINE_FAIL_NTH=$n${kind:+:$kind} $*: expected no error report, saw '$(head -1 "$TMP/err")'"
        fi
        if grep -q 'fail_nth not reached' "$TMP/err"; then break; fi
        reached=$((reached + 1))
        [ $n -lt "$most" ] || break
    done
    [ $reached -gt 0 ] || fail "expected the first call to be reached, saw 'not reached' at n=1: $*"
    say "ok: $reached failing calls: ${kind:-any} in $(basename "$1")"
}

# The workout checks errno, contents and that it can go on; EXPECTED is a status that is fine
# besides 0.
EXPECTED=0
large="stride=16384"                                   # most of the time would go into pages of blocks of megabytes
sweep "" "$TMP/workout" threads=1 ops=1500 live=100 max=300000 fork=0
sweep "" "$TMP/workout" threads=3 ops=400 live=60 max=2000000 $large
sweep "" "$TMP/workout" threads=2 ops=2000 live=300 max=4000000 $large
sweep "" "$TMP/grow" lenient
sweep commit "$TMP/workout" threads=2 ops=600 max=3000000 $large
sweep map "$TMP/workout" threads=2 ops=600 max=3000000 $large
sweep mremap_dontunmap "$TMP/grow" lenient
sweep purge "$TMP/grow" lenient
# Under an address limit other calls do the work.
( ulimit -v 2000000 && sweep "" "$TMP/workout" threads=2 ops=1000 live=200 max=2000000 $large ) || exit
# A C++ program may end in an uncaught bad_alloc (terminate: SIGABRT), which is its right; nothing
# else.
EXPECTED=134
sweep "" "$TMP/cpp"
