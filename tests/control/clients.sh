#!/bin/bash
# Many clients at once do not mix: each gets its own answer, from an idle and from a busy program. One that holds the lock too
# long is named. One that is killed leaves nothing behind.
. "$(dirname "$0")/lib.sh"
need flock python3
subject
for mode in read threads slow; do
    run "$mode"
    clients=""
    for i in 1 2 3 4 5 6; do
        ctl --timeout=60 "$pid" stats --json >"$TMP/json.$i" 2>&1 &
        clients="$clients $!"
        ctl --timeout=60 "$pid" dump "$TMP/dump.$i" >"$TMP/name.$i" 2>&1 &
        clients="$clients $!"
        ctl --timeout=60 "$pid" rate "${i}000" >"$TMP/rate.$i" 2>&1 &
        clients="$clients $!"
    done
    for client in $clients; do wait "$client" || fail "$mode: expected status 0, saw $? $(cat "$TMP"/rate.* "$TMP"/name.*)"; done
    for i in 1 2 3 4 5 6; do
        python3 -c 'import json, sys; json.load(open(sys.argv[1]))["n_stacks"]' "$TMP/json.$i" || fail "$mode: expected JSON, saw $(cat "$TMP/json.$i")"
        [ "$(cat "$TMP/name.$i")" = "$TMP/dump.$i" ] || fail "$mode: expected '$TMP/dump.$i', saw '$(cat "$TMP/name.$i")'"
        [ -s "$TMP/dump.$i" ] || fail "$mode: expected the profile $i"
        [ ! -s "$TMP/rate.$i" ] || fail "$mode: expected no words about the rate, saw $(cat "$TMP/rate.$i")"
        rm "$TMP/dump.$i"
    done
    end
done

run read
flock "/proc/$pid/mem" sleep 600 &
holder=$!
own "$holder"
await 60 eval "! flock -n /proc/$pid/mem true" || fail "cannot lock /proc/$pid/mem"
if [ "$(id -u)" = 0 ]; then # that lock alone does not keep root out; root's own does
    asks "$pid" stats >/dev/null
    python3 -c 'import fcntl, struct, sys, time
file = open("/run/vitrine.lock", "r+b")
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[1]), 1, 0))  # F_OFD_SETLK
print("locked", flush=True)
time.sleep(600)' "$pid" >"$TMP/locked" &
    roots=$!
    own "$roots"
    await 60 grep -q locked "$TMP/locked" || fail "cannot lock the byte $pid of /run/vitrine.lock"
fi
refuses 3 "process $pid: another vitrine is asking it" --timeout=1 "$pid" stats
[ "$(id -u)" != 0 ] || kill "$roots"
for child in $(children_of "$holder"); do kill "$child"; done
wait "$holder"
end

run deaf
"$VITRINE_BIN" ctl --timeout=60 "$pid" dump "$TMP/never" &
client=$!
own "$client"
await 60 eval "! flock -n /proc/$pid/mem true" || fail "expected a client that waits"
kill -KILL "$client"
wait "$client" 2>/dev/null
refuses 3 "does not answer" --timeout=1 "$pid" stats # the lock is free
end
