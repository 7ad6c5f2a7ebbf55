# lib.sh - what the tests in this folder share. Sourced, never run.
#
# Each test is one thing that users do according to their notes, on our own names; those they knew come with the dialects. A
# profile is read as collapsed stacks, `in_use FILE FUNCTION leaky` gives the bytes below a function.
. "$(dirname "$0")/../heap/lib.sh"
export VITRINE_HEAP_FORMAT=collapsed
compile "$TMP/leaky" "$HERE/leaky.c" -ldl
SMALL=$((3160 * 1024)) LARGE=$((780 * 4096))    # what is asked for; blocks are up to an eighth larger

# leaked FILE FUNCTION BYTES
leaked() {
    local seen
    seen=$(in_use "$1" "$2" leaky)
    [ "$seen" -ge "$3" ] && [ "$seen" -le $(($3 + $3 / 8)) ] || fail "$(basename "$1"): expected $3 bytes and up to 1/8 more of $2, saw $seen"
}
not_there() { [ ! -e "$1" ] || fail "expected no '$1'"; }
