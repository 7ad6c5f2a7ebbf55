#!/bin/bash
# Row 20: as a user without any right, and below the two tools that own the ptrace slot.
. "$(dirname "$0")/lib.sh"

public_copy
compile "$TMP/public/workout" workout.c
want="workout: "
n=0

if can_be_nobody; then
    check_preload "$TMP/public/workout"
    for options in "strict=1" "threads=8 strict=1 ops=5000"; do
        # shellcheck disable=SC2086
        seen=$(cd / && as_nobody timeout -k 10 "$LIMIT" env LD_PRELOAD="$VT_SO" "$TMP/public/workout" $options 2>&1)
        died $? "as nobody, $options: $seen"
        case $seen in "$want"*) ;; *) fail "as nobody: expected '$want...' and nothing else, saw '$seen'" ;; esac
    done
    n=$((n + 1)); say "ok: as nobody, without capabilities"
else
    say "part skipped: cannot become nobody (needs root and setpriv)"
fi

if have strace && strace -o /dev/null true 2>/dev/null; then
    timeout -k 10 "$LIMIT" strace -f -qq -o "$TMP/trace" -E LD_PRELOAD="$VT_SO" "$TMP/public/workout" ops=3000 strict=1 \
        >"$TMP/out" 2>&1
    died $? "under strace: $(tail -2 "$TMP/out")"
    grep -qE "open(at)?\(.*/$SO_NAME\".* = [0-9]+$" "$TMP/trace" ||
        fail "expected $SO_NAME to be opened under strace, saw no trace of it"
    ! grep -qE '^[0-9]+ +(ptrace|process_vm_readv|process_vm_writev)\(' "$TMP/trace" ||
        fail "expected no ptrace of our own, saw $(grep -m1 -E 'ptrace|process_vm' "$TMP/trace")"
    n=$((n + 1)); say "ok: under strace ($(wc -l <"$TMP/trace") calls)"
else
    say "part skipped: strace is not here or may not trace"
fi

# can_call: gdb may trace here, and calls a function of a plain program. gdb 13 cannot on processors whose registers take more
# room than it knows ("couldn't write extended state status").
can_call() {
    gdb -nx -q -batch -ex 'break main' -ex run -ex 'print ((int (*)(void)) getpid)() > 0' "$TMP/public/workout" 2>&1 |
        grep -q '^\$1 = 1$'
}

if have gdb && ! can_call; then
    say "part skipped: gdb cannot call a function of a program here"
elif have gdb; then
    cat >"$TMP/commands" <<'END'
set confirm off
set pagination off
set breakpoint pending on
set detach-on-fork on
break check if upto == -1
run ops=2000 strict=1
delete
print ((void *(*)(unsigned long)) malloc)(100)
set $p = $
print ((unsigned long (*)(void *)) malloc_usable_size)($p) >= 100
call ((void (*)(void *)) free)($p)
thread apply all backtrace 3
continue
END
    timeout -k 10 "$LIMIT" gdb -nx -q -batch -ex "set environment LD_PRELOAD $VT_SO" -x "$TMP/commands" \
        "$TMP/public/workout" >"$TMP/gdb" 2>&1
    died $? "under gdb"
    grep -q '^\$[0-9]* = 1$' "$TMP/gdb" || {
        tail -20 "$TMP/gdb"
        fail "gdb: expected a malloc called by hand to work"
    }
    grep -q 'exited normally' "$TMP/gdb" || {
        tail -20 "$TMP/gdb"
        fail "gdb: expected a normal exit"
    }
    n=$((n + 1)); say "ok: under gdb, malloc and free called from its prompt"
else
    say "part skipped: gdb is not installed"
fi
[ $n -gt 0 ] || skip "neither nobody, strace nor gdb could be used"
