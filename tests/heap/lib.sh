# lib.sh - what the tests of heap profiles share: building the program, reading collapsed stacks. Sourced, never run.
. "$(dirname "$0")/../risk/lib.sh"

sites() { # build it once
    [ -x "$TMP/sites" ] || compile "$TMP/sites" sites.c -g
}

# in_use FILE FUNCTION [PROGRAM]: bytes in use below that function of the program, from a file of collapsed stacks.
in_use() {
    local range program=${3:-sites}
    range=$(nm -S "$TMP/$program" | awk -v f="$2" '$4 == f { print $1, $2 }')
    [ -n "$range" ] || fail "no function '$2' in the program"
    # shellcheck disable=SC2086  # two numbers
    python3 - "$1" $range "$program" <<'END'
import re, sys
start, size = int(sys.argv[2], 16), int(sys.argv[3], 16)
total = 0
for line in open(sys.argv[1]):
    stack, value = line.rsplit(" ", 1)
    for frame in stack.split(";"):
        m = re.fullmatch(re.escape(sys.argv[4]) + r"\+0x([0-9a-f]+)", frame)
        if m and start <= int(m.group(1), 16) < start + size:
            total += int(value)
            break
print(total)
END
}

# near SEEN EXPECTED PERCENT WHAT
near() {
    [ "$1" -ge $(($2 * (100 - $3) / 100)) ] && [ "$1" -le $(($2 * (100 + $3) / 100)) ] ||
        fail "$4: expected $2 within $3 %, saw $1"
}

# is FILE...: each is there and not empty
are_there() { for f in "$@"; do [ -s "$f" ] || fail "expected '$f', not there ($(ls "$TMP"))"; done; }
