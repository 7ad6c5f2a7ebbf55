#!/bin/bash
# A program answers whatever it is doing: idle in one call or another, in many threads, busy without a slow path, in the child
# of a fork, before its first malloc, linked statically, with the signal taken away from us but allocating. It writes a
# profile that tells what it holds, and its calls go on as if nothing had happened.
. "$(dirname "$0")/lib.sh"
subject
compile "$TMP/static" subject.c -static "$VT_A" -Wl,--eh-frame-hdr
compile "$TMP/static_pie" subject.c -static-pie "$VT_A" -Wl,--eh-frame-hdr
export VITRINE_SAMPLE=4096

check_all() { # check_all WHAT
    asks "$pid" dump --format=collapsed "$TMP/x.folded" >"$TMP/said"
    [ "$(cat "$TMP/said")" = "$TMP/x.folded" ] || fail "$1: expected the file's name, saw '$(cat "$TMP/said")'"
    held=$(total "$TMP/x.folded")
    rm "$TMP/x.folded"
    if [ "$mode" = none ]; then
        [ "$held" -lt 100000 ] || fail "$1: expected an empty profile, saw $held bytes"
        [ "$(figure n_threads "$pid")" = 0 ] || fail "$1: expected that malloc was never called"
    else
        [ "$held" -ge 3000000 ] && [ "$held" -le 6000000 ] || fail "$1: expected 4 MiB within a quarter, saw $held"
        [ "$(figure allocated "$pid")" -ge $((4096 * 1024)) ] || fail "$1: expected 4 MiB allocated"
    fi
    asks "$pid" stats | grep -q "^  n_samples_lost " || fail "$1: expected statistics as text"
    asks "$pid" rate 8K
    "$VITRINE_BIN" ps --json | grep -q "\"pid\":$pid,.*\"rate\":8192,\"exact\":false" || fail "$1: expected the new rate in ps"
    asks "$pid" exact on
    "$VITRINE_BIN" ps --json | grep -q "\"pid\":$pid,.*\"exact\":true" || fail "$1: expected exact mode in ps"
    asks "$pid" exact off
    asks "$pid" purge | grep -Eq '^[0-9]+ bytes given back$' || fail "$1: expected bytes given back"
    asks "$pid" start "$TMP/p.$mode"
    [ "$(asks "$pid" dump)" = "$TMP/p.$mode.0001.heap" ] || fail "$1: expected the first numbered name"
    [ "$(asks "$pid" dump)" = "$TMP/p.$mode.0002.heap" ] || fail "$1: expected the second numbered name"
    "$VITRINE_BIN" top "$TMP/p.$mode.0002.heap" >/dev/null || fail "$1: expected a profile that can be read"
    asks "$pid" stop
    refuses 3 "no prefix was set" "$pid" dump
    rm -f "$TMP/p.$mode".*
}

# profiles of what happens meanwhile, one of the CPU and one of waits, each with a beginning, a file in between and an end
refuse_before() { # refuse_before KIND NAME
    refuses 3 "no $2 profile is being made" "$pid" "$1-stop"
    refuses 3 "no $2 profile is being made" "$pid" "$1-dump"
    refuses 3 "no such file or directory" "$pid" "$1-start" /nowhere/at/all
}
begin() { # begin KIND
    asks "$pid" "$1-start" "$TMP/$1.$mode"
    refuses 3 "is being made already" "$pid" "$1-start" "$TMP/d"
}
finish() { # finish KIND NAME WHAT: $TMP/$1.part.json and $TMP/$1.json are what the files say
    [ "$(asks "$pid" "$1-dump" "$TMP/$1.part")" = "$TMP/$1.part" ] || fail "$3: expected the name of the file in between"
    [ "$(asks "$pid" "$1_dump")" = "$TMP/$1.$mode" ] || fail "$3: expected the name of the profile's own file"
    rm "$TMP/$1.$mode" || fail "$3: expected the profile's own file" # the end writes it again
    [ "$(asks "$pid" "$1" stop)" = "$TMP/$1.$mode" ] || fail "$3: expected the file's name"
    refuses 3 "no $2 profile is being made" "$pid" "$1-dump"
    "$VITRINE_BIN" top --json "$TMP/$1.part" >"$TMP/$1.part.json" && "$VITRINE_BIN" top --json "$TMP/$1.$mode" >"$TMP/$1.json" ||
        fail "$3: expected profiles that can be read"
    rm "$TMP/$1.$mode" "$TMP/$1.part"
}

