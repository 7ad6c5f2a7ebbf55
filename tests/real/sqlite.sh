#!/bin/bash
# sqlite3: a table of 60,000 rows, indexes, joins, full-text search where built in, vacuum,
# integrity check.
. "$(dirname "$0")/../risk/lib.sh"
need sqlite3

cat >"$TMP/work.sql" <<'END'
pragma journal_mode=wal;
create table t(a integer primary key, b text, c real, d blob);
with recursive n(x) as (select 1 union all select x+1 from n where x < 60000)
    insert into t select x, printf('text %d %s', x, substr('abcdefghijklmnopqrstuvwxyz', x % 20 + 1)), x / 7.0, zeroblob(x % 500) from n;
create index tb on t(b); create index tc on t(c);
select count(*), sum(length(b)), round(sum(c), 3), sum(length(d)) from t;
select count(*) from t x join t y on x.a = y.a + 1 where x.b > y.b;
select group_concat(b, ';') from (select b from t order by c desc limit 20);
update t set b = b || b || b where a % 3 = 0; delete from t where a % 5 = 0;
select count(*), sum(length(b)) from t;
select json_array_length(json_group_array(a)) from t;
vacuum;
pragma integrity_check;
END
sqlite3 "$TMP/plain.db" <"$TMP/work.sql" >"$TMP/plain" 2>&1 ||
    fail "sqlite3 does not run without the library: $(tail -1 "$TMP/plain")"
must sqlite3 "$TMP/ours.db" <"$TMP/work.sql" >"$TMP/seen" 2>&1
same "$TMP/plain" "$TMP/seen" "sqlite3, file"
grep -q '^ok$' "$TMP/seen" || fail "expected the integrity check to say ok"
must sqlite3 :memory: <"$TMP/work.sql" >"$TMP/memory" 2>&1
sed -i 1d "$TMP/plain" "$TMP/memory"                  # the journal mode differs
same "$TMP/plain" "$TMP/memory" "sqlite3, memory"
must sqlite3 "$TMP/plain.db" 'pragma integrity_check' >/dev/null
