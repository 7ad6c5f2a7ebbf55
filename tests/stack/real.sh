#!/bin/sh
# real.sh PROGRAM SHIM.so: our stacks and libunwind's in a real program, at every n-th malloc and at timer signals.
# At least 99.99 % must be equal at malloc, 99 % at signals, of which there are few. We promise 99.9 %, but all are equal when all
# is well, and a fault of the memo shows in a few stacks of ten thousand. One signal of a dozen that differs is more than 1 % and tells
# little: then the program is run again, and the sum is judged.
set -u
: "${VT_SRC:?set VT_SRC to the project root}"
program=$1
shim=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-stack.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
command -v "$program" >/dev/null 2>&1 || { echo "skipped: no $program (scripts/setup test installs it)"; exit 77; }

preloaded() {
    VT_REPORT=$work/report VT_SIGNALS=1 VT_EVERY=$every LD_PRELOAD=$shim "$@" >"$work/out" 2>"$work/err"
}

run_program() {
case $program in
python3)
    every=23
    cat >"$work/job.py" <<'PY'
import json, re, sqlite3, zlib, threading
data = [{"a": i, "b": [str(j) for j in range(20)]} for i in range(300)]
def job():
    for _ in range(15):
        text = json.dumps(data)
        sorted(json.loads(text), key=lambda q: -q["a"])
        re.sub(r"(\d+)", lambda m: m.group(1) * 2, text[:20000])
        zlib.compress(text.encode())
    db = sqlite3.connect(":memory:")
    db.execute("create table t (a, b)")
    db.executemany("insert into t values (?, ?)", ((i, str(i) * 3) for i in range(20000)))
    print(db.execute("select count(*), max(b) from t where a % 7 = 3").fetchall())
threads = [threading.Thread(target=job) for _ in range(3)]
[t.start() for t in threads]
job()
[t.join() for t in threads]
PY
    # not a wrapper script that may be first on PATH
    preloaded "$(python3 -c 'import sys; print(sys.executable)')" "$work/job.py"
    ;;
clang) # the compiler itself: the command starts it as another process
    every=31
    preloaded clang -O2 -c -D_GNU_SOURCE -I"$VT_SRC/src" -I"$VT_SRC/include" -o "$work/o" "$VT_SRC/src/stack/cfi.c"
    ;;
perl)
    every=17
    # shellcheck disable=SC2016
    preloaded perl -e 'for $i (1..60000) { $h{"k$i"} = [$i, "x" x ($i % 30)] }
        $s = join ",", sort { $h{$a}[0] <=> $h{$b}[0] } keys %h; $s =~ s/(\d+)/<$1>/g; print length $s, "\n"'
    ;;
sqlite3)
    every=5
    preloaded sqlite3 :memory: "create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<60000)
        insert into t select i, hex(i) from n; select count(*), max(b) from t where b like '%3%'; create index x on t(b);
        select b, group_concat(a) from t group by substr(b,1,2) order by 1 limit 3;"
    ;;
redis-server)
    every=41
    (
        n=0
        until [ "$(redis-cli -s "$work/socket" ping 2>/dev/null)" = PONG ] || [ $n -ge 2000 ]; do n=$((n + 1)); sleep 0.05; done
        redis-benchmark -s "$work/socket" -c 8 -P 16 -n 20000 -r 5000 -d 100 -q -t set,incr,lpush,lpop,sadd,hset,zadd
        redis-cli -s "$work/socket" eval 'local t = {} for i = 1, 2000 do t[i] = redis.call("get", "k" .. i) or i end return #t' 0
        redis-cli -s "$work/socket" shutdown nosave
    ) >/dev/null 2>&1 &
    preloaded redis-server --port 0 --unixsocket "$work/socket" --save '' --appendonly no --dir "$work"
    ;;
*) echo "expected python3, clang, perl, sqlite3 or redis-server, seen '$program'"; exit 2 ;;
esac
}

# 0: as it should be; 1: not; 2: at signals not, so far
judge() {
    awk -v program="$program" '{ n += $1; equal += $2; n_signals += $3; equal_signals += $4 }
    END {
        printf "%s: %d of %d equal at malloc, %d of %d at signals\n", program, equal, n, equal_signals, n_signals
        if (n < 1000 || equal < 0.9999 * n) exit 1
        if (equal_signals < 0.99 * n_signals) exit 2
    }' "$work/report"
}

for _ in 1 2 3 4 5; do
    run_program
    status=$?
    cat "$work/err"
    [ $status -eq 0 ] || { echo "$program: expected status 0, seen $status"; exit 1; }
    judge
    verdict=$?
    [ $verdict -eq 2 ] || break
done
[ $verdict -eq 0 ] || { echo "expected 99.99 % of at least 1000 at malloc, and 99 % at signals"; exit 1; }
