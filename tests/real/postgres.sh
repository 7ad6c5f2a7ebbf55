#!/bin/bash
# postgres: initdb, pgbench with several clients, and the books balance; as a user without rights,
# on a unix socket.
. "$(dirname "$0")/../risk/lib.sh"
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || bin=$(dirname "$(command -v postgres 2>/dev/null)" 2>/dev/null)
[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] || skip "postgres is not installed"
PATH=$bin:$PATH
need pgbench psql
run=(env HOME="$TMP/db")                               # an array, so that $! below is the server itself
if [ "$(id -u)" -eq 0 ]; then
    can_be_nobody || skip "postgres refuses to run as root, and nobody cannot be become here"
    run=(setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" --clear-groups "${run[@]}")
fi
public_copy
mkdir "$TMP/db" && cd "$TMP/db" || exit 1
[ "$(id -u)" -ne 0 ] || chown nobody "$TMP/db"
check_preload postgres
check_preload initdb

timeout -k 10 "$LIMIT" "${run[@]}" LD_PRELOAD="$VT_SO" initdb -D "$TMP/db/data" -A trust -U t \
    --no-sync --no-locale -E UTF8 >"$TMP/initdb" 2>&1 || { tail -5 "$TMP/initdb"; fail "initdb fails under the library"; }
"${run[@]}" LD_PRELOAD="$VT_SO" postgres -D "$TMP/db/data" -k "$TMP/db" -h '' -F \
    -c log_statement=none -c max_parallel_workers_per_gather=2 \
    -c min_parallel_table_scan_size=0 -c jit=on -c jit_above_cost=10000 >"$TMP/log" 2>&1 &
server=$!; own $server
ask() { "${run[@]}" psql -h "$TMP/db" -U t -d postgres -qAt -c "$1"; }
await 60 ask 'select 1' || { tail -5 "$TMP/log"; fail "postgres does not answer"; }

"${run[@]}" pgbench -h "$TMP/db" -U t -i -s 2 -q postgres >"$TMP/init" 2>&1 || {
    tail -3 "$TMP/init"
    fail "pgbench -i fails"
}
must_be_loaded_in $server
must_be_loaded_in_children $server 3                   # of its own; a backend whose client has gone ends when it likes
"${run[@]}" pgbench -h "$TMP/db" -U t -c 6 -j 2 -t "$(soak 300 20000)" -n postgres >"$TMP/bench" 2>&1 || {
    tail -3 "$TMP/bench"
    fail "pgbench fails"
}
grep -q 'number of failed transactions: 0' "$TMP/bench" ||
    fail "expected no failed transaction, saw $(grep failed "$TMP/bench")"
seen=$(ask "select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from pgbench_branches)
    and (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches)
    and (select count(*) from pgbench_history) = 6 * $(soak 300 20000)")
[ "$seen" = t ] ||
    fail "expected the balances of accounts, tellers and branches to agree, saw '$seen'"
# sorts, hashes and aggregates in memory, in parallel workers
seen=$(ask "set work_mem='64MB'; select count(*), sum(length(s)) from (select string_agg(md5(g::text), ',' order by g) s
    from generate_series(1, 200000) g group by g % 1000) x")
[ "$seen" = '1000|6599000' ] || fail "expected '1000|6599000' from the aggregate, saw '$seen'"
ask 'vacuum analyze' || fail "vacuum fails"

kill -INT $server                                      # fast shutdown
wait $server
status=$?
[ $status -eq 0 ] || {
    tail -5 "$TMP/log"
    fail "expected postgres to end with status 0, saw $status"
}
! grep -E 'terminated by signal|PANIC|vitrine: error' "$TMP/log" ||
    fail "postgres reports trouble, see above"
