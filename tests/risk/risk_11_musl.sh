#!/bin/bash
# Row 11: the library builds with musl and serves programs of musl, preloaded and static.
. "$(dirname "$0")/lib.sh"
need musl-gcc cmake
tree=${1:-$TMP/tree}                                   # by hand it is built here, which takes its time
bash "$VT_SRC/tests/musl/build.sh" "$tree" || exit
so=$tree/lib/libvitrine.so.1
archive=$tree/lib/libvitrine.a

CC=$(command -v musl-gcc) VT_SO=$so
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
