#!/bin/bash
# What profile.proto has beside the numbers: labels as they were when a block was taken, the thread that took it, its age; as
# `vitrine raw` shows them.
. "$(dirname "$0")/lib.sh"
command=${VT_BUILD:?}/bin/vitrine
[ -x "$command" ] || skip "the command is not built"
compile "$TMP/labels" labels.c -I"$VT_INCLUDE" "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"

# samples FILE: of each the blocks allocated, those in use, and what is known of them, sorted
samples() {
    "$command" raw "$1" | python3 -c '
import re, sys
found = []
for line in sys.stdin:
    if line.startswith("Locations"):
        break
    numbers = re.match(r" +(\d+) +\d+ +(\d+)(?: +\d+)+: ", line)
    if numbers:
        found.append([numbers[1] + " " + numbers[2]])
    elif found:
        found[-1].append(line.strip())
for sample in found:
    print(" ".join(sample[:1] + sorted(sample[1:])))'
}

is_there() { # is_there FILE SAMPLE
    grep -qxF "$2" "$1" || fail "expected a sample '$2', saw: $(cat "$1")"
}

for kind in '' lifetimes; do
    VITRINE=sample=1,heap_format=proto,heap_kind=$kind,heap_profile=$TMP/p$kind "$TMP/labels" || fail "expected status 0, saw $?"
    samples "$TMP/p$kind.0001.heap" >"$TMP/samples$kind"
    is_there "$TMP/samples$kind" '5 5 request:[upload] thread:[labels] thread_id:[1]'
    is_there "$TMP/samples$kind" '3 3 thread:[labels] thread_id:[1]'
    is_there "$TMP/samples$kind" '7 7 request:[download] thread:[labels] thread_id:[2]'
done
# what was freed has its labels still; it was 150 ms old or, on a busy machine, more
is_there "$TMP/samples" '10 0 request:[upload] thread:[labels] thread_id:[1] user:[anna]'
grep -qxE '10 0 lifetime:\[(256|512|[1-9][0-9]{3,})milliseconds\] request:\[upload\] thread:\[labels\] thread_id:\[1\] user:\[anna\]' "$TMP/sampleslifetimes" ||
    fail "expected an age of 256 ms or more, saw: $(cat "$TMP/sampleslifetimes")"
