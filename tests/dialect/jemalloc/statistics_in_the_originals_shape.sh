#!/bin/bash
# malloc_stats_print, text and JSON, with each letter: all keys and lines that the original has, whatever the figures; one call of
# the callback. stats_print:true at exit.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
need python3
for_original "$TMP/print" print.c
export MALLOC_CONF=narenas:1,tcache:true
for letters in J Ja Jg Jmdablxeh Jmdablxehg '' g a b l x e h gmdablxeh; do
    with_original "$TMP/print" "$letters" >"$TMP/original" || fail "the original, '$letters': status $?"
    with_ours "$TMP/print" "$letters" >"$TMP/ours" || fail "ours, '$letters': status $?"
    python3 "$HERE/shape.py" "$TMP/original" "$TMP/ours" || fail "letters '$letters'"
done
for who in with_original with_ours; do
    $who "$TMP/print" Jblxeh arenas >"$TMP/out" || fail "$who, with arenas: status $?"
    python3 - "$TMP/out" <<'END' || fail "$who: an arena of its own and one that was destroyed"
import json, sys
arenas = json.load(open(sys.argv[1]))["jemalloc"]["stats.arenas"]
mine = arenas[max((k for k in arenas if k.isdigit()), key=int)]
sys.exit(not (100000 <= mine["small"]["allocated"] <= 150000 and mine["small"]["nmalloc"] == 1000 and
              arenas["destroyed"]["small"]["nmalloc"] == 1 and arenas["destroyed"]["small"]["allocated"] == 0 and
              arenas["merged"]["small"]["allocated"] >= mine["small"]["allocated"] + arenas["0"]["small"]["allocated"]))
END
done
compile "$TMP/plain" plain.c
MALLOC_CONF=stats_print:true,stats_print_opts:Jmdablxehg LD_PRELOAD=$VT_JE_SO "$TMP/plain" 2>"$TMP/exit" || fail "stats_print: status $?"
python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["jemalloc"]["stats"]["allocated"])' "$TMP/exit" || fail "stats_print: $(head -c 200 "$TMP/exit")"
