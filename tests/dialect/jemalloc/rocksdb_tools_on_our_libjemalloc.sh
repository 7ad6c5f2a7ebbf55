#!/bin/bash
# RocksDB's tools with ours preloaded: db_bench writes, reads and compacts with several threads, ldb and sst_dump find what it wrote; a heap
# profile names its functions; the statistics at exit count its memory.
. "$(dirname "$0")/lib.sh"
need db_bench ldb sst_dump
cd "$TMP" || exit 1
tool() { timeout -k 10 "$LIMIT" env LD_PRELOAD="$VT_JE_SO" "$@"; }
MALLOC_CONF=prof:true,prof_final:true,prof_prefix:bench,lg_prof_sample:14,prof_accum:true,stats_print:true,stats_print_opts:J \
    tool db_bench --db="$TMP/db" --benchmarks=fillseq,overwrite,readrandom,compact --num=20000 --threads=3 --value_size=200 \
    --write_buffer_size=2000000 --cache_size=4000000 >out 2>err || fail "db_bench: status $?: $(tail -3 out err)"
for line in fillseq overwrite readrandom; do
    grep -qE "^$line +: .* micros/op" out || fail "db_bench, $line: saw $(cat out)"
done
grep -q '20000 of 20000 found' out || fail "expected every key to be found: $(grep found out)"
python3 - err <<'END' || fail "statistics at exit: $(head -c 300 err)"
import json, sys
text = open(sys.argv[1]).read()
at = text.index('{"jemalloc"')
stats = json.JSONDecoder().raw_decode(text, at)[0]["jemalloc"]["stats"]
sys.exit(not (stats["allocated"] <= stats["active"] <= stats["mapped"]))
END
head -1 bench.*.f.heap | grep -qx heap_v2/16384 || fail "expected a profile, saw $(ls)"
if command -v jeprof >/dev/null; then
    jeprof --text --alloc_space "$(command -v db_bench)" bench.*.f.heap >table 2>/dev/null
    grep -q 'rocksdb::' table || fail "no function of rocksdb in the profile: $(head -5 table)"
fi
n=$(tool ldb --db="$TMP/db" scan --no_value 2>/dev/null | wc -l)
[ "$n" -eq 20000 ] || fail "ldb scan: expected 20000 keys, saw $n"
[ "$(tool ldb --db="$TMP/db" put key value)" = OK ] && [ "$(tool ldb --db="$TMP/db" get key)" = value ] || fail "ldb put and get"
tool ldb --db="$TMP/db" checkconsistency | grep -qx OK || fail "ldb checkconsistency"
tool sst_dump --file="$TMP/db" --command=check >out 2>&1 || fail "sst_dump: status $?: $(tail -3 out)"
