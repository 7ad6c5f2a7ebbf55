#!/bin/bash
# Debian's redis-server, which is linked with libjemalloc.so.2, on ours: MEMORY STATS, PURGE, DOCTOR and MALLOC-STATS, the background
# thread, active defragmentation, and a heap profile at its end.
. "$(dirname "$0")/lib.sh"
need redis-server redis-cli
ldd "$(command -v redis-server)" | grep -q 'libjemalloc\.so\.2' || skip "this redis-server is not linked with libjemalloc.so.2"
cd "$TMP" || exit 1
MALLOC_CONF=prof:true,prof_final:true,prof_prefix:redis,lg_prof_sample:14 LD_LIBRARY_PATH=$OURS \
    redis-server --port 0 --unixsocket "$TMP/socket" --save "" --appendonly no >log 2>&1 &
server=$!
own $server
ask() { timeout -k 5 "$LIMIT" redis-cli -s "$TMP/socket" "$@"; }
await 20 ask ping || fail "the server does not answer: $(tail -3 log)"
grep -qF "$(readlink -f "$VT_JE_SO")" "/proc/$server/maps" || fail "our library is not in the server"
for i in $(seq 1 2000); do printf 'SET key:%d %0200d\r\n' "$i" "$i"; done | ask --pipe >/dev/null || fail "redis-cli --pipe"
figure() { ask memory stats | awk -v k="$1" '$0 == k { getline; print }'; }
used() { ask info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p'; }
# the server asks the allocator ten times a second
counts_all() { [ "$(figure allocator.allocated)" -ge $(($(used) / 10 * 9)) ]; }
await 20 counts_all || fail "allocated $(figure allocator.allocated) is less than redis counts itself: $(used)"
allocated=$(figure allocator.allocated) active=$(figure allocator.active) resident=$(figure allocator.resident)
[ "$allocated" -ge 400000 ] && [ "$active" -ge 400000 ] && [ "$resident" -ge 400000 ] ||
    fail "expected 400000 and more, saw $allocated, $active, $resident"
ratio=$(figure allocator-fragmentation.ratio)
case $ratio in 1.* | 2.*) ;; *) fail "expected a fragmentation of 1 to 3, saw $ratio" ;; esac
[ "$(ask memory purge)" = OK ] || fail "memory purge: $(ask memory purge)"
ask memory malloc-stats >stats
grep -qF -- '--- End jemalloc statistics ---' stats || fail "memory malloc-stats: $(tail -1 stats)"
[ "$(ask config set jemalloc-bg-thread no)" = OK ] && [ "$(ask config set jemalloc-bg-thread yes)" = OK ] || fail "jemalloc-bg-thread"
ask memory doctor >doctor || fail "memory doctor"
! grep -qi 'not supported\|stats on the current allocator' doctor || fail "memory doctor: saw $(cat doctor)"
# it was built for the system's library, which has no hint for that: the same answer as there
ask config set activedefrag yes 2>&1 | grep -qi 'active defragmentation cannot be enabled' || fail "activedefrag: saw $(ask config set activedefrag yes)"
before=$(used)
sleep 0.3 # three times its tick
allocated=$(figure allocator.allocated)
ask flushall >/dev/null
gone=$((before - $(used)))
is_freed() { [ "$(figure allocator.allocated)" -le $((allocated - gone / 10 * 7)) ]; }
[ $gone -ge 300000 ] && await 20 is_freed || fail "allocated is $(figure allocator.allocated) after flushall and was $allocated; redis counts $gone less"
ask shutdown nosave >/dev/null 2>&1
wait $server
status=$?
[ $status -eq 0 ] || fail "the server ended with status $status: $(tail -3 log)"
head -1 redis."$server".0.f.heap | grep -qx heap_v2/16384 || fail "expected a profile at the end, saw $(ls)"
