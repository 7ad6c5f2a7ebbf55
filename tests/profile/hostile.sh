#!/bin/bash
# Another user on the same machine: what he plants under the names of our files is never written to, in any way that files are made; what
# is the user's own on purpose works as before. As root the attacker is nobody. As an ordinary user what he can plant himself is tested:
# links in a folder where others may move them.
SELF=$(readlink -f "$0")
. "$(dirname "$0")/../risk/lib.sh"
libraries=$(dirname "$VT_SO")
compile "$TMP/prog" hostile.c
chmod 755 "$TMP"
mkdir "$TMP/safe" && cd "$TMP/safe" || exit 1

if can_be_nobody; then
    attacker() { as_nobody "$@"; }
    modes="1777 777"
else
    attacker() { "$@"; }
    modes="777"
fi

# plant KIND PATH: a link to the victim, or a pipe that somebody has open
plant() {
    case $1 in
        link) attacker ln -s "$TMP/safe/victim" "$2" ;;
        pipe) attacker mkfifo -m 666 "$2" ;;
    esac || fail "cannot plant $2"
}

# What the program is told: it asks for its profile itself.
asks=()

# attack WHAT LIBRARY FILE VARIABLE=VALUE...: in each kind of folder each kind of thing stands under the name of the file, PID in it is that
# of the program. The victim stays as it is, the file is not made, and one line says why.
n=0
attack() {
    local what=$1 library=$2 file=$3 mode kind lines; shift 3
    for mode in $modes; do
        for kind in link pipe; do
            [ $kind = link ] || can_be_nobody || continue
            rm -rf "$TMP/shared" && mkdir "$TMP/shared" && chmod "$mode" "$TMP/shared"
            echo precious >victim
            # the program's number is known before it runs
            (
                plant $kind "$TMP/shared/${file//PID/$BASHPID}"
                [ $kind = link ] || exec 8<>"$TMP/shared/${file//PID/$BASHPID}"
                exec env LD_PRELOAD="$library" "$@" "$TMP/prog" "${asks[@]}" >out 2>err
            )
            died $? "$what, $kind, $mode"
            [ "$(cat victim)" = precious ] || fail "$what, folder $mode: the victim of another user's $kind begins with $(head -c 20 victim)"
            lines=$(grep -c 'could have planted' err)
            [ "$lines" = 1 ] || fail "$what, $kind, folder $mode: expected one line that refuses, saw $lines: $(cat err)"
            n=$((n + 1))
        done
    done
    rm -rf "$TMP/shared" && mkdir "$TMP/shared" && chmod 1777 "$TMP/shared"
    ( exec env LD_PRELOAD="$library" "$@" "$TMP/prog" "${asks[@]}" >out 2>err )
    died $? "$what, nothing planted"
    [ "$(find "$TMP/shared" -type f -name 'z*' | grep -c .)" -ge 1 ] || fail "$what: expected a file when nothing is planted, saw $(ls -A "$TMP/shared"): $(cat err)"
}
died() {
    [ "$1" -eq 0 ] || fail "$2: expected status 0, saw $1: $(cat err)"
}

z=$TMP/shared/z
attack "heap profile" "$VT_SO" z.0001.heap VITRINE=heap_profile="$z"
attack "growth profile" "$VT_SO" z.0001.heap VITRINE=heap_profile="$z",heap_kind=growth
attack "mmap profile" "$VT_SO" z.0001.heap VITRINE=heap_profile="$z",heap_kind=mmap
attack "peak profile" "$VT_SO" z.peak.heap VITRINE=heap_profile="$z",heap_exit_peak
attack "CPU profile" "$VT_SO" z VITRINE=cpu_profile="$z"
attack "contention profile" "$VT_SO" z VITRINE=contention_profile="$z"
attack "CPUPROFILE" "$libraries/libprofiler.so.0" z CPUPROFILE="$z"
# its own habit of removing old profiles would remove what was planted, too
attack "HEAPPROFILE" "$libraries/libtcmalloc.so.4" z.0001.heap HEAP_PROFILE_CLEANUP=0 HEAPPROFILE="$z"
attack "TCMALLOC_TRACE_FILE" "$libraries/libtcmalloc_debug.so.4" z TCMALLOC_TRACE=1 TCMALLOC_TRACE_FILE="$z"
attack "prof_final" "$libraries/libjemalloc.so.2" z.PID.0.f.heap MALLOC_CONF=prof:true,prof_final:true,prof_prefix:"$z"
attack "prof_log" "$libraries/libjemalloc.so.2" z.PID.0.json MALLOC_CONF=prof:true,prof_log:true,prof_prefix:"$z"
attack "black box" "$VT_SO" z VITRINE=black_box="$z",sample=1
asks=(vt_heap_dump "$z")
attack "vt_heap_dump" "$VT_SO" z VITRINE=
asks=(mallctl "$z")
attack "prof.dump" "$libraries/libjemalloc.so.2" z MALLOC_CONF=prof:true
asks=(ProfilerStart "$z")
attack "ProfilerStart" "$libraries/libprofiler.so.0" z CPUPROFILE=
asks=()
say "ok: $n planted things refused"

