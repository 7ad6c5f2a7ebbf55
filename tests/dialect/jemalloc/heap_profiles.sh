#!/bin/bash
# Heap profiles by MALLOC_CONF and by mallctl: names, counts, the original's jeprof as the reader; a program made for the original.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/prof" prof.c
cd "$TMP" || exit 1
SOME=$((3160 * 1024)) OTHER=$((780 * 4096))    # what is asked for; blocks are up to an eighth larger

# run CONF STEP...: with ours, in an empty folder
run() {
    local conf=$1; shift
    rm -f ./*.heap out err
    MALLOC_CONF=$conf with_ours "$TMP/prof" "$@" >out 2>err || fail "MALLOC_CONF=$conf prof $*: status $?: $(cat out err)"
}
names() { # names PATTERN: without the process; it must be the only one
    local seen; seen=$(ls ./*.heap 2>/dev/null | sed -E 's/^\.\///; s/\.[0-9]+\.([0-9]+\.)/.PID.\1/' | tr '\n' ' ')
    [ "$seen" = "$1" ] || fail "expected the files '$1', saw '$seen'"
}
# bytes FILE FUNCTION: what jeprof says of it
bytes() { jeprof --show_bytes --text "$TMP/prof" "$1" 2>/dev/null | awk -v f="$2" '$6 == f { print $1 }'; }
near() { [ "${1:-0}" -ge "$2" ] && [ "${1:-0}" -le $(($2 + $2 / 8)) ] || fail "$3: expected $2 and up to 1/8 more, saw '${1:-none}'"; }

run prof_leak:true,lg_prof_sample:0,prof_final:true some other
names 'jeprof.PID.0.f.heap '
grep -qE '^<jemalloc>: Leak approximation summary: ~[0-9]+ bytes, ~[0-9]+ objects, >= [0-9]+ contexts$' err || fail "leak summary: $(cat err)"
grep -qxF "<jemalloc>: Run jeprof on \"$(ls ./*.heap | cut -c3-)\" for leak detail" err || fail "leak detail: $(cat err)"
grep -qxE 'heap_v2/1' ./*.heap || fail "header: $(head -1 ./*.heap)"
near "$(bytes ./*.heap do_something)" $SOME do_something
near "$(bytes ./*.heap do_something_else)" $OTHER do_something_else
grep -qE '^  t\*: [0-9]+: [0-9]+ \[0: 0\]$' ./*.heap || fail "expected [0: 0] without prof_accum"

run prof_leak:true,lg_prof_sample:0 some                           # without prof_final: nothing
names ''; [ ! -s err ] || fail "expected no word, saw $(cat err)"
rm -f ./*.heap
MALLOC_CONF=prof_leak_error:true,prof_final:true,lg_prof_sample:0 with_ours "$TMP/prof" some >out 2>err
[ $? -eq 1 ] || fail "prof_leak_error: expected status 1"
grep -qxF '<jemalloc>: Exiting with error code because memory leaks were detected' err || fail "prof_leak_error: $(cat err)"
near "$(bytes ./*.heap do_something)" $SOME "prof_leak_error, the file"

run prof:true,prof_prefix:jeprof.out,lg_prof_sample:0 dump some dump other
names 'jeprof.out.PID.0.m0.heap jeprof.out.PID.1.m1.heap '
near "$(bytes ./*.1.m1.heap do_something)" $SOME "the second dump"
run prof:true,prof_active:false,prof_prefix:jeprof.out,lg_prof_sample:0 dump some on other off dump
names 'jeprof.out.PID.0.m0.heap jeprof.out.PID.1.m1.heap '
[ -z "$(bytes ./*.1.m1.heap do_something)" ] || fail "do_something was not to be seen"
near "$(bytes ./*.1.m1.heap do_something_else)" $OTHER "do_something_else"
grep -qxE '  t\*: 0: 0 \[0: 0\]' ./*.0.m0.heap || fail "the dump before: $(head -2 ./*.0.m0.heap)"

run prof:true,lg_prof_interval:20,lg_prof_sample:0 some other        # every block is a sample; each begins to count anew
names 'jeprof.PID.0.i0.heap jeprof.PID.1.i1.heap jeprof.PID.2.i2.heap jeprof.PID.3.i3.heap jeprof.PID.4.i4.heap '
run prof:true,prof_gdump:true some other
ls ./*.u0.heap ./*.u1.heap >/dev/null || fail "prof_gdump: saw $(ls)"
run prof:true,lg_prof_sample:0,prof_final:true prefix=newpfx dump some
names 'newpfx.PID.0.m0.heap newpfx.PID.1.f.heap '
run prof:true,lg_prof_sample:0 some reset=10 other dump
grep -qxE 'heap_v2/1024' ./*.heap || fail "reset: $(head -1 ./*.heap)"
[ -z "$(bytes ./*.heap do_something)" ] || fail "reset: do_something was to be forgotten"
run prof:true,lg_prof_sample:0 some dump=named.heap
near "$(bytes named.heap do_something)" $SOME "a dump of that name"
run prof:true,lg_prof_sample:0,prof_prefix:,prof_final:true some
names ''
run prof:true,prof_final:true,prof_prefix:/nonexistent/x some
grep -qE '^<jemalloc>: failed to open "/nonexistent/x\.[0-9]+\.0\.f\.heap"$' err || fail "no folder: $(cat err)"
run "prof:true,prof_final:true,prof_prefix:/no"$'\e[31m\a\x9b'"/x" some
grep -qE '^<jemalloc>: failed to open "/no\\x1b\[31m\\x07\\x9b/x\.[0-9]+\.0\.f\.heap"$' err || fail "a name that a terminal obeys: $(cat -v err)"
run prof:true,prof_final:true fork dump
[ "$(ls ./*.0.m0.heap | wc -l) $(ls ./*.1.f.heap | wc -l)" = "2 2" ] || fail "fork: saw $(ls)"
run prof:true,lg_prof_sample:10,prof_accum:true threads dump     # a block of 100 periods is always one
grep -qE '^  t[0-9]+: [0-9]+: [0-9]+ \[[0-9]+: [0-9]+\] worker-1$' ./*.heap || fail "threads: $(head -5 ./*.heap)"
grep -qE '^  t\*: [1-9][0-9]*: [0-9]+ \[[1-9][0-9]*: [0-9]+\]$' ./*.heap || fail "prof_accum: $(head -2 ./*.heap)"
near "$(bytes ./*.heap leak_in_thread)" $((2 * 50 * 100000)) "two threads of three"
run '' env some stats
names ''
grep -qE '^allocated/active/mapped: [0-9]+/[0-9]+/[0-9]+$' out || fail "stats: $(cat out)"
awk -F'[/: ]+' '{ exit !($4 <= $5 && $5 <= $6 && $4 >= 3160 * 1024) }' out || fail "expected allocated <= active <= mapped: $(cat out)"
