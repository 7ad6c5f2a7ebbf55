#!/bin/bash
# Row 10: the link matrix of the static library, C and C++. The malloc of the program must be ours
# and no part of glibc's allocator may have come in beside it.
. "$(dirname "$0")/lib.sh"
need nm readelf
[ -n "${VT_A:-}" ] && [ -e "$VT_A" ] || fail "expected VT_A to name libvitrine.a, saw '${VT_A:-}'"
echo 'int main(void){return 0;}' >"$TMP/try.c"
$CC -static "$TMP/try.c" -o "$TMP/try" 2>/dev/null || skip "no static libc here (libc6-dev)"

# try WHAT SOURCE FLAG...
try() {
    local what=$1 src=$2; shift 2
    compile "$TMP/user" "$src" "$@"
    timeout -k 10 "$LIMIT" "$TMP/user" >"$TMP/out" 2>&1
    died $? "$what: $(tail -3 "$TMP/out")"
    grep -q '^static user: ok' "$TMP/out" ||
        fail "$what: expected 'static user: ok', saw '$(cat "$TMP/out")'"
    nm "$TMP/user" >"$TMP/names" 2>/dev/null
    for name in _int_malloc _int_free ptmalloc_init; do
        ! grep -qw "$name" "$TMP/names" || fail "$what: glibc's $name was linked beside ours"
    done
    for name in malloc free calloc realloc; do
        grep -qwi "t $name" "$TMP/names" || fail "$what: expected $name in the program, saw none"
    done
    say "ok: $what"
}

libs=("$VT_A" -ldl)
for src in static_user.c static_user.cpp; do
    try "$src, archive in a dynamic program" $src "${libs[@]}"
    try "$src -static" $src -static "${libs[@]}"
    try "$src -static-pie" $src -static-pie "${libs[@]}"
    try "$src -static --whole-archive" $src -static -Wl,--whole-archive "$VT_A" -Wl,--no-whole-archive
    try "$src -static --gc-sections" $src -static -ffunction-sections -Wl,--gc-sections "${libs[@]}"
    try "$src -flto" $src -flto=auto -O2 "${libs[@]}"
    try "$src -static -flto" $src -static -flto=auto -O2 "${libs[@]}"
done

# Nothing outside libc may be asked for: names of the C++ runtime are there for programs that have it, and weak.
nm -uA "$VT_A" | grep -E '__(cxa_|gxx_)|_Unwind_|_ZS|_ZNS' | grep -v '__cxa_atexit$' >"$TMP/cxx"
grep -q ' w __cxa_throw$' "$TMP/cxx" || fail "expected a weak __cxa_throw in the archive, saw: $(cat "$TMP/cxx")"
! grep ' U ' "$TMP/cxx" || fail "expected no name of the C++ runtime that must be there, see above"

# An option that cannot work without our package's flags says so, once; with them it works.
compile "$TMP/user" static_user.c -static "${libs[@]}"
(cd "$TMP" && VITRINE=cpu_profile=x.prof timeout -k 10 "$LIMIT" ./user >/dev/null 2>err)
died $? "cpu_profile without the flags"
[ "$(cat "$TMP/err")" = "vitrine: warning: no effect of option 'cpu_profile': the program was linked without -Wl,-u,vt_profiler_functions (see pkg-config --static --libs vitrine)" ] ||
    fail "cpu_profile without the flags: expected one line that says so, saw '$(cat "$TMP/err")'"
[ ! -e "$TMP/x.prof" ] || fail "expected no profile without the flags"
compile "$TMP/user" static_user.c -static -Wl,-u,vt_profiler_functions "${libs[@]}"
(cd "$TMP" && VITRINE=cpu_profile=x.prof timeout -k 10 "$LIMIT" ./user >/dev/null 2>err)
died $? "cpu_profile with the flags"
[ ! -s "$TMP/err" ] && [ -s "$TMP/x.prof" ] || fail "cpu_profile with the flags: expected a profile and no word, saw '$(cat "$TMP/err")'"
(cd "$TMP" && VITRINE=cpu_profile=none/x.prof timeout -k 10 "$LIMIT" ./user >/dev/null 2>err)
[ "$(cat "$TMP/err")" = "vitrine: warning: no CPU profile 'none/x.prof': no such file or directory" ] ||
    fail "no CPU profile: expected one line that says why, saw '$(cat "$TMP/err")'"

