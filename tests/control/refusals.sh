#!/bin/bash
# What cannot be: each with one line that says so, status 3, or 2 for what was written wrongly; and nothing happens to the process.
. "$(dirname "$0")/lib.sh"
need flock
subject

# how long it waits when nothing is said takes its time: the answer is looked at further down
LD_PRELOAD=$VT_SO sleep 600 &
stopped=$!
own "$stopped"
await 20 ctl "$stopped" stats || fail "expected the library in the program" # all of it: a part of its file may be there earlier
kill -STOP "$stopped"
ctl "$stopped" stats >"$TMP/patience" 2>&1 &
patient=$!
own "$patient"

refuses 3 "no process 99999999" 99999999 stats
sleep 600 &
plain=$!
own "$plain"
refuses 3 "process $plain runs without the vitrine library" "$plain" stats
kill -0 "$plain" || fail "expected the other process unharmed"

refuses 2 "'x' is no process number" x stats
refuses 2 "'-1' is no process number" -- -1 stats
refuses 2 "'12x' is no process number" 12x stats
refuses 2 "'0' is no process number" 0 stats
refuses 2 "'99999999999' is no process number" 99999999999 stats
refuses 2 "a process and a command are needed" "$plain"
refuses 2 "unknown command 'dmup'" "$plain" dmup
refuses 2 "usage: vitrine ctl PID rate BYTES" "$plain" rate
refuses 2 "usage: vitrine ctl PID stop" "$plain" stop now
refuses 2 "usage: vitrine ctl PID dump [PATH]" "$plain" dump here there
refuses 2 "usage: vitrine ctl PID contention-start FILE" "$plain" contention start
refuses 2 "usage: vitrine ctl PID contention-stop" "$plain" contention stop now
refuses 2 "unknown command 'contention'" "$plain" contention begin
refuses 2 "'rate' wants a number of bytes such as 512K, not 'often'" "$plain" rate often
refuses 2 "not '99999999999T'" "$plain" rate 99999999999T
refuses 2 "not '+5'" "$plain" rate +5
refuses 2 "not '5KB'" "$plain" rate 5KB
refuses 2 "'exact' is on or off, not 'maybe'" "$plain" exact maybe
refuses 2 "'--format' is proto, gperftools, jemalloc or collapsed, not 'xml'" "$plain" dump --format=xml
refuses 2 "unknown option '--tiemout'; did you mean '--timeout'?" --tiemout=1 "$plain" stats

# a library of the future, and something that has our symbol by accident
cat >"$TMP/future.c" <<'END'
#include <stdio.h>
#include <unistd.h>
#include <vitrine-control.h>
struct vt_control vt_control = {.magic = MAGIC, .version = 2, .n_bytes = sizeof vt_control};
int main(void) {
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    return getchar() == '\n' ? 0 : 9;
}
END
compile "$TMP/future" "$TMP/future.c" -I"$VT_INCLUDE" -DMAGIC='VT_CONTROL_MAGIC'
run "" "$TMP/future"
refuses 3 "has version 2 of the control block, and this vitrine knows 1" "$pid" stats
"$VITRINE_BIN" ps >"$TMP/said"
grep -Eq "^ *$pid +- +[0-9.]+[kM]B +- +- future\$" "$TMP/said" || fail "ps of a future library: expected its name and no figures, saw $(cat "$TMP/said")"
"$VITRINE_BIN" ps --json >"$TMP/said"
grep -Eq "\"pid\":$pid,\"program\":\"future\",\"resident\":[1-9][0-9]*}" "$TMP/said" || fail "ps --json of a future library: saw $(cat "$TMP/said")"
end
compile "$TMP/accident" "$TMP/future.c" -I"$VT_INCLUDE" -DMAGIC='"else"'
run "" "$TMP/accident"
refuses 3 "runs without the vitrine library" "$pid" stats
end

# no answer: idle without the signal; stopped; ended meanwhile. What was asked for is not done later.
run deaf
since=${EPOCHREALTIME/[.,]/}
refuses 3 "does not answer within 1.0 s: it neither allocates nor takes the signal" --timeout=1 "$pid" dump "$TMP/never"
waited_ms=$(((${EPOCHREALTIME/[.,]/} - since) / 1000))
[ "$waited_ms" -ge 1000 ] && [ "$waited_ms" -le 10000 ] || fail "--timeout=1: expected a second, saw $waited_ms ms"
end
[ ! -e "$TMP/never" ] || fail "expected that nothing is done after the time is over"
run read
kill -STOP "$pid"
refuses 3 "does not answer within 1.0 s: it is stopped" --timeout=1 "$pid" dump "$TMP/never"
kill -CONT "$pid"
end
[ ! -e "$TMP/never" ] || fail "expected that nothing is done after the time is over"
run deaf
ctl --timeout=60 "$pid" stats 2>"$TMP/errors" &
asking=$!
await 20 eval "! flock -n /proc/$pid/mem true" || fail "expected a client that waits"
kill -KILL "$pid"
wait "$asking"
[ $? = 3 ] || fail "expected status 3 when the process ends"
grep -q "process $pid ended before it answered" "$TMP/errors" || fail "expected a word on the end, saw: $(cat "$TMP/errors")"
exec 5>&- 6<&-

