#!/bin/bash
# Heap profiles by environment: at exit, by bytes allocated, by growth; sampled and exact. 30 MB of one place are in use
# at the end, 24 MB of another: a sampled profile at 4 KiB is within a few per cent (standard errors of 0.5 and 1.3), an exact
# one within none.
. "$(dirname "$0")/lib.sh"
sites
export VITRINE_HEAP_FORMAT=collapsed

VITRINE=sample=4K,heap_profile=$TMP/a must "$TMP/sites" grow small exit
are_there "$TMP/a.0001.heap"
[ ! -e "$TMP/a.0002.heap" ] || fail "expected one profile at exit, saw more"
near "$(in_use "$TMP/a.0001.heap" keep_this)" $((3000 * 10000)) 10 "sampled, keep_this"
near "$(in_use "$TMP/a.0001.heap" keep_small)" $((500000 * 48)) 10 "sampled, keep_small"
[ "$(in_use "$TMP/a.0001.heap" drop_this)" = 0 ] || fail "sampled: expected nothing of drop_this in use"

VITRINE=exact,heap_profile=$TMP/b must "$TMP/sites" grow small exit
[ "$(in_use "$TMP/b.0001.heap" keep_this)" = $((3000 * 10000)) ] ||
    fail "exact: expected $((3000 * 10000)) bytes of keep_this, saw $(in_use "$TMP/b.0001.heap" keep_this)"
[ "$(in_use "$TMP/b.0001.heap" keep_small)" = $((500000 * 48)) ] ||
    fail "exact: expected $((500000 * 48)) bytes of keep_small, saw $(in_use "$TMP/b.0001.heap" keep_small)"
[ "$(in_use "$TMP/b.0001.heap" drop_this)" = 0 ] || fail "exact: expected nothing of drop_this in use"

# 61.4 MB are allocated in all, 30.7 of them stay: a dump per 10 MiB allocated, or per 10 MiB more in use. At 16 KiB the
# standard errors are 0.9 and 0.6 MB, far from 52.5 and 73.4, and from 21.
n_of() { find "$TMP" -name "$1.*.heap" | wc -l; }
VITRINE=sample=16K,heap_profile=$TMP/c,heap_interval=10M,heap_exit=off must "$TMP/sites" grow exit
n=$(n_of c)
[ "$n" -ge 5 ] && [ "$n" -le 6 ] || fail "heap_interval: expected 5 or 6 profiles, saw $n"
VITRINE=sample=16K,heap_profile=$TMP/d,heap_growth=10M,heap_exit=off must "$TMP/sites" grow exit
n=$(n_of d)
[ "$n" -ge 2 ] && [ "$n" -le 3 ] || fail "heap_growth: expected 2 or 3 profiles, saw $n"

# at 1 MiB, and whenever half as much more is in use: the ninth at 27 to 29 MB, a tenth would be at 40
VITRINE=sample=16K,heap_profile=$TMP/p,heap_peak=50,heap_exit=off must "$TMP/sites" grow exit
n=$(n_of p)
[ "$n" -ge 8 ] && [ "$n" -le 9 ] || fail "heap_peak: expected 8 or 9 profiles, saw $n"

# no profile was asked for, or none can be: no file, and the program is none the worse
VITRINE=sample=16K must "$TMP/sites" grow exit
VITRINE=heap_profile=$TMP/e must "$TMP/sites" grow _exit
[ ! -e "$TMP/e.0001.heap" ] || fail "expected no profile after _exit"
VITRINE=sample=0,heap_profile=$TMP/f must "$TMP/sites" grow exit
[ "$(in_use "$TMP/f.0001.heap" keep_this)" = 0 ] || fail "sample=0: expected nothing"

# the peak has a file of its own, but not in exact mode; with %p each process has its own name
VITRINE=sample=16K,heap_exit_peak,heap_profile=$TMP/g.%p.x must "$TMP/sites" grow exit
peak=$(ls "$TMP"/g.*.x.peak.heap)
are_there "$peak" "${peak%.peak.heap}.0001.heap"
near "$(in_use "$peak" keep_this)" $((3000 * 10000)) 15 "at the peak, keep_this"
VITRINE=exact,heap_exit_peak,heap_profile=$TMP/h must "$TMP/sites" grow exit
are_there "$TMP/h.0001.heap" "$TMP/h.peak.heap"
[ "$(in_use "$TMP/h.peak.heap" keep_this)" = $((3000 * 10000)) ] ||
    fail "exact, at the peak: expected $((3000 * 10000)) bytes of keep_this, saw $(in_use "$TMP/h.peak.heap" keep_this)"
