#!/bin/bash
# Row 24: mlockall, core files of the kernel and of gcore. A huge reservation must not show in any
# of them.
. "$(dirname "$0")/lib.sh"

compile "$TMP/locked" risk_24_mlockall.c -ldl
compile "$TMP/holder" risk_24_core.c
mkdir "$TMP/cores" && cd "$TMP/cores" || exit 1

for when in early late; do
    preload "$TMP/locked" $when
    status=$?
    if [ $status -eq 77 ]; then say "part skipped: mlockall $when"; else died $status "mlockall $when"; fi
done

# checked_core FILE RSS_KIB WHAT: logical size at most twice the memory in use, though a sparse file
# hides more.
checked_core() {
    local kib=$(( $(stat -c %s "$1") / 1024 ))
    say "$3: RSS $2 KiB, core $kib KiB"
    [ "$kib" -ge $(($2 / 2)) ] ||
        fail "$3: expected the heap in the core (at least half of $2 KiB), saw $kib KiB"
    [ "$kib" -le $(($2 * 2 + 20480)) ] ||
        fail "$3: expected a core of at most twice the RSS of $2 KiB, saw $kib KiB"
}
cap_blocks=$((1024 * 1024))                             # 1 GiB: a core that would be huge is cut and then fails

pattern=$(cat /proc/sys/kernel/core_pattern 2>/dev/null)
case $pattern in
    '|'*|/*|*/*|'') say "part skipped: core_pattern '$pattern' does not write into the working directory" ;;
    *)
        check_preload "$TMP/holder"
        # without `timeout`, which switches cores off for its child
        ( ulimit -c $cap_blocks; LD_PRELOAD=$VT_SO "$TMP/holder" abort >"$TMP/rss" ) 2>/dev/null
        file=$(find "$TMP/cores" -type f -size +0 | head -1)
        if [ -z "$file" ]; then
            say "part skipped: the kernel wrote no core (hard limit $(ulimit -H -c))"
        else
            checked_core "$file" "$(cat "$TMP/rss")" "core of an abort"
            rm -f "$file"
        fi ;;
esac

if have gcore; then
    LD_PRELOAD=$VT_SO "$TMP/holder" wait >"$TMP/rss2" &
    pid=$!; own $pid
    await 20 test -s "$TMP/rss2" || fail "expected the program to say its RSS, it did not"
    must_be_loaded_in $pid
    ( ulimit -f $cap_blocks; timeout -k 10 "$LIMIT" gcore -o "$TMP/snapshot" $pid ) >"$TMP/gcore" 2>&1
    if [ -s "$TMP/snapshot.$pid" ]; then
        checked_core "$TMP/snapshot.$pid" "$(cat "$TMP/rss2")" "gcore"
    elif grep -qE 'not permitted|Could not attach' "$TMP/gcore"; then
        say "part skipped: gcore may not attach here"
    else
        tail -5 "$TMP/gcore"; fail "expected a core from gcore, saw none"
    fi
    kill $pid; wait $pid 2>/dev/null
else
    say "part skipped: gcore (gdb) is not installed"
fi
exit 0
