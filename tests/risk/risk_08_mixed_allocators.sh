#!/bin/bash
# Row 8: RTLD_DEEPBIND, a program with its own malloc or half of one, blocks of glibc that reach our
# free.
. "$(dirname "$0")/lib.sh"

mkdir -p "$TMP/inner"
compile "$TMP/plugin.so" plugin.c -shared -fPIC
compile "$TMP/inner/inner.so" plugin.c -shared -fPIC -DPLUGIN_ID=3
compile "$TMP/host.so" risk_08_host.c -shared -fPIC -Wl,--enable-new-dtags,-rpath,'$ORIGIN/inner' -ldl
compile "$TMP/deepbind" risk_08_deepbind.c -ldl
must "$TMP/deepbind" "$TMP/plugin.so" "$TMP/host.so"

for own in 1 2 3; do
    compile "$TMP/own$own" risk_08_own_malloc.c -DOWN=$own -ldl
    "$TMP/own$own" >"$TMP/plain" || fail "own malloc $own does not even work alone"
    must "$TMP/own$own" >"$TMP/preloaded"
    same "$TMP/plain" "$TMP/preloaded" "own malloc $own"
done

compile "$TMP/foreign" risk_08_foreign.c -ldl
must "$TMP/foreign" 2>"$TMP/err"
cat "$TMP/err"
warnings=$(grep -c '^vitrine: warning:' "$TMP/err")
[ "$warnings" -eq 1 ] || fail "expected one warning about foreign blocks, saw $warnings"
