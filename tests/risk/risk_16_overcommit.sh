#!/bin/bash
# Row 16: strict overcommit (mode 2) and a cgroup's memory.max. The mode belongs to the machine and
# is never changed here: the audit library refuses the big reservation instead, which is what mode 2
# does to it.
. "$(dirname "$0")/lib.sh"

compile "$TMP/workout" workout.c
compile "$TMP/charged" risk_16_charged.c -ldl
parts=0

audit=${VT_AUDIT_SO:-}
if [ -n "$audit" ] && [ -e "$audit" ]; then
    VT_SO=$audit
    # The large reservation is refused, the small ones that follow are not: the constrained mode.
    export VITRINE_WINDOW=64G VITRINE_FAIL_NTH=1:reserve
    must "$TMP/workout" strict=1
    must "$TMP/workout" threads=8 ops=20000 max=3000000 strict=1
    must /bin/sh -c 'seq 1 20000 | sort -n | tail -1 >/dev/null'
    VITRINE_FAIL_ALWAYS=noreplace must "$TMP/workout" strict=1
    # What was not reserved must not be counted either: the address space stays near what is used.
    vsize=$(preload /bin/sh -c 'while read k v _; do [ "$k" != VmSize: ] || echo $v; done </proc/self/status')
    [ "${vsize:-0}" -gt 0 ] && [ "$vsize" -lt 2097152 ] ||
        fail "without the reservation: expected a VmSize below 2 GiB, saw ${vsize:-none} KiB"
    unset VITRINE_WINDOW VITRINE_FAIL_NTH
    # Nothing can be reserved at all: the constrained mode has its tables without.
    VITRINE_FAIL_ALWAYS=reserve must "$TMP/workout" strict=1
    # What is reserved cannot be used: to refuse is fair, to crash is not.
    VITRINE_FAIL_ALWAYS=commit must "$TMP/workout" >"$TMP/out"
    grep -q '^workout: 0 given, [1-9][0-9]* refused$' "$TMP/out" ||
        fail "without any commit: expected refusals alone, saw '$(cat "$TMP/out")'"
    parts=1
else
    say "part skipped: no audit library (VT_AUDIT_SO) to refuse the reservation"
fi

# A cgroup of our own, below the one we are in, of version 2 or 1; without the right to make one there is nothing to test.
# The library must see the limit: with its soft limit at 90 % of it, what is free goes back before the kernel kills.
in_group() { # FOLDER LIMIT_FILE NO_SWAP_FILE NO_SWAP
    group=$1/vitrine-test-$$
    [ -n "$1" ] && mkdir "$group" 2>/dev/null || return 1
    if ! { echo 134217728 >"$group/$2"; } 2>/dev/null; then
        rmdir "$group"
        return 1
    fi
    { echo "$4" >"$group/$3"; } 2>/dev/null
    ( echo $BASHPID >"$group/cgroup.procs" && exec timeout -k 10 "$LIMIT" env VITRINE_RETAIN=1T LD_PRELOAD="$VT_SO" "$TMP/charged" 128 )
    status=$?
    rmdir "$group"
    died $status "workload of 96 MiB in a cgroup of 128 MiB"
}
place_of() { # FILE SYSTEM TYPE OPTION, LINE OF /proc/self/cgroup
    mount=$(awk -v type="$1" -v option="$2" '$3 == type && ("," $4 ",") ~ option { print $2; exit }' /proc/mounts)
    [ -z "$mount" ] || echo "$mount$(sed -n "s/^$3//p" /proc/self/cgroup)"
}
check_preload "$TMP/charged"
if in_group "$(place_of cgroup2 . 0::)" memory.max memory.swap.max 0 ||
    in_group "$(place_of cgroup ,memory, '[0-9]*:memory:')" memory.limit_in_bytes memory.memsw.limit_in_bytes 134217728; then
    parts=$((parts + 2))
fi
case $parts in
    0) skip "no audit library and no writable cgroup with the memory controller" ;;
    1) say "part skipped: no writable cgroup with the memory controller" ;;
esac
