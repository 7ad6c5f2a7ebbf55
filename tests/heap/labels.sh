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

for way in sample=1 exact; do
    for kind in '' lifetimes; do
        VITRINE=$way,heap_format=proto,heap_kind=$kind,heap_profile=$TMP/$way$kind "$TMP/labels" || fail "$way: expected status 0, saw $?"
        samples "$TMP/$way$kind.0001.heap" >"$TMP/samples$kind"
        is_there "$TMP/samples$kind" '5 5 request:[upload] thread:[labels] thread_id:[1]'
        is_there "$TMP/samples$kind" '3 3 thread:[labels] thread_id:[1]'
        is_there "$TMP/samples$kind" '7 7 request:[download] thread:[labels] thread_id:[2]'
    done
    # what was freed has its labels still; it was 150 ms old or, on a busy machine, more
    is_there "$TMP/samples" '10 0 request:[upload] thread:[labels] thread_id:[1] user:[anna]'
    grep -qxE '10 0 lifetime:\[(256|512|[1-9][0-9]{3,})milliseconds\] request:\[upload\] thread:\[labels\] thread_id:\[1\] user:\[anna\]' "$TMP/sampleslifetimes" ||
        fail "$way: expected an age of 256 ms or more, saw: $(cat "$TMP/sampleslifetimes")"
done
# the same after a kill, from the black box
for way in sample=1 exact; do
    VITRINE=$way,black_box=$TMP/$way.box "$TMP/labels" kill && fail "$way: expected a kill"
    "$command" read -o "$TMP/$way.read" "$TMP/$way.box" || fail "$way: expected that the box is read"
    samples "$TMP/$way.read.heap" >"$TMP/samples"
    is_there "$TMP/samples" '5 5 request:[upload] thread:[labels] thread_id:[1]'
    is_there "$TMP/samples" '7 7 request:[download] thread:[labels] thread_id:[2]'
    is_there "$TMP/samples" '10 0 request:[upload] thread:[labels] thread_id:[1] user:[anna]'
done
