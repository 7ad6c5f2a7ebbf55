#!/bin/bash
# Row 6: libraries come and go around the allocator; the allocator itself never goes.
. "$(dirname "$0")/lib.sh"
need readelf

compile "$TMP/plugin1.so" plugin.c -shared -fPIC -DPLUGIN_ID=1
compile "$TMP/plugin2.so" plugin.c -shared -fPIC -DPLUGIN_ID=2
compile "$TMP/dlclose" risk_06_dlclose.c -ldl
compile "$TMP/unload_us" risk_06_unload_us.c -ldl

must "$TMP/dlclose" "$TMP/plugin1.so" "$TMP/plugin2.so"

flags=$(readelf -dW "$VT_SO" | grep 'FLAGS_1')
case $flags in *NODELETE*) ;; *) fail "expected NODELETE in the dynamic flags of $SO_NAME, saw '$flags'" ;; esac
timeout -k 10 "$LIMIT" "$TMP/unload_us"
died $? "dlopen and dlclose of $SO_NAME"
