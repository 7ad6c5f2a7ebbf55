# jemalloc_lib.sh - what the tests of the notes about jemalloc share (seeds 002, 003 and 004, by their sections). Sourced, never run.
#
# The commands are those of the notes with other paths: our tree is installed below $TMP/usr, libjemalloc and jeprof are taken from
# there. In the current folder are test.c and a.out, whose do_something leaks 3,160 KiB and do_something_else 3,120 KiB.
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?set VT_BUILD to the build tree}"
[ -x "$VT_BUILD/bin/vitrine" ] || skip "the command is not built, which is jeprof"
unset JE_MALLOC_CONF
cmake --install "$VT_BUILD" --prefix "$TMP/usr" >"$TMP/install" 2>&1 || fail "cmake --install: $(tail -3 "$TMP/install")"
LIB=$(dirname "$(find "$TMP/usr" -name libjemalloc.so.2)")
jeprof() { "$TMP/usr/bin/jeprof" "$@"; }
mkdir "$TMP/work" && cd "$TMP/work" || exit 1
SOME=$((3160 * 1024)) OTHER=$((780 * 4096))
cat >test.c <<'END'
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#ifndef BETWEEN
#define BETWEEN
#endif
#ifndef AFTER
#define AFTER
#endif
static void set_active(bool active) {
#ifdef WITH_JEMALLOC
    mallctl("prof.active", NULL, NULL, &active, sizeof(bool));
#else
    (void)active;
#endif
}
void do_something(size_t i) { malloc(i * 1024); }
void do_something_else(size_t i) { malloc(i * 4096); }
int main(void) {
    size_t i;
    (void)set_active;
    for (i = 0; i < 80; i++) do_something(i);
    BETWEEN;
    for (i = 0; i < 40; i++) do_something_else(i);
    AFTER;
    return 0;
}
END
gcc -w -g test.c -o a.out || fail "gcc"
cc_jemalloc() { gcc -w -g -DWITH_JEMALLOC -I"$TMP/usr/include" test.c -L"$LIB" -ljemalloc "$@" || fail "gcc $*"; }

# top FILE [OPTION...]: what the command `top` shows
top() {
    local file=$1; shift
    printf 'top\nquit\n' | jeprof --interactive a.out "$@" "$file" 2>/dev/null
}
# share FILE FUNCTION [OPTION...]: bytes that jeprof gives to a function
share() {
    local file=$1 function=$2; shift 2
    jeprof --text --show_bytes "$@" a.out "$file" 2>/dev/null | awk -v f="$function" '$6 == f { print $1 }'
}
near() { # near SEEN EXPECTED WHAT: blocks are up to an eighth larger than asked for
    [ "${1:-0}" -ge "$2" ] && [ "${1:-0}" -le $(($2 + $2 / 8)) ] || fail "$3: expected $2 and up to 1/8 more, saw '${1:-nothing}'"
}
