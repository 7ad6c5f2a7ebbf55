#!/bin/bash
# Row 15: RLIMIT_AS set by the running program, or by another process while it runs. The window goes back: mappings, threads and children
# work, and malloc gives as many MiB as glibc's, within 10 %. In every library that has our malloc; with samples and in exact mode.
. "$(dirname "$0")/lib.sh"
compile "$TMP/late" risk_15_late.c
check_preload "$TMP/late"

# gives LIB HOW LIMIT BLOCK [threads]: what malloc gave, in MiB
gives() {
    local lib=$1; shift
    timeout -k 10 "$LIMIT" env LD_PRELOAD="$lib" "$TMP/late" "$@" || fail "$(basename "$lib"), $*: status $?"
}
folder=$(dirname "$VT_SO")
for block in 1000 1000000 1100000 3000000; do
    theirs=$("$TMP/late" setrlimit 400 $block 2>/dev/null) # what it fails is not our subject
    ours=$(gives "$VT_SO" setrlimit 400 $block) || exit 1
    say "blocks of $block below 400 MiB: $ours MiB, glibc $theirs"
    [ $((ours * 10)) -ge $((theirs * 9)) ] || fail "blocks of $block: $ours MiB, glibc gives $theirs"
done
for how in setrlimit64 prlimit prlimit64 outside; do
    gives "$VT_SO" $how 300 1000000 >/dev/null || exit 1
done
for how in setrlimit outside; do
    gives "$VT_SO" $how 300 1000000 threads >/dev/null || exit 1
    VITRINE=sample=4096 gives "$VT_SO" $how 300 1000000 threads >/dev/null || exit 1
    VITRINE=exact gives "$VT_SO" $how 300 1000000 >/dev/null || exit 1
done
for lib in libvitrine-secure.so libvitrine-fast.so libtcmalloc.so.4 libtcmalloc_debug.so.4 libtcmalloc_and_profiler.so.4 \
    libtcmalloc_minimal.so.4 libjemalloc.so.2 libmimalloc.so.3 mimalloc-2/libmimalloc.so.2; do
    [ -e "$folder/$lib" ] || continue
    gives "$folder/$lib" setrlimit 300 100000 >/dev/null || exit 1
    say "$lib: fine"
done

# Linked with the archive: what the program itself sets is noticed there, too.
[ -z "${VT_A:-}" ] || [ ! -e "$VT_A" ] || for flags in "-static" ""; do
    # shellcheck disable=SC2086
    compile "$TMP/linked" risk_15_late.c -DVT_LINKED $flags "$VT_A" -ldl
    for how in setrlimit setrlimit64 prlimit prlimit64; do
        ours=$(timeout -k 10 "$LIMIT" "$TMP/linked" $how 300 1000000) || fail "linked with libvitrine.a $flags, $how: status $?"
        [ "$ours" -le 300 ] || fail "linked with libvitrine.a $flags, $how: $ours MiB below a limit of 300"
    done
    say "linked with libvitrine.a $flags: fine"
done

have python3 || { say "part skipped: no python3"; exit 0; }
cat >"$TMP/script.py" <<'END'
import mmap, resource, threading
keep = [bytes(1000) for i in range(10000)]
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, resource.RLIM_INFINITY))
threads = [threading.Thread(target=lambda: [str(i) for i in range(10000)]) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
mmap.mmap(-1, 50 << 20).close()
blocks = []
try:
    while True: blocks.append(bytearray(1 << 20))
except MemoryError: pass
n = len(blocks)
del blocks
print(n)
END
theirs=$(python3 "$TMP/script.py") || fail "python3 with glibc: status $?"
check_preload python3
ours=$(LD_PRELOAD=$VT_SO python3 "$TMP/script.py") || fail "python3: status $?"
say "python3 below 400 MiB: $ours MiB, glibc $theirs"
[ $((ours * 10)) -ge $((theirs * 9)) ] || fail "python3: $ours MiB, glibc gives $theirs"
