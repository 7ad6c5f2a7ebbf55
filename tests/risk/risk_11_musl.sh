#!/bin/bash
# Row 11: the library builds with musl and serves programs of musl, preloaded and static.
. "$(dirname "$0")/lib.sh"
need musl-gcc cmake
musl_gcc=$(command -v musl-gcc)

# musl-gcc sees no kernel headers; Alpine has them as a package of their own.
mkdir "$TMP/kernel"
ln -s /usr/include/linux /usr/include/asm-generic "$TMP/kernel/"
ln -s "$(dirname "$(find /usr/include -path '*asm/unistd.h' | head -1)")" "$TMP/kernel/asm"
# The tests of the tree are not built here; only the libraries.
cmake -S "$VT_SRC" -B "$TMP/build" -DCMAKE_C_COMPILER="$musl_gcc" -DVT_CLI=OFF -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="-idirafter $TMP/kernel" -DVT_BENCH=OFF -DVT_TESTS=OFF >"$TMP/configure" 2>&1 || {
    tail -20 "$TMP/configure"
    fail "cmake does not configure with musl-gcc"
}
cmake --build "$TMP/build" -j 2 --target vitrine vitrine_static >"$TMP/log" 2>&1 || {
    grep -E 'error|warning' "$TMP/log" | head -20
    fail "the library does not build with musl-gcc"
}
so=$(find "$TMP/build" -name 'libvitrine.so.1' | head -1)
archive=$(find "$TMP/build" -name 'libvitrine.a' | head -1)
[ -n "$so" ] && [ -n "$archive" ] ||
    fail "expected libvitrine.so.1 and libvitrine.a in the musl build, saw '$so' '$archive'"

# Only libc may be needed, and nothing that musl lacks.
needed=$(readelf -dW "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^libc\.' | tr '\n' ' ')
[ -z "$needed" ] || fail "expected no library but libc among NEEDED, saw $needed"

CC=$musl_gcc VT_SO=$so
compile "$TMP/workout" workout.c
for options in "threads=1 strict=1" "threads=4 strict=1 ops=40000" "threads=2 max=8388608 ops=4000 strict=1"; do
    # shellcheck disable=SC2086
    timeout -k 10 "$LIMIT" env LD_PRELOAD="$so" "$TMP/workout" $options >"$TMP/out" 2>&1
    died $? "musl, preloaded: workout $options: $(tail -2 "$TMP/out")"
done
# musl's loader says nothing when it cannot preload, so ask the process.
cat >"$TMP/ask.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char line[4096];
    FILE *f = fopen("/proc/self/maps", "r");
    free(malloc(10));
    while (f && fgets(line, sizeof line, f)) if (strstr(line, "libvitrine")) return 0;
    return 1;
}
END
compile "$TMP/ask" "$TMP/ask.c"
LD_PRELOAD="$so" "$TMP/ask" || fail "expected libvitrine in the maps of a musl program, not there"

compile "$TMP/static" workout.c -static "$archive"
timeout -k 10 "$LIMIT" "$TMP/static" strict=1
died $? "musl, static"