# says WHAT LINE VARIABLE=VALUE...: the program says this one line, "" for none
says() {
    local what=$1 line=$2; shift 2
    (cd "$TMP" && timeout -k 10 "$LIMIT" env "$@" ./user >/dev/null 2>err)
    died $? "$what"
    [ "$(cat "$TMP/err")" = "$line" ] || fail "$what: expected '$line', saw '$(cat "$TMP/err")'"
}
warning="vitrine: warning: no"
no_cpu="the program was linked without -Wl,-u,vt_profiler_functions (see pkg-config --static --libs vitrine)"
no_stacks="the program was linked without -Wl,--eh-frame-hdr (see pkg-config --static --libs vitrine)"
no_maps="the library is linked statically"
compile "$TMP/user" static_user.c -static "${libs[@]}"
says "nothing" "" VITRINE=
says "CPUPROFILE without the flags" "$warning effect of 'CPUPROFILE': $no_cpu" CPUPROFILE=x.prof
says "an empty CPUPROFILE" "" CPUPROFILE=
says "heap_profile without tables" "$warning stacks in heap profiles 'x': $no_stacks" VITRINE=heap_profile=x
says "black_box without tables" "$warning stacks in black box 'x.box': $no_stacks" VITRINE=black_box=x.box,heap_profile=x
(cd "$TMP" && VITRINE=heap_oom=1,sample=1K timeout -k 10 "$LIMIT" ./user >/dev/null 2>err)
[ "$(grep -cF "$warning stacks in heap profiles 'vitrine." "$TMP/err")" = 1 ] || fail "heap_oom without tables: saw '$(cat "$TMP/err")'"
cat >"$TMP/asks.c" <<'END'
#include <stdlib.h>
int vt_heap_dump(const char *path);
int vt_heap_profile_fd(int fd, int format);
int main(int argc, char **argv) {
    free(malloc(100));
    if (argc > 1 && vt_heap_profile_fd(1, 0) != 0) return 1;
    return vt_heap_dump("./asked.heap") != 0 || vt_heap_dump("./asked.heap") != 0 || argv == NULL;
}
END
compile "$TMP/user" "$TMP/asks.c" -static "${libs[@]}"
says "a dump by call without tables" "$warning stacks in heap profiles './asked.heap': $no_stacks" VITRINE=
cp "$TMP/user" "$TMP/asks"
(cd "$TMP" && ./asks by-fd >/dev/null 2>err) || fail "a profile by call: status $?"
[ "$(cat "$TMP/err")" = "$warning stacks in heap profiles 'by call': $no_stacks" ] || fail "a profile by call without tables: saw '$(cat "$TMP/err")'"
compile "$TMP/user" "$TMP/asks.c" -static -Wl,--eh-frame-hdr "${libs[@]}"
says "a dump by call with tables" "" VITRINE=
compile "$TMP/user" static_user.c -static -Wl,--eh-frame-hdr "${libs[@]}"
says "heap_profile with tables" "" VITRINE=heap_profile=x
says "heap_mmap" "$warning effect of 'heap_mmap': $no_maps" VITRINE=heap_profile=x,heap_mmap
says "heap_kind=mmap" "$warning effect of 'heap_kind=mmap': $no_maps" VITRINE=heap_profile=x,heap_kind=mmap
compile "$TMP/user" static_user.c "${libs[@]}"
says "heap_profile, archive in a dynamic program" "" VITRINE=heap_profile=x
tc=$(dirname "$VT_A")/libtcmalloc_and_profiler.a
if [ -e "$tc" ]; then
    compile "$TMP/user" static_user.c -static "$tc" -ldl
    says "CPUPROFILE, libtcmalloc_and_profiler.a" "$warning effect of 'CPUPROFILE': $no_cpu" CPUPROFILE=x.prof
    (cd "$TMP" && HEAPPROFILE=x timeout -k 10 "$LIMIT" ./user >/dev/null 2>err)
    [ "$(grep -cF "$warning stacks in heap profiles 'x': $no_stacks" "$TMP/err")" = 1 ] || fail "HEAPPROFILE without tables: saw '$(cat "$TMP/err")'"
fi
say "ok: options that cannot work say so"
