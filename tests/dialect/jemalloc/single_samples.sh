#!/bin/bash
# prof.stats, prof_recent and the log have the same keys and counts with the original and with ours; the sampling hooks of 5.3.1, which
# Debian's does not have, are called; prof_log by option; stats_interval.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
need python3
for_original "$TMP/samples" samples.c
cd "$TMP" || exit 1
export MALLOC_CONF=prof:true,lg_prof_sample:0,prof_stats:true,prof_recent_alloc_max:1
with_original "$TMP/samples" >original || fail "the original: status $?: $(tail -1 original)"
python3 "$HERE/samples.py" "$TMP/original" || fail "the original's: $(cat original log.json)"
rm log.json
with_ours "$TMP/samples" hooks >ours || fail "ours: status $?: $(tail -1 ours)"
python3 "$HERE/samples.py" "$TMP/ours" || fail "ours: $(cat ours log.json)"

compile "$TMP/plain" plain.c
MALLOC_CONF=prof:true,lg_prof_sample:0,prof_log:true,prof_prefix:logged LD_PRELOAD=$VT_JE_SO "$TMP/plain" || fail "prof_log: status $?"
python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["allocations"])' logged.*.0.json || fail "prof_log: saw $(ls)"
for_original "$TMP/print" print.c # allocates 100 MB
n_printed() { # bytes, with_, command
    local every=$1 with=$2
    shift 2
    MALLOC_CONF=stats_interval:$every,stats_interval_opts:gmdablxeh $with "$@" 2>err >/dev/null || fail "stats_interval:$every $with: status $?"
    grep -c '^--- End jemalloc statistics ---$' err
}
for every in 30000000 20000000 1000000; do
    original=$(n_printed $every with_original "$TMP/print" J)
    n=$(n_printed $every with_ours "$TMP/print" J)
    [ "$n" -le "$original" ] && [ "$n" -ge $((original * 9 / 10)) ] || # our blocks are up to a tenth smaller
        fail "stats_interval:$every: statistics $n times, the original $original: $(cat err)"
done
n=$(n_printed 1 with_ours "$TMP/print" J)
[ "$n" -ge 1000 ] || fail "stats_interval:1: expected statistics for each of 1000 blocks, saw $n"
for sample in 524288 0; do # a million blocks of 112 bytes
    n=$(VITRINE=sample=$sample n_printed 10000000 with_ours env LD_PRELOAD="$VT_JE_SO" "$TMP/plain" 1000000)
    [ "$n" = 11 ] || fail "stats_interval with sample=$sample: expected statistics 11 times, saw $n"
done
