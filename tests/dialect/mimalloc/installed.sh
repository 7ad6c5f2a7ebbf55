#!/bin/bash
# installed.sh - building against the installed libmimalloc: pkg-config, find_package, libmimalloc.a, mimalloc.o, the override header.
. "$(dirname "$0")/../../risk/lib.sh"
need cmake pkg-config readelf
: "${VT_BUILD:?set VT_BUILD to the build tree}"
cmake --install "$VT_BUILD" --prefix "$TMP/prefix" >"$TMP/install" 2>&1 || fail "$(tail -5 "$TMP/install")"
lib=$(dirname "$(find "$TMP/prefix" -name libmimalloc.so.3)")
for name in libmimalloc.so libmimalloc.so.2 libmimalloc.so.3 libmimalloc.a mimalloc.o; do
    [ -e "$lib/$name" ] || fail "expected $lib/$name"
done
for name in mimalloc.h mimalloc-override.h mimalloc-new-delete.h mimalloc-stats.h; do # the system may have its own, which would do as well
    [ -e "$TMP/prefix/include/$name" ] || fail "expected include/$name"
done
for n in 2 3; do
    readelf -dW "$lib/libmimalloc.so.$n" | grep -q "SONAME.*\[libmimalloc\.so\.$n\]" || fail "libmimalloc.so.$n has another soname"
    readelf -dW "$lib/libmimalloc.so.$n" | grep NEEDED | grep -vE 'lib(c|dl|pthread)\.so|ld-linux' && fail "libmimalloc.so.$n needs more than libc"
done

cat >"$TMP/hello.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#ifdef OVERRIDE
#include <mimalloc-override.h>
#else
#include <mimalloc.h>
#endif
int main(void) {
    char *p = malloc(10);
    printf("%d %d\n", mi_version(), mi_is_in_heap_region(p));
    free(p);
    return 0;
}
C
# built WHAT PROGRAM: it runs, and its memory is ours
built() {
    local seen
    seen=$(LD_LIBRARY_PATH=$lib "$2") || fail "$1: the program fails"
    [ "$seen" = "30403 1" ] || fail "$1: expected '30403 1', saw '$seen'"
}
flags="-Wall -Werror -fno-builtin -I$TMP/prefix/include"
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_LIBDIR=$lib/pkgconfig
# shellcheck disable=SC2046,SC2086
$CC -fno-builtin -o "$TMP/pc" "$TMP/hello.c" $(pkg-config --cflags --libs mimalloc) || fail "pkg-config: does not build"
built "pkg-config" "$TMP/pc"
# shellcheck disable=SC2086
$CC $flags -DOVERRIDE -o "$TMP/override" "$TMP/hello.c" -L"$lib" -lmimalloc || fail "mimalloc-override.h: does not build"
built "mimalloc-override.h" "$TMP/override"
# every name of it, and none of them by its own: the library would have that too
cat >"$TMP/names.c" <<'C'
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <mimalloc-override.h>
void *volatile kept[64];
size_t volatile sizes[8];
int main(int n, char **v) {
    void *p = malloc(n), *old[] = {calloc(n, 1), realloc(0, n), strdup(*v), strndup(*v, n), realpath(*v, 0), reallocf(0, n), valloc(n),
        pvalloc(n), reallocarray(0, n, 1), memalign(16, n), aligned_alloc(16, n), _expand(p, n), _recalloc(0, n, 1), _strdup(*v),
        _strndup(*v, n), _wcsdup(L"x"), _mbsdup((unsigned char *)*v), _aligned_malloc(n, 16), _aligned_realloc(0, n, 16),
        _aligned_recalloc(0, n, 1, 16), _aligned_offset_malloc(n, 16, 0), _aligned_offset_realloc(0, n, 16, 0),
        _aligned_offset_recalloc(0, n, 1, 16, 0)};
    for (unsigned i = 0; i < sizeof old / sizeof *old; i++) kept[i] = old[i];
    sizes[0] = malloc_size(p) + malloc_usable_size(p) + malloc_good_size(n) + _msize(p) + _aligned_msize(p, 16, 0);
    char *found;
    void *more;
    sizes[1] = posix_memalign(&more, 16, n) + _posix_memalign(&more, 16, n) + reallocarr(&more, n, 1);
    sizes[2] = _dupenv_s(&found, 0, "PATH") + _wdupenv_s(0, 0, 0);
    free(p), cfree(kept[1]), _aligned_free(kept[2]);
    return 0;
}
C
# shellcheck disable=SC2086
$CC $flags -o "$TMP/names" "$TMP/names.c" -L"$lib" -lmimalloc || fail "mimalloc-override.h: not every name builds"
LD_LIBRARY_PATH=$lib "$TMP/names" || fail "mimalloc-override.h: status $?"
wants=$(nm -u "$TMP/names" | awk '$1 == "U" { print $2 }' | grep -vE '^(mi_|__)')
[ -z "$wants" ] || fail "mimalloc-override.h leaves these as they are: $wants"
# shellcheck disable=SC2086
$CC $flags -o "$TMP/object" "$lib/mimalloc.o" "$TMP/hello.c" -pthread || fail "mimalloc.o first: does not build"
built "mimalloc.o first" "$TMP/object"
# shellcheck disable=SC2086
$CC $flags -static -o "$TMP/static_object" "$lib/mimalloc.o" "$TMP/hello.c" -pthread || fail "mimalloc.o, static: does not build"
built "mimalloc.o, static" "$TMP/static_object"
# shellcheck disable=SC2086
$CC $flags -o "$TMP/archive" "$TMP/hello.c" "$lib/libmimalloc.a" -pthread || fail "libmimalloc.a: does not build"
built "libmimalloc.a" "$TMP/archive"

mkdir "$TMP/project"
cp "$TMP/hello.c" "$TMP/project/"
cat >"$TMP/project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.18)
project(hello LANGUAGES C)
find_package(mimalloc 3.0 REQUIRED)
add_executable(shared hello.c)
target_link_libraries(shared PRIVATE mimalloc)
add_executable(static hello.c)
target_link_libraries(static PRIVATE mimalloc-static)
C
cmake -S "$TMP/project" -B "$TMP/project/build" -DCMAKE_PREFIX_PATH="$TMP/prefix" -DCMAKE_C_COMPILER="$CC" >"$TMP/log" 2>&1 &&
    cmake --build "$TMP/project/build" >>"$TMP/log" 2>&1 || fail "find_package(mimalloc): $(tail -8 "$TMP/log")"
built "target mimalloc" "$TMP/project/build/shared"
built "target mimalloc-static" "$TMP/project/build/static"
