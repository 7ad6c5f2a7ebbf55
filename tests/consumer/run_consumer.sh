#!/bin/bash
# run_consumer.sh - installs the built tree somewhere, uses it in every way a user would, moves it,
# and does so again.
#
# The installed files must not remember where they were installed or built.
. "$(dirname "$0")/../risk/lib.sh"
need cmake pkg-config readelf
: "${VT_BUILD:?set VT_BUILD to the build tree}"
[ -e "$VT_BUILD/cmake_install.cmake" ] || fail "expected a build tree in '$VT_BUILD', saw none"

cmake --install "$VT_BUILD" --prefix "$TMP/prefix" >"$TMP/install" 2>&1 || {
    tail -5 "$TMP/install"
    fail "cmake --install fails"
}

expect() { [ "$2" = "$1" ] || fail "$3: expected '$1', saw '$2'"; }
run() { timeout -k 10 "$LIMIT" "$@" 2>&1 || printf 'status %d' $?; }

# use PREFIX: everything there is to do with an installed tree
use() {
    local prefix=$1 pc lib flags version want name
    lib=$(dirname "$(find "$prefix" -name 'libvitrine.so.1' | head -1)")
    pc=$(dirname "$(find "$prefix" -name 'vitrine.pc' | head -1)")
    for name in "$prefix/include/vitrine.h" "$lib/libvitrine.a" "$lib/libvitrine.so" "$pc/vitrine.pc"; do
        [ -e "$name" ] || fail "expected $name, saw: $(cd "$prefix" && find . -type f | tr '\n' ' ')"
    done
    version=$(sed -n 's/^#define VITRINE_VERSION "\(.*\)"/\1/p' "$prefix/include/vitrine.h")
    want="hello from vitrine $version"

    # pkg-config, shared and static
    export PKG_CONFIG_PATH=$pc PKG_CONFIG_LIBDIR=$pc
    expect "$version" "$(pkg-config --modversion vitrine)" "pkg-config --modversion"
    flags=$(pkg-config --cflags --libs vitrine) || fail "pkg-config does not know vitrine"
    # shellcheck disable=SC2086
    compile "$TMP/pc_c" hello.c $flags &&
        expect "$want" "$(LD_LIBRARY_PATH=$lib run "$TMP/pc_c")" "C by pkg-config"
    # shellcheck disable=SC2086
    compile "$TMP/pc_cpp" hello.cpp $flags &&
        expect "$want" "$(LD_LIBRARY_PATH=$lib run "$TMP/pc_cpp")" "C++ by pkg-config"
    readelf -dW "$TMP/pc_c" | grep -q 'NEEDED.*libvitrine\.so\.1\]' ||
        fail "expected libvitrine.so.1 among NEEDED of a program linked by pkg-config"
    flags=$(pkg-config --static --cflags --libs vitrine)
    # shellcheck disable=SC2086
    compile "$TMP/pc_static" hello.c -static $flags &&
        expect "$want" "$(run "$TMP/pc_static")" "C by pkg-config --static"

    # find_package: the project beside this script
    rm -rf "$TMP/cmake"
    cmake -S "$HERE" -B "$TMP/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_BUILD_TYPE=Release >"$TMP/log" 2>&1 || {
            tail -15 "$TMP/log"
            fail "find_package(vitrine) fails"
        }
    cmake --build "$TMP/cmake" -j 2 >"$TMP/log" 2>&1 || {
        grep -E -B2 'error|undefined|multiple' "$TMP/log" | head -20
        fail "the consumer project does not build"
    }
    local n=0
    for program in "$TMP"/cmake/*_c "$TMP"/cmake/*_cpp; do
        name=$(basename "$program")
        expect "$want" "$(run "$program")" "consumer $name"
        case $name in static_pie_*)
            readelf -hW "$program" | grep -q 'DYN' || fail "$name: expected a position-independent program" ;;
        esac
        case $name in static*|gc*|lto*|whole*)
            ! readelf -lW "$program" | grep -q INTERP || fail "$name: expected no interpreter, it is not static" ;;
        esac
        n=$((n + 1))
    done
    [ $n -ge 14 ] || fail "expected 14 consumer programs or more, saw $n"

    # the command: it finds the library of this tree, also through a link; manual, completion and old names are there
    if [ -x "$prefix/bin/vitrine" ]; then
        ln -sf "$prefix/bin/vitrine" "$TMP/link"
        compile "$TMP/plain" plain.c -ldl
        for name in "$prefix/bin/vitrine" "$TMP/link"; do
            expect "$want" "$(run "$name" run -o "$TMP/profiles" "$TMP/plain" 2>/dev/null | grep hello)" "$name run"
        done
        ls "$TMP"/profiles/plain.*.0001.heap >/dev/null || fail "expected profiles of '$name run'"
        for name in pprof google-pprof jeprof; do
            expect "vitrine" "$(readlink "$prefix/bin/$name")" "link $name"
            [ -s "$prefix/share/man/man1/$name.1" ] || fail "expected a manual page of $name"
            run "$prefix/bin/$name" --version | grep -q vitrine || fail "expected $name to be vitrine"
        done
        for name in man/man1/vitrine.1 man/man3/vitrine.3 man/man5/vitrine-formats.5 man/man7/vitrine-options.7 \
            bash-completion/completions/vitrine zsh/site-functions/_vitrine fish/vendor_completions.d/vitrine.fish; do
            [ -s "$prefix/share/$name" ] || fail "expected share/$name"
        done
    fi

    # LD_PRELOAD and dlopen of a program that knows nothing
    compile "$TMP/plain" plain.c -ldl
    expect "hello from libc" "$(run "$TMP/plain")" "plain program"
    expect "$want" "$(LD_PRELOAD=$lib/libvitrine.so.1 run "$TMP/plain")" "plain program, preloaded"
    compile "$TMP/late" late.c -ldl
    expect "late: ok" "$(run "$TMP/late" "$lib/libvitrine.so.1" | grep -v '^vitrine: warning:')" "late dlopen"
    say "ok: $n programs of the consumer project, pkg-config, LD_PRELOAD and dlopen in $prefix"
}

use "$TMP/prefix"

# No installed file may name a place of this machine; then the tree is moved and used again.
for place in "$TMP" "$VT_SRC" "$VT_BUILD"; do
    found=$(grep -rIlF "$place" "$TMP/prefix" | grep -E '\.(pc|cmake|h)$' | head -3)
    [ -z "$found" ] || fail "expected no mention of '$place' in installed files, saw it in: $found"
done
for so in $(find "$TMP/prefix" -name '*.so*' -type f); do
    found=$(readelf -dW "$so" | grep -E 'R(UN)?PATH')
    [ -z "$found" ] || fail "expected no RPATH in $(basename "$so"), saw $found"
done
mkdir "$TMP/elsewhere"
mv "$TMP/prefix" "$TMP/elsewhere/tree" || fail "cannot move the installed tree"
use "$TMP/elsewhere/tree"

# COMPAT=0: the same without the old names. What would be installed is in the install scripts; nothing needs to be built.
if [ -x "$VT_BUILD/bin/vitrine" ]; then
    unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR
    cmake -S "$VT_SRC" -B "$TMP/bare" -DCMAKE_C_COMPILER="$CC" -DVT_TESTS=OFF -DVT_BENCH=OFF -DVT_COMPAT=OFF >"$TMP/log" 2>&1 || {
        tail -5 "$TMP/log"
        fail "cannot configure with VT_COMPAT=OFF"
    }
    grep -q pprof "$VT_BUILD/cmake_install.cmake" || fail "expected the old names in an install script with VT_COMPAT=ON"
    found=$(find "$TMP/bare" -name cmake_install.cmake -exec grep -l pprof {} +)
    [ -z "$found" ] || fail "expected no old name with VT_COMPAT=OFF, saw one in $found"
    say "ok: no old names with COMPAT=0"
fi
