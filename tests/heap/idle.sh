#!/bin/bash
# A program that sleeps in a system call writes profiles all the same: by signal, in the handler; by time, in a thread.
. "$(dirname "$0")/lib.sh"
sites
export VITRINE_HEAP_FORMAT=collapsed VITRINE_EXACT=on

run() { # run PREFIX OPTIONS: starts it in the background; $pid, and fd 5 to end it
    mkfifo "$TMP/in.$1" "$TMP/out.$1"
    VITRINE_HEAP_PROFILE=$TMP/$1 VITRINE=$2 LD_PRELOAD=$VT_SO "$TMP/sites" grow wait exit \
        <"$TMP/in.$1" >"$TMP/out.$1" &
    pid=$!
    own "$pid"
    exec 5>"$TMP/in.$1"
    read -r line <"$TMP/out.$1"
    [ "$line" = waiting ] || fail "expected the program to wait, saw '$line'"
}

run s heap_signal=10,heap_exit=off
for i in 1 2 3; do
    kill -USR1 "$pid"
    await 20 test -s "$TMP/s.000$i.heap" || fail "expected profile $i after a signal"
done
[ "$(in_use "$TMP/s.0003.heap" keep_this)" = $((3000 * 10000)) ] || fail "signal: expected 3000 blocks"
echo >&5
wait "$pid" || fail "expected status 0 of a program that was signalled"

# two that cannot be written, one that can, and more that cannot: it is told twice
mkdir "$TMP"/v.0001.heap "$TMP"/v.0002.heap "$TMP"/v.000{4..9}.heap "$TMP"/v.00{10..99}.heap
run v heap_signal=10,heap_exit=off 2>"$TMP/errors"
signalled_until() { kill -USR1 "$pid" && "$@"; }
n_told() { [ "$(grep -c '^vitrine: error: cannot write profile' "$TMP/errors")" = "$1" ]; }
await 20 signalled_until n_told 1 || fail "expected a line about the first"
await 20 signalled_until test -f "$TMP/v.0003.heap" || fail "expected the third to be written"
await 20 signalled_until n_told 2 || fail "expected a line about the fourth, saw: $(cat "$TMP/errors")"
for i in 1 2 3 4; do kill -USR1 "$pid"; sleep 0.05; done
n_told 2 || fail "expected two lines, saw: $(cat "$TMP/errors")"
grep -q 'v.0001.heap' "$TMP/errors" && grep -q 'v.0004.heap' "$TMP/errors" || fail "expected the first and the fourth, saw: $(cat "$TMP/errors")"
echo >&5
wait "$pid" || fail "expected status 0 of a program whose profiles could not be written"

run t heap_seconds=1,heap_exit=off
await 30 test -s "$TMP/t.0002.heap" || fail "expected two profiles by time"
[ "$(in_use "$TMP/t.0002.heap" keep_this)" = $((3000 * 10000)) ] || fail "time: expected 3000 blocks"
echo >&5
wait "$pid" || fail "expected status 0 of a program with a thread of ours"

# stopped for a while: what should have been written meanwhile is not made up for
run u heap_seconds=1,heap_exit=off
await 30 test -s "$TMP/u.0001.heap" || fail "expected a profile by time"
kill -STOP "$pid"
sleep 4.5
before=$(ls "$TMP"/u.*.heap | wc -l)
since=$(date +%s%N)
kill -CONT "$pid"
sleep 0.4
after=$(ls "$TMP"/u.*.heap | wc -l)
# one at once, and those of the time that has passed since: here none or one, on a busy machine more
seconds=$((($(date +%s%N) - since) / 1000000000))
[ "$after" -le $((before + 2 + seconds)) ] || fail "expected one profile after a stop of 4 s, saw $((after - before))"
echo >&5
wait "$pid" || fail "expected status 0 of a program that was stopped"
