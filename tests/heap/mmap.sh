#!/bin/bash
# The program's own mappings: what mmap.c says is left of each place is what the profile has, whatever was split, replaced,
# moved or interrupted; alone or beside the heap, in every format; in real programs; and not at all unless asked for.
. "$(dirname "$0")/lib.sh"
compile "$TMP/mmap" mmap.c
export VITRINE_HEAP_PROFILE

VITRINE_HEAP_FORMAT=collapsed
export VITRINE_HEAP_FORMAT
for seed in 1 2 3; do
    VITRINE_HEAP_PROFILE=$TMP/only$seed
    VITRINE=heap_kind=mmap must "$TMP/mmap" $seed >"$TMP/expected"
    while read -r place bytes; do
        seen=$(in_use "$TMP/only$seed.0001.heap" "$place" mmap)
        [ "$seen" = "$bytes" ] || fail "seed $seed: expected $bytes bytes of $place, saw $seen"
    done <"$TMP/expected"
done

# beside the heap: the same mappings, and blocks too
VITRINE_HEAP_PROFILE=$TMP/both
VITRINE=heap_mmap,exact must "$TMP/mmap" 3 >"$TMP/expected"
while read -r place bytes; do
    [ "$(in_use "$TMP/both.0001.heap" "$place" mmap)" = "$bytes" ] || fail "beside the heap: expected $bytes bytes of $place"
done <"$TMP/expected"
compile "$TMP/sites" sites.c -g
VITRINE_HEAP_PROFILE=$TMP/blocks
VITRINE=heap_mmap,exact must "$TMP/sites" grow exit
[ "$(in_use "$TMP/blocks.0001.heap" keep_this)" = $((3000 * 10000)) ] || fail "beside mappings: expected all blocks"

# as text for readers that scale samples: estimates, said to be none
VITRINE_HEAP_FORMAT=gperftools VITRINE_HEAP_PROFILE=$TMP/text
VITRINE=heap_mmap must "$TMP/mmap" 1 >/dev/null
head -1 "$TMP/text.0001.heap" | grep -q '@ heapprofile$' ||
    fail "expected 'heapprofile' in the first line, saw: $(head -1 "$TMP/text.0001.heap")"
VITRINE_HEAP_PROFILE=$TMP/sampled
must "$TMP/mmap" 1 >/dev/null
head -1 "$TMP/sampled.0001.heap" | grep -q '@ heap_v2/524288$' || fail "without mappings: expected 'heap_v2/524288'"

# profile.proto has what the mapping was for, as a label
VITRINE_HEAP_FORMAT=proto VITRINE_HEAP_PROFILE=$TMP/proto
VITRINE=heap_mmap must "$TMP/mmap" 1 >/dev/null
for word in mapped anonymous file break; do
    grep -qa "$word" "$TMP/proto.0001.heap" || fail "profile.proto: expected the word '$word'"
done
if have go; then
    go tool pprof -tags "$TMP/mmap" "$TMP/proto.0001.heap" >"$TMP/tags" 2>/dev/null || fail "go tool pprof cannot read it"
    grep -q mapped "$TMP/tags" || fail "go tool pprof: expected the tag 'mapped', saw: $(cat "$TMP/tags")"
else
    say "part skipped: no go tool pprof"
fi

# not asked for: nothing of it
VITRINE_HEAP_FORMAT=collapsed VITRINE_HEAP_PROFILE=$TMP/off
VITRINE=exact must "$TMP/mmap" 1 >/dev/null
[ "$(in_use "$TMP/off.0001.heap" map_one mmap)" = 0 ] || fail "expected no mappings unless asked for"

# real programs: those that compile code while they run have mappings of their own, and are none the worse
real() { # NAME COMMAND...
    local name=$1
    shift
    have "$1" || { say "part skipped: no $1"; return 0; }
    VITRINE_HEAP_PROFILE=$TMP/$name VITRINE_HEAP_FORMAT=gperftools VITRINE=heap_kind=mmap must "$@" >"$TMP/out"
    grep -q '^42$' "$TMP/out" || fail "$name: expected 42, saw: $(head -3 "$TMP/out")"
    # all that it ever mapped: some unmap everything before they end
    n=$(sed -n '1s/.*\[ *[0-9]*: *\([0-9]*\)\].*/\1/p' "$TMP/$name.0001.heap")
    [ "${n:-0}" -ge 262144 ] || fail "$name: expected at least 256 KiB of mappings, saw ${n:-none}"
}
real python3 python3 -c 'import mmap; m = mmap.mmap(-1, 1 << 20); m[0] = 42; print(m[0])'
real node node -e 'console.log(6 * 7)'
if have javac; then
    printf 'public class Work { public static void main(String[] a) { System.out.println(6 * 7); } }\n' >"$TMP/Work.java"
    (cd "$TMP" && javac Work.java) && real java java -cp "$TMP" Work
fi
exit 0
