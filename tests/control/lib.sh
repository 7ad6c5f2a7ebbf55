# lib.sh - what the tests of the control block share: a program in one of its modes, and asking it. Sourced, never run.
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?}"
VITRINE_BIN=$VT_BUILD/${VT_REPORT_BIN:-bin}/vitrine
[ -x "$VITRINE_BIN" ] || skip "no command vitrine in this build"
[ -r /proc/self/mem ] || skip "no /proc"

subject() { [ -x "$TMP/subject" ] || compile "$TMP/subject" subject.c; }

# run MODE [CMD...]: starts the program in the background; $pid is to be asked, $job to be waited for, fd 5 ends it.
run() {
    local mode=$1 line; shift
    [ $# -gt 0 ] || set -- env LD_PRELOAD="$VT_SO" "$TMP/subject"
    rm -f "$TMP/in" "$TMP/out"
    mkfifo "$TMP/in" "$TMP/out"
    "$@" "$mode" <"$TMP/in" >"$TMP/out" &
    job=$!
    own "$job"
    exec 5>"$TMP/in" 6<"$TMP/out"
    read -r line <&6
    case $line in ready\ *) pid=${line#ready } ;; *) fail "$mode: expected 'ready', saw '$line'" ;; esac
    [ "$pid" = 1 ] || own "$pid"
}

# end: the program ends when told to, and found nothing wrong
end() {
    echo >&5
    exec 5>&- 6<&-
    wait "$job" || fail "expected status 0 of the program that was asked, saw $?"
}

ctl() { timeout -k 5 "$LIMIT" "$VITRINE_BIN" ctl "$@"; }

# asks ARG...: it must succeed; prints what it said. How long it waits by itself is refusals.sh's subject: a busy machine takes longer.
asks() { ctl --timeout=60 "$@" || fail "vitrine ctl $*: expected status 0, saw $?"; }

# refuses STATUS WORDS ARG...: one line on stderr with these words, nothing on stdout
refuses() {
    local status=$1 words=$2 seen; shift 2
    ctl "$@" >"$TMP/said" 2>"$TMP/errors"
    seen=$?
    [ "$seen" = "$status" ] || fail "vitrine ctl $*: expected status $status, saw $seen: $(cat "$TMP/errors")"
    [ ! -s "$TMP/said" ] || fail "vitrine ctl $*: expected nothing on stdout, saw: $(cat "$TMP/said")"
    [ "$(grep -c '' "$TMP/errors")" = 1 ] || fail "vitrine ctl $*: expected one line, saw: $(cat "$TMP/errors")"
    grep -qF "vitrine: error: " "$TMP/errors" && grep -qF "$words" "$TMP/errors" ||
        fail "vitrine ctl $*: expected '$words', saw: $(cat "$TMP/errors")"
}

# total FILE: the sum of a file of collapsed stacks
total() { awk '{ sum += $NF } END { printf "%d", sum }' "$1"; }

# figure NAME PID: of the statistics
figure() { asks "$2" stats --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