# ---- what is the user's own

own_is_written() { # WHAT FILE: it holds a profile
    grep -qa samples "$2" || fail "$1: expected a profile in $2, saw $(head -c 20 "$2" | tr -d '\0')"
}
run_cpu() { timeout -k 10 60 env LD_PRELOAD="$VT_SO" VITRINE=cpu_profile="$1" "$TMP/prog"; }
ln -s elsewhere own
run_cpu own || fail "a link of one's own: status $?"
own_is_written "a link of one's own" elsewhere
[ -L own ] || fail "expected that the link stays"
run_cpu /dev/stdout >stdout || fail "/dev/stdout: status $?"
own_is_written /dev/stdout stdout
run_cpu /dev/stdout | cat >stdout
own_is_written "/dev/stdout, a pipe" stdout
run_cpu /dev/stderr 2>stderr || fail "/dev/stderr: status $?"
own_is_written /dev/stderr stderr
run_cpu /dev/fd/7 7>seven || fail "/dev/fd/7: status $?"
own_is_written /dev/fd/7 seven
[ "$(run_cpu /dev/fd/7 2>&1 7<seven)" = "vitrine: warning: no CPU profile '/dev/fd/7': bad file descriptor" ] ||
    fail "a descriptor for reading: expected one line, saw $(run_cpu /dev/fd/7 2>&1 7<seven)"
[ -z "$(run_cpu /dev/null 2>&1)" ] || fail "/dev/null: expected no word"
mkfifo pipe
cat pipe >from_pipe &
reader=$!
exec 9>pipe # it has its reader now
run_cpu pipe || fail "a pipe of one's own: status $?"
exec 9>&-
wait $reader
own_is_written "a pipe of one's own" from_pipe
[ "$(run_cpu pipe 2>&1)" = "vitrine: error: cannot write profile '$TMP/safe/pipe': nobody reads the pipe" ] || fail "a pipe without a reader: expected one line, saw $(run_cpu pipe 2>&1)"
say "ok: links, descriptors, devices and pipes of one's own"

# a trace whose reader stops, or goes away, ends; the program goes on
trace() { timeout -k 10 60 env LD_PRELOAD="$libraries/libtcmalloc_debug.so.4" TCMALLOC_TRACE=1 TCMALLOC_TRACE_FILE=pipe "$TMP/prog" 2>err; }
exec 8<>pipe
trace || fail "a trace that nobody reads: status $?"
exec 8<&-
[ "$(grep -c 'trace of allocations ends here: its reader stopped reading' err)" = 1 ] || fail "a trace that nobody reads: expected one line, saw $(cat err)"
head -c 1000 pipe >/dev/null &
exec 9>pipe
trace || fail "a trace whose reader goes away: status $?"
exec 9>&-
[ "$(grep -c 'trace of allocations ends here: nobody reads the pipe' err)" = 1 ] || fail "a trace whose reader goes away: expected one line, saw $(cat err)"
say "ok: readers that stop"

# ---- names that are taken

# those that version 0.1 would have tried, all of them
rm -rf "$TMP/shared" && mkdir "$TMP/shared" && chmod 1777 "$TMP/shared"
(
    for i in $(seq 0 99); do echo "$TMP/shared/.vitrine.$BASHPID.$BASHPID.$i.tmp"; done >names
    chmod 644 names
    attacker xargs touch <names
    exec env LD_PRELOAD="$VT_SO" VITRINE=cpu_profile="$z" "$TMP/prog" 2>err
)
died $? "names that are taken"
[ ! -s err ] || fail "names that are taken: expected no word, saw $(cat err)"
own_is_written "names that are taken" "$z"
say "ok: names that are taken"

# ---- a dump that a kill cut off

