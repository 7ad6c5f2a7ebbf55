#!/bin/bash
# redis: the same data gives the same digest, through fork for a snapshot, a benchmark, a restart
# from the file.
. "$(dirname "$0")/../risk/lib.sh"
need redis-server redis-cli redis-benchmark

# Lists, hashes, sets and strings of every size, made by the server itself, so both runs have the
# same.
cat >"$TMP/data.lua" <<'END'
math.randomseed(7)
for i = 1, 20000 do
    redis.call('SET', 'str:' .. i, string.rep('v', i % 700))
    redis.call('HSET', 'hash:' .. (i % 200), 'f' .. i, i * 3)
    redis.call('RPUSH', 'list:' .. (i % 50), string.rep('x', i % 90))
    redis.call('ZADD', 'zset:' .. (i % 20), i * 17 % 1009, 'm' .. i)
end
for i = 1, 20000, 3 do redis.call('DEL', 'str:' .. i) end
for i = 2, 20000, 3 do redis.call('APPEND', 'str:' .. i, string.rep('y', i % 3000)) end
for i = 1, 20 do redis.call('SET', 'big:' .. i, string.rep('z', i * 100000)) end
return redis.call('DBSIZE')
END

cli() { redis-cli -s "$TMP/socket" "$@"; }
answers() { [ "$(cli ping)" = PONG ]; }                # while it reads its file it says LOADING to everything

# start LIBRARY: LIBRARY may be empty
start() {
    mkdir -p "$TMP/dir"
    LD_PRELOAD=$1 redis-server --port 0 --unixsocket "$TMP/socket" --save "" --dir "$TMP/dir" --daemonize no \
        --enable-debug-command local --activerehashing yes >"$TMP/log" 2>&1 &
    server=$!; own $server
    await 60 answers || { tail -5 "$TMP/log"; fail "redis-server does not answer"; }
    [ -z "$1" ] || must_be_loaded_in $server
}
stop() {
    cli shutdown nosave 2>/dev/null
    wait $server
    local status=$?
    [ $status -eq 0 ] || {
        tail -5 "$TMP/log"
        fail "expected redis-server to end with status 0, saw $status"
    }
}
digest() { cli debug digest; }
saved() { cli info persistence | tr -d '\r' | grep -q '^rdb_bgsave_in_progress:0'; }

start ""
cli --eval "$TMP/data.lua" >"$TMP/size.plain" || fail "no data"
plain=$(digest)
stop

check_preload redis-server
start "$VT_SO"
cli --eval "$TMP/data.lua" >"$TMP/size.ours"
same "$TMP/size.plain" "$TMP/size.ours" "redis: number of keys"
ours=$(digest)
[ -n "$plain" ] && [ "$plain" = "$ours" ] || fail "digest: expected '$plain', saw '$ours'"

# A snapshot in a forked child while clients write.
cli bgsave >/dev/null
redis-benchmark -s "$TMP/socket" -n 20000 -c 20 -P 4 -q -r 5000 -d 200 -t set,get,lpush,lpop,sadd,hset,zadd,mset \
    >"$TMP/bench" 2>&1 || { tail -5 "$TMP/bench"; fail "redis-benchmark failed"; }
[ "$(tr '\r' '\n' <"$TMP/bench" | grep -c 'requests per second')" -ge 8 ] ||
    fail "expected 8 figures of redis-benchmark, saw $(tail -3 "$TMP/bench")"
await 60 saved || fail "expected the background save to end"
cli info persistence | tr -d '\r' | grep -q '^rdb_last_bgsave_status:ok' ||
    fail "expected a good background save"
[ "$(cli save)" = OK ] || fail "expected SAVE to say OK"
before=$(digest)
cli memory purge >/dev/null
[ "$(cli ping)" = PONG ] || fail "expected PONG after MEMORY PURGE"
stop
grep -qiE 'crash|stack trace|corrupt' "$TMP/log" &&
    fail "redis reports trouble: $(grep -iE 'crash|corrupt' "$TMP/log" | head -1)"

start "$VT_SO"                                         # loads dump.rdb
after=$(digest)
[ "$before" = "$after" ] || fail "digest after restart: expected '$before', saw '$after'"
cli flushall >/dev/null
stop