# the program's own errors come back
run read
refuses 3 "no such file or directory" "$pid" dump "$TMP/none/x.heap"
refuses 3 "rate too large" "$pid" rate 2T
end

wait "$patient"
[ $? = 3 ] || fail "expected status 3 when nobody answers"
grep -q "process $stopped does not answer within 5.0 s: it is stopped" "$TMP/patience" || fail "expected 5 seconds of patience, saw: $(cat "$TMP/patience")"
kill -KILL "$stopped"

# only who may trace it
can_be_nobody || { say "SKIP: the rest needs root and a user nobody"; exit 0; }
public_copy
cp "$VITRINE_BIN" "$TMP/public/vitrine" && cp "$TMP/subject" "$TMP/public/subject" && chmod 755 "$TMP/public"/*
run read
as_nobody "$TMP/public/vitrine" ctl "$pid" stats >"$TMP/said" 2>"$TMP/errors"
[ $? = 3 ] || fail "another user: expected status 3, saw $?"
grep -q "process $pid: not permitted" "$TMP/errors" || fail "another user: saw $(cat "$TMP/errors")"
as_nobody "$TMP/public/vitrine" ps >"$TMP/said" || fail "ps as nobody: expected status 0"
! grep -q "^ *$pid " "$TMP/said" || fail "ps as nobody: expected nothing of other users, saw $(cat "$TMP/said")"
end

# another user who locks what he can does not keep root out
run read
as_nobody flock --no-fork "/proc/$pid" sleep 600 &
holder=$!
own "$holder"
await 60 eval "! flock -n /proc/$pid true" || fail "nobody: cannot lock /proc/$pid"
! as_nobody flock -n "/proc/$pid/mem" true 2>/dev/null || fail "nobody: expected that he cannot lock the memory of root's process"
asks --timeout=1 "$pid" stats >/dev/null
end
for child in $(children_of "$holder"); do kill "$child"; done
wait "$holder"

as_nobody_preloaded() { as_nobody env LD_PRELOAD="$VT_SO" "$TMP/public/subject" "$@"; }
run read as_nobody_preloaded
asks "$pid" stats >/dev/null # root asks
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
    as_nobody "$TMP/public/vitrine" ctl "$pid" stats >/dev/null || fail "the same user: expected an answer"
fi
end

# a program that is at its end, its profiles written: what it began now would be lost
cat >"$TMP/late.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((destructor)) static void late(void) {
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (getchar() != '\n') _exit(9);
}
END
echo 'int main(void) { return 0; }' >"$TMP/short.c"
compile "$TMP/late.so" "$TMP/late.c" -shared -fPIC
compile "$TMP/short" "$TMP/short.c"
run "" env LD_PRELOAD="$VT_SO $TMP/late.so" "$TMP/short"
refuses 3 "process $pid: the program is ending" "$pid" contention-start "$TMP/lost"
refuses 3 "process $pid: the program is ending" "$pid" cpu-start "$TMP/lost"
end

# a set-user-ID program takes no requests, not even root's
compile "$TMP/public/setuid" subject.c -static "$VT_A"
chmod 4755 "$TMP/public/setuid"
as_nobody_setuid() {
    setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" --clear-groups -- "$TMP/public/setuid" "$@"
}
if [ "$(findmnt -no OPTIONS -T "$TMP" 2>/dev/null | grep -c nosuid)" = 0 ]; then
    run slow as_nobody_setuid
    refuses 3 "a set-user-ID program takes no requests" "$pid" stats
    end

    # another user who has locked the memory of his child, which then becomes root's, does not keep root out
    cat >"$TMP/hold.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int go[2], status;
    char path[32], c;
    if (argc < 2 || pipe(go) != 0) return 9;
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        if (read(go[0], &c, 1) == 1) execv(argv[1], argv + 1);
        _exit(9);
    }
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || write(go[1], "g", 1) != 1) return 9;
    return waitpid(child, &status, 0) == child ? status != 0 : 9;
}
END
    cat >"$TMP/become.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc < 3 || setresuid(0, 0, 0) != 0) return 9;
    setenv("LD_PRELOAD", argv[1], 1);
    execv(argv[2], argv + 2);
    return 9;
}
END
    compile "$TMP/public/hold" "$TMP/hold.c"
    compile "$TMP/public/become" "$TMP/become.c"
    chmod 4755 "$TMP/public/become"
    as_nobody_held() {
        setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" --clear-groups -- "$TMP/public/hold" "$TMP/public/become" \
            "$VT_SO" "$TMP/public/subject" "$@"
    }
    run read as_nobody_held
    ! flock -n "/proc/$pid/mem" true || fail "nobody: expected that he holds the lock of root's process"
    [ "$(stat -c %u "/proc/$pid")" = 0 ] || fail "expected a process of root's"
    asks --timeout=60 "$pid" stats >/dev/null
    end
fi
