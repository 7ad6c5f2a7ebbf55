#!/bin/bash
# static_names.sh - a static program that was linked by pkg-config, with each library's name: malloc is ours, though only libc calls it, and
# CPUPROFILE works, though nobody calls the profiler.
. "$(dirname "$0")/../risk/lib.sh"
need pkg-config nm
: "${VT_BUILD:?set VT_BUILD to the build tree}"
cmake --install "$VT_BUILD" --prefix "$TMP/prefix" >"$TMP/install" 2>&1 || fail "cmake --install: $(tail -3 "$TMP/install")"
PKG_CONFIG_PATH=$(dirname "$(find "$TMP/prefix" -name vitrine.pc)")
export PKG_CONFIG_PATH PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH

cat >"$TMP/burn.c" <<'C'
#include <string.h>
#include <time.h>
char *volatile kept;
int main(void) {
    kept = strdup("libc calls malloc");
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;) {}
    return kept == NULL;
}
C
for pc in "$PKG_CONFIG_PATH"/*.pc; do
    name=$(basename "$pc" .pc)
    flags=$(pkg-config --static --cflags --libs "$name") || fail "pkg-config does not know $name"
    # shellcheck disable=SC2086  # flags
    $CC -static "$TMP/burn.c" -o "$TMP/burn" $flags || fail "$name: cannot link with $flags"
    rm -f "$TMP/cpu"
    CPUPROFILE=$TMP/cpu "$TMP/burn" 2>"$TMP/said" || fail "$name: status $?: $(cat "$TMP/said")"
    [ -s "$TMP/cpu" ] || fail "$name: expected a CPU profile, saw none; $(cat "$TMP/said")"
    [ "$name" = libprofiler ] || nm "$TMP/burn" | grep -q ' [DR] vt_profiler_functions$' ||
        fail "$name: the profiler is another"
    [ "$name" = libprofiler ] || nm "$TMP/burn" | grep -q ' vt__heap_attach$' || fail "$name: malloc is not ours"
    n=$((${n:-0} + 1))
done
[ "$n" -ge 2 ] || fail "expected some packages, saw ${n:-none}"
