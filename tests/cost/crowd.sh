#!/bin/sh
# crowd.sh - 64 threads on whatever cores there are: how often does one have to sleep for another?
#
#   crowd.sh CROWD LIBRARY [SHAPE...]
#
# The futex calls of crowd.c are counted by strace, and those of a run without pairs, which are the program's own, taken off.
# At most 1 in 10,000 pairs. No time is measured; how threads are scheduled is chance, but a lock that is free for all but a moment
# of ten thousand is met so seldom that the limit is far. Exit 0 fine, 1 above the limit, 2 usage, 77 no strace.
set -u
[ $# -ge 2 ] || { echo 'usage: crowd.sh CROWD LIBRARY [SHAPE...]' >&2; exit 2; }
crowd=$1 library=$2
shift 2
[ $# -gt 0 ] || set -- small middle mixed handed
threads=64 pairs=2000000
strace -qq -e trace=none true 2>/dev/null || { echo 'skipped: no strace, or it may not trace'; exit 77; }
file=$(mktemp) || exit 3
trap 'rm -f "$file"' EXIT

# calls SHAPE PAIRS: futex calls that waited
calls() {
    LD_PRELOAD= strace -f -qq -o "$file" -e trace=futex -E LD_PRELOAD="$library" "$crowd" "$1" $threads "$2" || exit 3
    grep -c 'FUTEX_WAIT' "$file"
}

status=0
for shape; do
    own=$(calls "$shape" 0)
    all=$(calls "$shape" $pairs)
    most=$((threads * pairs / 10000))
    echo "$shape: $((all - own)) waits in $((threads * pairs)) pairs, at most $most"
    [ $((all - own)) -le $most ] || status=1
done
exit $status
