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
    export VITRINE_FAIL_NTH=1:reserve
    must "$TMP/workout" strict=1
    must "$TMP/workout" threads=8 ops=20000 max=3000000 strict=1
    must /bin/sh -c 'seq 1 20000 | sort -n | tail -1 >/dev/null'
    VITRINE_FAIL_ALWAYS=noreplace must "$TMP/workout" strict=1
    # What was not reserved must not be counted either: the address space stays near what is used.
    vsize=$(preload /bin/sh -c 'while read k v _; do [ "$k" != VmSize: ] || echo $v; done </proc/self/status')
    [ "${vsize:-0}" -gt 0 ] && [ "$vsize" -lt 2097152 ] ||
        fail "without the reservation: expected a VmSize below 2 GiB, saw ${vsize:-none} KiB"
    unset VITRINE_FAIL_NTH
    # Nothing can be reserved at all: to refuse is fair, to crash is not.
    VITRINE_FAIL_ALWAYS=reserve must "$TMP/workout"
    VITRINE_FAIL_ALWAYS=commit must "$TMP/workout"
    parts=1
else
    say "part skipped: no audit library (VT_AUDIT_SO) to refuse the reservation"
fi

# A cgroup of our own, below the one we are in; without the right to make one there is nothing to
# test.
own_path=$(sed -n 's/^0:://p' /proc/self/cgroup)
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$root$own_path/vitrine-test-$$
if [ -n "$root" ] && mkdir "$group" 2>/dev/null; then
    if { echo 128M >"$group/memory.max"; } 2>/dev/null; then
        { echo 0 >"$group/memory.swap.max"; } 2>/dev/null
        check_preload "$TMP/charged"
        ( echo $BASHPID >"$group/cgroup.procs" && exec timeout -k 10 "$LIMIT" env LD_PRELOAD="$VT_SO" "$TMP/charged" 128 )
        status=$?
        rmdir "$group"
        died $status "workload of 96 MiB in a cgroup of 128 MiB"
        parts=$((parts + 2))
    else
        rmdir "$group"
    fi
fi
case $parts in
    0) skip "no audit library and no writable cgroup v2 with the memory controller" ;;
    1) say "part skipped: no writable cgroup v2 with the memory controller (below '$root$own_path')" ;;
esac
