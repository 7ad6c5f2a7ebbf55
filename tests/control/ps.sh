#!/bin/bash
# vitrine ps: the programs that have the library, preloaded, linked or static, and no others; as text and as JSON.
. "$(dirname "$0")/lib.sh"
need python3
subject
compile "$TMP/static_one" subject.c -static "$VT_A"
compile "$TMP/linked_one" subject.c "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"
"$TMP/subject" read <"$(mkfifo "$TMP/in.none"; echo "$TMP/in.none")" >/dev/null &
without=$!
own "$without"
exec 7>"$TMP/in.none"

list() { "$VITRINE_BIN" ps "$@" || fail "vitrine ps $*: expected status 0, saw $?"; }
check() { # check WHAT PROGRAM
    list >"$TMP/text"
    grep -Eq "^ *$pid +[0-9.]+MB +[0-9.]+MB +512kB +off $2\$" "$TMP/text" || fail "$1: expected a line for $pid, saw: $(cat "$TMP/text")"
    ! grep -Eq "^ *$without " "$TMP/text" || fail "expected no program without the library, saw: $(cat "$TMP/text")"
    list --json | python3 -c '
import json, sys
pid, program = int(sys.argv[1]), sys.argv[2]
rows = [p for p in json.load(sys.stdin)["processes"] if p["pid"] == pid]
assert len(rows) == 1, rows
row = rows[0]
assert row["program"] == program and row["rate"] == 524288 and row["exact"] is False, row
assert 4096 * 1024 <= row["heap"] <= 16 << 20 and row["heap"] / 2 <= row["resident"], row
' "$pid" "$2" || fail "$1: expected its JSON"
}
run read
check preloaded subject
end
run read "$TMP/linked_one"
check linked linked_one
end
run read "$TMP/static_one"
check static static_one
end

# replaced on disk while it runs, as by an upgrade; started with a name that is no text
cp "$TMP/linked_one" "$TMP/gone_one"
run read "$TMP/static_one"
rm "$TMP/static_one"
check "a program whose file is gone" static_one
end
"$VITRINE_BIN" ps x 2>"$TMP/errors"
[ $? = 2 ] || fail "expected status 2 for an argument"
exec 7>&-
