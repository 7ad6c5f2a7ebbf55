#!/bin/bash
# Row 18: a container without /proc, /sys and /dev. The allocator works and complains to nobody.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "chroot needs root"
need chroot ldd
compile "$TMP/workout" workout.c
root=$TMP/root
mkdir -p "$root/bin" "$root/opt"
cp "$TMP/workout" "$root/bin/"
cp "$(readlink -f "$VT_SO")" "$root/opt/$SO_NAME"
# The program's libraries under the names the loader looks for.
ldd "$TMP/workout" "$VT_SO" | grep -oE '/[^ )]+' | grep -v ':$' | sort -u | while read -r lib; do
    mkdir -p "$root$(dirname "$lib")" && cp -L "$lib" "$root$lib"
done
[ ! -e "$root/proc" ] && [ ! -e "$root/sys" ] || fail "expected an empty root"

for settings in VITRINE_NONE= VITRINE=stats; do
    timeout -k 10 "$LIMIT" chroot "$root" /usr/bin/env true 2>/dev/null &&
        fail "expected no env in the bare root"
    ( export LD_PRELOAD="/opt/$SO_NAME" "${settings?}"
      exec timeout -k 10 "$LIMIT" chroot "$root" /bin/workout strict=1 ) >"$TMP/out" 2>"$TMP/err"
    died $? "workout in a bare root with $settings: $(head -3 "$TMP/err")"
    grep -q '^workout: [0-9]* given, 0 refused' "$TMP/out" ||
        fail "expected the workout's last line, saw '$(cat "$TMP/out")'"
    # chroot(8) itself starts outside, where /opt/... does not exist; its complaint is not ours.
    grep -v 'from LD_PRELOAD cannot be preloaded' "$TMP/err" >"$TMP/err2"
    if [ "$settings" = VITRINE=stats ]; then
        [ -s "$TMP/err2" ] ||
            fail "expected statistics on stderr, saw nothing: is the library loaded in the bare root?"
    else
        [ ! -s "$TMP/err2" ] || fail "expected silence in a bare root, saw: $(head -3 "$TMP/err2")"
    fi
done
