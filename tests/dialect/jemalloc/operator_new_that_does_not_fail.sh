#!/bin/bash
# experimental_infallible_new: operator new ends the process in the original's words, whatever its form, unless a hook of the program's returns.
. "$(dirname "$0")/lib.sh"
ulimit -c 0
for_ours "$TMP/new" new.cpp
run() { timeout -k 10 "$LIMIT" "$TMP/new" "$1" 2>"$TMP/said"; }
run throw || fail "without the option: status $?"
export MALLOC_CONF=experimental_infallible_new:true
words="<jemalloc>: Allocation of size 9223372036854775807 failed. This may be caused by heap corruption, if the large size is unexpected (suggest building with sanitizers for debugging). opt.experimental_infallible_new is true. Aborting."
for form in one array nothrow aligned; do
    run $form
    [ $? -eq 134 ] || fail "$form: expected SIGABRT"
    [ "$(cat "$TMP/said")" = "$words" ] || fail "$form: said '$(cat "$TMP/said")'"
done
run hook || fail "a hook of the program's: status $?"
[ "$(cat "$TMP/said")" = "$words" ] || fail "the hook was told '$(cat "$TMP/said")'"
