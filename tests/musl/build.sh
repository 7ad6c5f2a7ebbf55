#!/bin/bash
# build.sh TREE: the libraries by the tree's own build, compiled by musl-gcc, for all tests that need them; they are brought up to
# date if they are there. TREE/kernel has the kernel's headers.
set -u
: "${VT_SRC:?set VT_SRC to the project root}"
tree=$1
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }
for tool in musl-gcc cmake; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool (scripts/setup test installs musl-tools)"; exit 77; }
done

# musl-gcc sees no kernel headers; distributions that live on musl have them as a package of their own.
mkdir -p "$tree/kernel" || exit 1
ln -sfn /usr/include/linux "$tree/kernel/linux"
ln -sfn /usr/include/asm-generic "$tree/kernel/asm-generic"
ln -sfn "$(dirname "$(find /usr/include -path '*asm/unistd.h' | head -1)")" "$tree/kernel/asm"
# The tests of the tree are not built here; only the libraries.
cmake -S "$VT_SRC" -B "$tree" -DCMAKE_C_COMPILER="$(command -v musl-gcc)" -DVT_CLI=OFF -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS="-idirafter $tree/kernel" -DVT_BENCH=OFF -DVT_TESTS=OFF >"$tree/configure.log" 2>&1 || {
    tail -20 "$tree/configure.log"
    fail "cmake does not configure with musl-gcc"
}
cmake --build "$tree" -j 2 --target vitrine vitrine_static >"$tree/build.log" 2>&1 || {
    grep -E 'error|warning' "$tree/build.log" | head -20
    fail "the library does not build with musl-gcc"
}
so=$tree/lib/libvitrine.so.1
[ -e "$so" ] && [ -e "$tree/lib/libvitrine.a" ] || fail "expected libvitrine.so.1 and libvitrine.a in $tree/lib, saw: $(ls "$tree/lib")"
# Only libc may be needed, and nothing that musl lacks.
needed=$(readelf -dW "$so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^libc\.' | tr '\n' ' ')
[ -z "$needed" ] || fail "expected no library but libc among NEEDED, saw $needed"