# a draft that a process still writes stays; one whose process is gone goes
mkdir left
mkfifo hold
python3 -c '
import fcntl, os, sys
fd = os.open("left/.vitrine.%d.1.0123456789abcdef.tmp" % os.getpid(), os.O_CREAT | os.O_WRONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.read()' <hold >ready &
holder=$!
own $holder
exec 9>hold
await 60 grep -q ready ready || fail "cannot hold a draft"
run_cpu left/x || fail "status $?"
[ "$(find left -name '.vitrine*' | wc -l)" = 1 ] || fail "expected that a draft in use stays, saw $(ls -A left)"
kill -KILL $holder
wait $holder 2>/dev/null
exec 9>&-
run_cpu left/x || fail "status $?"
[ "$(ls -A left)" = x ] || fail "expected that the draft of a killed process is removed, saw $(ls -A left)"
say "ok: what a kill left is removed by the next"

# ---- the command

VITRINE_BIN=$VT_BUILD/bin/vitrine
[ -x "$VITRINE_BIN" ] || { say "part skipped: no command vitrine in this build"; exit 0; }
run_cpu profile || fail "status $?"
${CC:-cc} -D_GNU_SOURCE -I"$VT_INCLUDE" "$(dirname "$SELF")/../box/bomb.c" -no-pie -o "$TMP/bomb" || fail "cannot compile bomb.c"
read -r offset start n_bytes < <(readelf -lW "$TMP/bomb" | awk '$1 == "LOAD" && / R E / { print $2, $3, $6 }')
printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x%x\nMAPPED_LIBRARIES:\n%x-%x r-xp %x 00:00 0 %s\n' \
    $((0x$(nm "$TMP/bomb" | sed -n 's/ T main$//p') + 4)) $((start)) $((start + (n_bytes + 4095) / 4096 * 4096)) $((offset)) "$TMP/bomb" >unnamed
cp unnamed own_profile && "$VITRINE_BIN" symbolize own_profile && ! cmp -s unnamed own_profile || fail "expected that symbolize writes a name"
"$TMP/bomb" box good 100 && "$TMP/bomb" core core 1 || fail "cannot make a box and a core file"
refused() { # WHAT STATUS CMD...
    local what=$1 status=$2 seen; shift 2
    echo precious >victim
    timeout -k 10 60 "$@" >out 2>err
    seen=$?
    [ $seen = "$status" ] || fail "$what: expected status $status, saw $seen: $(cat err)"
    [ "$(cat victim)" = precious ] || fail "$what: the victim begins with $(head -c 20 victim)"
    [ "$(grep -c 'could have planted' err)" = 1 ] || fail "$what: expected one line that refuses, saw: $(cat err)"
}
for mode in $modes; do
    rm -rf "$TMP/shared" && mkdir "$TMP/shared" && chmod "$mode" "$TMP/shared"
    plant link "$TMP/shared/link.svg"
    attacker ln -s "$TMP/safe" "$TMP/shared/way"
    refused "top -o" 3 "$VITRINE_BIN" top -o "$TMP/shared/link.svg" profile
    refused "flame -o" 3 "$VITRINE_BIN" flame -o "$TMP/shared/link.svg" profile
    refused "graph -o" 3 "$VITRINE_BIN" graph -o "$TMP/shared/link.svg" profile
    refused "convert" 3 "$VITRINE_BIN" convert --to=collapsed profile "$TMP/shared/link.svg"
    refused "pprof -output" 1 "$VT_BUILD/bin/pprof" -output="$TMP/shared/link.svg" -top profile
    refused "a folder behind a link" 3 "$VITRINE_BIN" top -o "$TMP/shared/way/file" profile
    [ ! -e file ] || fail "expected no file behind another user's link"
    plant link "$TMP/shared/link.heap"
    refused "read -o" 3 "$VITRINE_BIN" read -o "$TMP/shared/link" box
    refused "core -o" 3 "$VITRINE_BIN" core -o "$TMP/shared/link" core
    plant link "$TMP/shared/profile"
    cp unnamed victim
    timeout -k 10 60 "$VITRINE_BIN" symbolize "$TMP/shared/profile" 2>err
    [ $? = 3 ] && grep -q 'could have planted' err || fail "symbolize: expected a refusal, saw $(cat err)"
    cmp -s victim unnamed || fail "symbolize: the victim is another file now"
    refused "run -o" 3 "$VITRINE_BIN" run -o "$TMP/shared/way" -- "$TMP/prog"
    refused "run -o below" 3 "$VITRINE_BIN" run -o "$TMP/shared/way/new" -- "$TMP/prog"
    [ ! -e new ] || fail "expected no folder behind another user's link"
done
"$VITRINE_BIN" top -o own profile || fail "a link of one's own: expected status 0"
grep -q . elsewhere || fail "a link of one's own: expected a table behind it"
"$VITRINE_BIN" top -o /dev/stdout profile >table || fail "-o /dev/stdout: expected status 0"
cmp -s table elsewhere || fail "-o /dev/stdout: expected the same table"
timeout -k 5 60 "$VITRINE_BIN" top -o pipe profile 2>err
[ $? = 3 ] && grep -q "cannot write 'pipe': nobody reads the pipe" err || fail "a pipe that nobody reads: expected one line, saw $(cat err)"
echo old >kept
"$VITRINE_BIN" top -o kept no-such-profile 2>/dev/null && fail "expected a status for a profile that is not there"
[ "$(cat kept)" = old ] || fail "expected that the old file stays when there is no new one"
[ -z "$(find . -name '.vitrine*')" ] || fail "expected nothing left behind, saw $(ls -A)"
say "ok: the command"

# ---- a running program is told to

LD_PRELOAD=$VT_SO sleep 600 &
pid=$!
own $pid
await 20 "$VITRINE_BIN" ctl --timeout=20 $pid stats || fail "expected the library in the program"
for mode in $modes; do
    rm -rf "$TMP/shared" && mkdir "$TMP/shared" && chmod "$mode" "$TMP/shared"
    plant link "$TMP/shared/link"
    for command in dump cpu-start contention-start; do
        echo precious >victim
        "$VITRINE_BIN" ctl --timeout=60 $pid $command "$TMP/shared/link" >out 2>err && fail "ctl $command: expected a refusal"
        [ "$(cat victim)" = precious ] || fail "ctl $command: the victim begins with $(head -c 20 victim)"
        grep -q 'could have planted' err || fail "ctl $command: expected a line that refuses, saw $(cat err)"
    done
done
kill $pid
say "ok: vitrine ctl"
