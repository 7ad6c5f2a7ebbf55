#!/bin/bash
# musl.sh plain|abi|malloc|shared TREE - programs of musl with the libraries that build.sh made in TREE.
#
#   plain   the stress program against the library's own names, in an audit build of the sources that follow
#   malloc  the same program against malloc, which our archive provides
#   abi     the programs of tests/abi, likewise
#   shared  preloaded: stacks in a program that loads another library, in a heap profile
#
# The first three are linked statically.
#
# cmocka is built for glibc, so the unit tests proper stay there; the stress program checks itself.
# Environment: VT_SRC, as every test has it.
set -u
: "${VT_SRC:?set VT_SRC to the project root}"
kind=$1 tree=$2
shift 2
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }
if ! command -v musl-gcc >/dev/null 2>&1; then
    echo "skipped: no musl-gcc (scripts/setup test installs musl-tools)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-musl.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

cc() {
    musl-gcc -std=gnu11 -O2 -g -D_GNU_SOURCE -idirafter "$tree/kernel" -I"$VT_SRC/src" \
        -I"$VT_SRC/include" "$@"
}
library_flags="-Wall -Wextra -Werror -fno-builtin-malloc -fno-builtin-free -fno-builtin-calloc \
    -fno-builtin-realloc -fno-strict-aliasing -fexceptions"

# objects DIR FLAG... -- SOURCE...: every source, two at a time; what does not compile is told in full
objects() {
    local dir=$1 flags="" source jobs=0 status=0
    shift
    while [ "$1" != -- ]; do flags="$flags $1"; shift; done
    shift
    mkdir -p "$dir"
    for source in "$@"; do
        # shellcheck disable=SC2086
        cc $library_flags $flags -c -o "$dir/$(printf '%s' "${source#"$VT_SRC"/}" | tr / _).o" "$source" &
        jobs=$((jobs + 1))
        if [ $((jobs % 2)) -eq 0 ]; then wait -n || status=1; fi
    done
    while [ -n "$(jobs -rp)" ]; do wait -n || status=1; done
    wait
    [ "$(find "$dir" -name '*.o' | wc -l)" -eq $# ] && [ $status -eq 0 ] ||
        fail "not every source compiles with musl-gcc"
}

stress=$VT_SRC/tests/stress
archive=("$tree/lib/libvitrine.a" -Wl,--eh-frame-hdr)
scenarios="random handover orphans rings sleeper late forks mix"

case $kind in
plain)
    objects "$work/o" -DVT_WITH_AUDIT -- "$@" "$VT_SRC/src/os/fail.c"
    cc -Wall -Wextra -Werror -fno-builtin -DVT_STRESS_PLAIN -DVT_WITH_AUDIT -static \
        -o "$work/stress" "$stress"/*.c "$work"/o/*.o ||
        fail "the stress program does not link with musl"
    for s in $scenarios; do
        "$work/stress" "$s" seconds=1 || fail "musl, plain: stress $s: expected status 0, seen $?"
    done
    ;;
malloc)
    cc -Wall -Wextra -Werror -fno-builtin -DVT_STRESS_STATIC -static \
        -o "$work/stress" "$stress"/*.c "${archive[@]}" ||
        fail "the stress program does not link with musl and our malloc"
    nm "$work/stress" | grep -q ' vt__malloc_slow$' || fail "expected our malloc in the program, seen none of it"
    for s in $scenarios; do
        VT_EXPECT_VITRINE=1 "$work/stress" "$s" seconds=1 || fail "musl, malloc: stress $s: expected status 0, seen $?"
    done
    ;;
abi)
    n=0
    for program in "$VT_SRC"/tests/abi/*.c; do
        name=$(basename "$program" .c)
        case $name in
            # ask for names that musl's malloc never had, and ours leaves out there
            whole_family | introspect) echo "not for musl: $name"; continue ;;
        esac
        cc -fno-builtin -DVT_STATIC=1 -I"$VT_SRC/tests" -static -o "$work/$name" "$program" \
            "${archive[@]}" || fail "abi/$name does not link with musl"
        VT_EXPECT_VITRINE=1 "$work/$name" >"$work/out" 2>&1
        status=$?
        if [ $status -ne 0 ]; then
            head -20 "$work/out"
            fail "musl: abi/$name: expected status 0, and no skip (77), seen $status"
        fi
        n=$((n + 1))
    done
    [ "$n" -ge 10 ] || fail "expected at least 10 programs of tests/abi, seen $n"
    echo "$n programs of tests/abi, fine"
    ;;
shared)
    # systems that live on musl have a compiler that asks for the index of .eh_frame by itself
    index=-Wl,--eh-frame-hdr
    cc $index -shared -fPIC -DPLUGIN_ROOM=64 -o "$work/plugin.so" "$VT_SRC/tests/stack/plugin.c" || fail "no plug-in"
    cc $index -Wall -Wextra -Werror -fPIE -pie -o "$work/program" "$VT_SRC/tests/musl/loads.c" || fail "no program"
    for mode in sample=1K exact; do
        VITRINE=$mode,heap_profile=$work/$mode,heap_format=collapsed LD_PRELOAD=$tree/lib/libvitrine.so.1 \
            "$work/program" "$work/plugin.so" || fail "musl, shared: expected status 0, seen $?"
        # 300 blocks each: from main alone, and through eight frames of the plug-in, which came later than the library
        awk '{ through = gsub(/plugin\.so\+/, "&") }
             /program\+/ && through == 0 { before += $NF }
             /program\+/ && through == 8 { after += $NF }
             END { print before, after; exit !(before > 2000000 && after > 2000000) }' "$work/$mode.0001.heap" ||
            { head -5 "$work/$mode.0001.heap"; fail "musl, shared, $mode: expected both places, each whole"; }
    done
    VITRINE=heap_kind=mmap,heap_profile=$work/mmap,heap_format=collapsed LD_PRELOAD=$tree/lib/libvitrine.so.1 \
        "$work/program" "$work/plugin.so" || fail "musl, mmap: expected status 0, seen $?"
    grep -q 'program+0x[0-9a-f]* 1048576$' "$work/mmap.0001.heap" || fail "musl: expected a mapping of 1 MiB"
    ;;
*) fail "expected plain, malloc, abi or shared, seen '$kind'" ;;
esac
