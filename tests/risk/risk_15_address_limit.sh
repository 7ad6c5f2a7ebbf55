#!/bin/bash
# Row 15: ulimit -v at 256 MiB, 1 GiB and 4 GiB. Programs work as with glibc, and malloc uses what
# is there.
. "$(dirname "$0")/lib.sh"

compile "$TMP/workout" workout.c
compile "$TMP/fill" risk_15_fill.c -ldl
seq 1 200000 | sed 's/$/ some text to sort/' >"$TMP/lines"
cat >"$TMP/script.py" <<'END'
d = {str(i): [i] * 10 for i in range(50000)}
print(sum(len(v) for v in d.values()), len("x" * 20000000))
END
cat >"$TMP/script.pl" <<'END'
my %h; $h{$_} = "v" x ($_ % 100) for 1..50000; my $n = 0; $n += length $h{$_} for keys %h; print "$n\n";
END

sql="create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 50000)
    insert into t select x, 'text' || x from c;
select count(*), sum(length(b)) from t;"

# limited MIB CMD...: under the library and the limit
limited() {
    local kib=$(( $1 * 1024 )); shift
    check_preload "$1"
    ( ulimit -v "$kib"; exec timeout -k 10 "$LIMIT" env LD_PRELOAD="$VT_SO" "$@" )
}
for mib in 256 1024 4096; do
    limited $mib "$TMP/workout" threads=4 max=500000
    died $? "workout under ulimit -v of $mib MiB"
    limited $mib "$TMP/workout" threads=1 live=4000 max=4000000 ops=12000
    died $? "workout at the limit of $mib MiB"

    # Small blocks touch every page, so they take the small limit only; half of it must be usable.
    limited $mib "$TMP/fill" 1000000 $((mib / 2))
    died $? "1 MB blocks under $mib MiB"
    if [ $mib -le 1024 ]; then
        for n_bytes in 48 1000 20000; do
            limited $mib "$TMP/fill" $n_bytes $((mib / 2))
            died $? "blocks of $n_bytes under $mib MiB"
        done
    fi

    for command in "sort -R --random-source=/dev/zero $TMP/lines" "/usr/bin/python3 $TMP/script.py" \
                   "perl $TMP/script.pl" "sqlite3 :memory: ."; do
        # shellcheck disable=SC2086
        set -- $command
        have "$1" || continue
        [ "$1" = sqlite3 ] && set -- sqlite3 :memory: "$sql"
        ( ulimit -v $((mib * 1024)); "$@" ) >"$TMP/plain" 2>&1 || {
            say "part skipped: $1 does not run at $mib MiB even with glibc"
            continue
        }
        limited $mib "$@" >"$TMP/seen" 2>&1
        died $? "$1 under ulimit -v of $mib MiB: $(tail -2 "$TMP/seen")"
        same "$TMP/plain" "$TMP/seen" "$1 under $mib MiB"
    done
done
