#!/bin/sh
# Drives a redis-server that listens on a unix socket, then shuts it down.
#     drive_redis.sh SOCKET REQUESTS
# REQUESTS of each command, pipelined, on 100,000 random keys. What counts is the server, which
# run.py measures; this side runs without any LD_PRELOAD.
set -eu
socket=$1 requests=$2

tries=0
until [ "$(redis-cli -s "$socket" ping 2>/dev/null)" = PONG ]; do
    tries=$((tries + 1))
    if [ "$tries" -ge 200 ]; then
        echo "drive_redis: error: no answer on '$socket'" >&2
        exit 3
    fi
    sleep 0.05
done

redis-benchmark -s "$socket" -c 32 -P 16 -n "$requests" -r 100000 -d 100 -q \
    -t set,get,incr,lpush,lpop,sadd,hset,zadd >&2
redis-cli -s "$socket" shutdown nosave
