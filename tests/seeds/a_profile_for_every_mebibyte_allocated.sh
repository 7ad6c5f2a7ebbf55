#!/bin/bash
# 6.4 MB are allocated: six profiles, each with more than the one before, and the difference of two is what came between.
. "$(dirname "$0")/lib.sh"
VITRINE=exact,heap_profile=$TMP/app,heap_interval=1M,heap_exit=off must "$TMP/leaky" grow more
n=$(ls "$TMP"/app.*.heap | wc -l)
[ "$n" -ge 5 ] && [ "$n" -le 6 ] || fail "expected 5 or 6 profiles, saw $n"
before=0
for i in $(seq 1 "$n"); do
    file=$TMP/app.000$i.heap
    total=$(($(in_use "$file" small_ones leaky) + $(in_use "$file" large_ones leaky)))
    step=$((total - before))
    [ "$step" -ge 900000 ] && [ "$step" -le 1500000 ] || fail "profile $i: expected about 1 MiB more than before, saw $step"
    before=$total
done
[ "$(in_use "$TMP/app.0001.heap" large_ones leaky)" = 0 ] || fail "the first: expected nothing of large_ones yet"
