#!/bin/bash
# junk and zero: what blocks hold, as with the original. xmalloc, which Debian's does not have: the words, and the end of the process.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/fill" fill.c
cd "$TMP" || exit 1
# same CONF PATTERN: both print the same where it matches; what nobody filled may be anything
same() {
    MALLOC_CONF=$1,tcache:false with_original ./fill | grep -oE "$2" >original || fail "the original, $1"
    MALLOC_CONF=$1 with_ours ./fill | grep -oE "$2" >ours || fail "ours, $1"
    diff original ours || fail "MALLOC_CONF=$1: <: the original, >: ours"
}
same junk:true '.*'
same junk:alloc '.*realloc .. ..'
same zero:true '.*realloc .. ..'
same junk:free 'freed .*'
same junk:free,zero:true '.*'
grep -q 'freed 5a' <(MALLOC_CONF=junk:true with_ours ./fill) || fail "junk:true: nothing was filled"
for by in malloc calloc realloc mallocx rallocx aligned; do
    MALLOC_CONF=xmalloc:true with_ours ./fill $by >out 2>err
    status=$?
    [ $status -eq 134 ] || fail "xmalloc, $by: expected SIGABRT, saw $status: $(cat out err)"
    words="in $by()"; [ $by != aligned ] || words="allocating aligned memory"
    grep -qxF "<jemalloc>: Error $words: out of memory" err || fail "xmalloc, $by: saw $(cat err)"
    [ "$(with_ours ./fill $by)" = "$by: 1" ] || fail "without xmalloc, $by: saw $(with_ours ./fill $by)"
done
