#!/bin/bash
# Whenever 1 MiB more than ever is in use; what is freed in between does not count.
. "$(dirname "$0")/lib.sh"
VITRINE=exact,heap_profile=$TMP/app,heap_growth=1M,heap_exit=off must "$TMP/leaky" grow more
n=$(ls "$TMP"/app.*.heap | wc -l)
[ "$n" -ge 5 ] && [ "$n" -le 6 ] || fail "expected 5 or 6 profiles, saw $n"
# sites.c keeps 30 MB and frees as much on the way: 60 MB allocated, but 30 marks of 1 MiB at most
sites() { compile "$TMP/sites" "$HERE/../heap/sites.c"; }
sites
VITRINE=exact,heap_profile=$TMP/mark,heap_growth=5M,heap_exit=off must "$TMP/sites" grow exit
n=$(ls "$TMP"/mark.*.heap | wc -l)
[ "$n" -ge 4 ] && [ "$n" -le 6 ] || fail "expected 5 marks of 5 MiB in 30 MB, saw $n"
