#!/bin/bash
# make_install.sh - what `make install` says at its end is true: a program that is linked as it says starts. In a folder that the loader
# knows, in one that it does not, and for another machine. What it writes to /usr/local and /etc is gone with its mount namespace.
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?set VT_BUILD to the build tree}"
need unshare ldconfig

# installed PREFIX: the last line of `make install`
installed() {
    cmake --install "$VT_BUILD" --prefix "$1" >"$TMP/log" 2>&1 || fail "cmake --install: $(tail -3 "$TMP/log")"
    "$VT_SRC/scripts/installed" "$TMP/log" || fail "scripts/installed: status $?"
}
# links PREFIX LINE: the compiler's words in it, on a program of ours
links() {
    case $2 in "installed in $1; next: $1/bin/vitrine run prog, or cc prog.c "*) ;; *) fail "expected where, saw '$2'" ;; esac
    [ -x "$1/bin/vitrine" ] || fail "expected $1/bin/vitrine, saw none"
    # shellcheck disable=SC2086  # flags
    $CC "$HERE/hello.c" ${2##*prog.c } -o "$TMP/hello" || fail "cannot link with ${2##*prog.c }"
    seen=$("$TMP/hello" 2>&1)
    case $seen in "hello from vitrine "*) ;; *) fail "$1: expected a hello, saw '$seen'" ;; esac
}

if [ "${1:-}" = known ]; then # in a namespace of its own
    mount -t tmpfs none "$2" && cd "$2" && mkdir local local.work etc etc.work &&
        mount -t overlay none -o lowerdir=/usr/local,upperdir=local,workdir=local.work /usr/local &&
        mount -t overlay none -o lowerdir=/etc,upperdir=etc,workdir=etc.work /etc || skip "no overlay can be mounted"
    rm -f /usr/local/lib/libvitrine* && ldconfig
    [ ! -e /usr/local/lib/libtcmalloc.so.4 ] || skip "/usr/local has such libraries"
    line=$(installed /usr/local)
    links /usr/local "$line"
    case $line in *"prog.c -lvitrine") exit 0 ;; *) fail "expected -lvitrine alone, saw '$line'" ;; esac
fi

links "$TMP/own" "$(installed "$TMP/own")"
readme=$TMP/own/share/doc/vitrine/README.md
for place in $(sed 's/](/\n](/g' "$readme" | sed -n 's/^](\([^):]*\)).*/\1/p'); do
    [ -e "$(dirname "$readme")/$place" ] || fail "the README that is installed names '$place', which is not"
done
line=$(DESTDIR=$TMP/other installed /usr)
[ "$line" != "" ] && [ -e "$TMP/other/usr/bin/vitrine" ] || fail "DESTDIR: expected a line and files, saw '$line'"
"$VT_SRC/scripts/installed" /dev/null 2>/dev/null
[ $? -eq 3 ] || fail "of nothing: expected status 3"
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
    say "part skipped: only root has a /usr/local of his own"
    exit 0
fi
mkdir "$TMP/mounts"
unshare -m bash "$0" known "$TMP/mounts"
status=$?
[ $status -ne 77 ] || { say "part skipped"; exit 0; }
exit $status
