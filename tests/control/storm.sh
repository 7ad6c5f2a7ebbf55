#!/bin/bash
# A program that forks, starts threads and allocates in all of them is asked again and again, and gets its signal all the
# time: it goes on, and every question is answered or the program has ended.
. "$(dirname "$0")/lib.sh"
export VITRINE_SAMPLE=4096
compile "$TMP/workout" "$RISK/workout.c"
[ "${VT_AUDIT_SO:-}" = "" ] || VT_SO=$VT_AUDIT_SO
LD_PRELOAD=$VT_SO "$TMP/workout" ops="$(soak 600000 20000000)" strict=1 >"$TMP/out" 2>&1 &
work=$!
own "$work"
await 20 loaded_in "$work" || fail "expected the library in the program"
while kill -URG "$work" 2>/dev/null; do :; done & # so that a question is met by a handler as often as by a slow path
own $!
n=0
n_unanswered=0
while kill -0 "$work" 2>/dev/null; do
    for question in "rate 4096" "exact on" "cpu-start $TMP/c" "stats" "dump $TMP/d" "exact off" "contention-start $TMP/w" "purge" "start $TMP/p" \
        "cpu-dump" "contention-dump" "dump" "stop" "cpu-stop" "contention-stop"; do
        # shellcheck disable=SC2086  # words of a question
        if ctl --timeout=60 "$work" $question >/dev/null 2>"$TMP/errors"; then
            n=$((n + 1))
        else
            # it ended meanwhile, or another one has its number
            grep -Eq "ended before|no process|runs without|the program is ending" "$TMP/errors" || fail "$question: saw $(cat "$TMP/errors")"
            n_unanswered=$((n_unanswered + 1))
            break
        fi
    done
done
wait "$work" || fail "expected status 0 of the program, saw $?: $(tail -3 "$TMP/out")"
[ "$n" -ge 15 ] || fail "expected answers, saw $n ($n_unanswered not)"
say "$n answers"
