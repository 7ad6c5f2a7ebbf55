#!/bin/bash
# Every allocation sampled (jemalloc's lg_prof_sample:0): what is left at exit, by function, as our command and as pprof see it.
. "$(dirname "$0")/lib.sh"
for mode in sample=1 exact; do
    VITRINE=$mode,heap_profile=$TMP/$mode must "$TMP/leaky" grow churn more
    leaked "$TMP/$mode.0001.heap" small_ones $SMALL
    leaked "$TMP/$mode.0001.heap" large_ones $LARGE
    [ "$(in_use "$TMP/$mode.0001.heap" freed_ones leaky)" = 0 ] || fail "$mode: expected nothing of what was freed"
done
export VITRINE_HEAP_FORMAT=proto
VITRINE=sample=1,heap_profile=$TMP/pb must "$TMP/leaky" grow more
command=${VT_BUILD:?}/bin/vitrine
if [ -x "$command" ]; then
    "$command" top "$TMP/pb.0001.heap" >"$TMP/top" || fail "vitrine top: $(cat "$TMP/top")"
    head -8 "$TMP/top" | grep -q small_ones && head -8 "$TMP/top" | grep -q large_ones ||
        fail "expected both functions at the top, saw: $(cat "$TMP/top")"
else
    say "part skipped: the command is not built"
fi
have go || { say "part skipped: no go tool pprof"; exit 0; }
go tool pprof -top "$TMP/leaky" "$TMP/pb.0001.heap" 2>/dev/null | grep -q 'small_ones' || fail "go tool pprof: expected small_ones"
