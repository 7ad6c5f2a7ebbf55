#!/bin/bash
# 002_mimalloc.sh - users' notes 002, section mimalloc: each of its command lines on our installed tree, only paths changed. Of
# `cmake ../mimalloc/ && make && make install` the tree this test belongs to is the result.
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?set VT_BUILD to the build tree}"
for name in $(env | sed -n 's/^\(MIMALLOC_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
cmake --install "$VT_BUILD" --prefix "$TMP/usr" >"$TMP/install" 2>&1 || fail "$(tail -5 "$TMP/install")"
lib=$(dirname "$(find "$TMP/usr" -name libmimalloc.so.3)")

cat >"$TMP/test.c" <<'C'
#include <mimalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    char *p = malloc(100), *q = mi_malloc(100);
    for (int i = 0; i < 1000; i++) free(memset(malloc(5000), 1, 5000));
    printf("%d %d %d\n", mi_version() / 10000, mi_is_in_heap_region(p), mi_is_in_heap_region(q));
    mi_free(p);
    free(q);
    return 0;
}
C
cat >"$TMP/myprogram.c" <<'C'
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 1000; i++) free(memset(malloc(5000), 1, 5000));
    volatile size_t n = (size_t)1 << 60;
    return malloc(n) != NULL;
}
C

# 3: the headers are copied by hand, and suffice
mkdir "$TMP/include"
cp -r "$VT_SRC"/include/compat/* "$TMP/include/"
# 4
cd "$TMP" || exit 1
$CC -fno-builtin -I"$TMP/include" -o test ./test.c -L"$lib" -lmimalloc || fail "gcc -o test ./test.c -lmimalloc"
seen=$(LD_LIBRARY_PATH=$lib ./test)
[ "$seen" = "3 1 1" ] || fail "linked with -lmimalloc: expected '3 1 1', saw '$seen'"
# 5
$CC -fno-builtin -o myprogram ./myprogram.c || fail "myprogram does not build"
run() { env "$@" LD_PRELOAD="$lib/libmimalloc.so" ./myprogram 2>"$TMP/said" || fail "$*: myprogram fails: $(cat "$TMP/said")"; }
says() { grep -q "$1" "$TMP/said" || fail "expected '$1', saw: $(cat "$TMP/said")"; }
silent() { [ ! -s "$TMP/said" ] || fail "$1: expected nothing, saw: $(cat "$TMP/said")"; }
run A=1
silent "LD_PRELOAD"
# the variables
run MIMALLOC_SHOW_STATS=1
says '^  committed'
says '^  process: user: '
run MIMALLOC_VERBOSE=1
says "^option 'verbose': 1"
says '^mimalloc: process init: 0x'
run MIMALLOC_SHOW_ERRORS=1
says '^mimalloc: error: unable to allocate memory (1152921504606846976 bytes)$'
for setting in PURGE_DELAY=10 PURGE_DELAY=0 ARENA_EAGER_COMMIT=1 USE_NUMA_NODES=4; do
    run MIMALLOC_$setting
    silent "MIMALLOC_$setting"
    run MIMALLOC_$setting MIMALLOC_VERBOSE=1
    name=$(printf %s "${setting%=*}" | tr A-Z a-z)
    says "^option '$name': ${setting#*=}\$"
done