# the CPU's: nothing, or what the program is busy with
check_cpu() { # check_cpu WHAT
    case $mode in
    fast) grep -q '"name":"go_fast"' "$TMP/cpu.part.json" && grep -q '"name":"go_fast"' "$TMP/cpu.json" ;;
    slow) grep -q '"name":"go_slowly"' "$TMP/cpu.part.json" && grep -q '"name":"go_slowly"' "$TMP/cpu.json" ;;
    read | poll | none | threads) # what it takes to answer, and no more
        [ "$(sed -n 's/.*"total":\([0-9]*\).*/\1/p' "$TMP/cpu.json")" -lt 200000000 ] ;;
    esac || fail "$1: expected what the program does meanwhile, saw $(cat "$TMP/cpu.json")"
}

# and what is waited for
check_contention() { # check_contention WHAT
    for f in "$TMP/contention.part.json" "$TMP/contention.json"; do
        case $mode in
        waits) grep -q '"name":"wait_for_mutex"' "$f" && grep -q '"name":"pthread_mutex_lock"' "$f" ;;
        late) grep -q '"name":"wait_for_reading"' "$f" && grep -q '"name":"pthread_rwlock_rdlock"' "$f" ;;
        *) grep -q '"total":0' "$f" ;;
        esac || fail "$1: expected the waits of the program in $f, saw $(cat "$f")"
    done
}

# until the files that are written in between would show what the program does: on a busy machine it may not have come to it yet
sees() { # sees KIND FUNCTION
    ctl "$pid" "$1-dump" "$TMP/$1.sees" >/dev/null && "$VITRINE_BIN" top --json "$TMP/$1.sees" | grep -q "\"name\":\"$2\""
}
meanwhile() { # meanwhile WHAT
    case $mode in
    fast) await 20 sees cpu go_fast ;;
    slow) await 20 sees cpu go_slowly ;;
    waits) await 20 sees contention wait_for_mutex ;;
    late) await 20 sees contention wait_for_reading ;;
    *) sleep 0.4 ;;
    esac || fail "$1: expected what the program does in the end"
}

for mode in read poll threads fast slow waits late none fork own blocked; do
    run "$mode"
    check_all "$mode"
    refuse_before cpu CPU
    refuse_before contention contention
    begin cpu
    begin contention
    [ "$mode" != late ] || kill -USR1 "$pid"
    meanwhile "$mode"
    finish cpu CPU "$mode"
    finish contention contention "$mode"
    check_cpu "$mode"
    check_contention "$mode"
    end
done
for program in static static_pie; do
    mode=read
    run read "$TMP/$program"
    check_all "$program"
    refuse_before cpu CPU
    begin cpu
    meanwhile "$program"
    finish cpu CPU "$program"
    check_cpu "$program"
    refuses 3 "the program is linked statically: its locks are libc's" "$pid" contention-start "$TMP/w"
    refuses 3 "no contention profile is being made" "$pid" contention-stop
    end
done

# in a container the program knows itself by another number
if unshare --pid --fork true 2>/dev/null; then
    run read unshare --pid --fork env LD_PRELOAD="$VT_SO" "$TMP/subject"
    [ "$pid" = 1 ] || fail "expected number 1 in a namespace of its own, saw $pid"
    pid=$(children_of "$job")
    mode=read
    check_all "in a pid namespace"
    end
else
    say "not tried: a pid namespace of its own (unshare is not allowed)"
fi

# the names of files are those of who asks, not of the folder the program runs in
run read
mkdir "$TMP/here"
(cd "$TMP/here" && asks "$pid" dump now.heap >/dev/null) || exit 1
[ -s "$TMP/here/now.heap" ] || fail "expected the file in the folder of who asked"
end

# profiles that were begun from outside are written at exit, as others are
run read
asks "$pid" start "$TMP/late"
asks "$pid" cpu-start "$TMP/late.cpu"
rm "$TMP/late.cpu"
end
[ -s "$TMP/late.0001.heap" ] && [ -s "$TMP/late.cpu" ] || fail "expected profiles at exit"
run waits
asks "$pid" contention-start "$TMP/late.waits"
rm "$TMP/late.waits"
mode=waits
meanwhile waits
end
"$VITRINE_BIN" top --json "$TMP/late.waits" | grep -q '"name":"wait_for_mutex"' || fail "expected a contention profile at exit"
