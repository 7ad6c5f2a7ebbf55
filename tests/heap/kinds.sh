#!/bin/bash
# Each kind of profile, by call and by option: what is in use, the peak, growth, lifetimes. Every block is sampled.
. "$(dirname "$0")/lib.sh"
compile "$TMP/kinds" kinds.c -I"$VT_INCLUDE" "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"
mkdir "$TMP/by_call"
VITRINE=sample=1 "$TMP/kinds" "$TMP/by_call" >"$TMP/late" || fail "expected status 0"
seen() { in_use "$TMP/$1" "$2" kinds; }
[ "$(seen by_call/sampled stay)" = $((200 * 10000)) ] || fail "in use: expected all of stay, saw $(seen by_call/sampled stay)"
[ "$(seen by_call/sampled rise)" = 0 ] || fail "in use: expected nothing of rise"
near "$(seen by_call/peak rise)" $((2000 * 10000)) 6 "peak: rise"     # it is taken when 5 % more are in use than ever
[ "$(seen by_call/peak stay)" = 0 ] || fail "peak: expected nothing of stay, which came later"
[ "$(seen by_call/lifetimes stay)" = $((200 * 10000)) ] || fail "lifetimes: expected what is in use as ever"
awk '{ n += $NF } END { exit n < 20000000 }' "$TMP/by_call/growth" || fail "growth: expected 20 MB and more"
[ ! -s "$TMP/by_call/mmap" ] || fail "mmap: expected nothing, it was not asked for"

# the same by option, in the files of a prefix
for kind in peak growth lifetimes; do
    mkdir "$TMP/$kind"
    VITRINE=sample=1,heap_profile=$TMP/$kind/p,heap_format=collapsed,heap_kind=$kind "$TMP/kinds" "$TMP/$kind" >/dev/null ||
        fail "heap_kind=$kind: expected status 0"
    are_there "$TMP/$kind/p.0001.heap"
done
near "$(seen peak/p.0001.heap rise)" $((2000 * 10000)) 6 "heap_kind=peak: rise"
[ "$(seen lifetimes/p.0001.heap stay)" = $((200 * 10000)) ] || fail "heap_kind=lifetimes: expected all of stay"
VITRINE=heap_profile=$TMP/odd,heap_kind=odd "$TMP/kinds" "$TMP/peak" 2>"$TMP/errors" >/dev/null
grep -q "unknown kind 'odd' in option heap_kind: it takes growth, peak, mmap or lifetimes" "$TMP/errors" ||
    fail "expected a warning, saw: $(cat "$TMP/errors")"
[ "$(grep -c 'unknown kind' "$TMP/errors")" = 1 ] || fail "expected one warning, saw: $(cat "$TMP/errors")"

have go || { say "part skipped: no go tool pprof"; exit 0; }
top() { # FILE FILTER...: bytes allocated, by function
    local file=$1
    shift
    go tool pprof -sample_index=alloc_space -unit=B -top "$@" "$TMP/kinds" "$TMP/by_call/$file" 2>"$TMP/errors" ||
        fail "go tool pprof: $(cat "$TMP/errors")"
}
bytes_of() { awk -v f="$1" '$NF == f { sub("B", "", $1); print $1 }'; }
for f in rise linger flash stay; do
    [ "$(top lifetimes.pb | bytes_of $f)" = "$(top sampled.pb | bytes_of $f)" ] || fail "$f: ages must add up to all"
done
# what lived below 64 ms is not linger's, what lived from 64 ms to an hour is all of it
short=$(top lifetimes.pb -tagfocus=lifetime=:64ms | bytes_of flash)
[ "$short" -le $((800 * 10000)) ] && [ "$short" -ge $(((800 - $(cat "$TMP/late")) * 10000)) ] ||
    fail "flash: expected short lives but $(cat "$TMP/late"), saw $short bytes"
[ -z "$(top lifetimes.pb -tagfocus=lifetime=:64ms | bytes_of linger)" ] || fail "linger: expected no short lives"
[ "$(top lifetimes.pb -tagfocus=lifetime=65ms:1hr | bytes_of linger)" = $((400 * 10000)) ] || fail "linger: expected long lives"
