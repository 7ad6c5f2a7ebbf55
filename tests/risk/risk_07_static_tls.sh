#!/bin/bash
# Row 7: static TLS is nearly used up before the library comes by dlopen, also below a Python
# extension.
. "$(dirname "$0")/lib.sh"
need readelf

tls=$(readelf -lW "$VT_SO" | awk '$1 == "TLS" { print $6 }')
tls=$((tls + 0))
[ "$tls" -gt 0 ] && [ "$tls" -le 64 ] ||
    fail "expected some and at most 64 bytes of thread-local variables in $SO_NAME, saw $tls"
say "thread-local variables of $SO_NAME: $tls bytes"

compile "$TMP/hog.so" risk_07_tls_hog.c -shared -fPIC
compile "$TMP/late" risk_07_dlopen.c -ldl
timeout -k 10 "$LIMIT" "$TMP/late" "$TMP/hog.so"
died $? "dlopen after 1500 bytes of other TLS"

PY=/usr/bin/python3
[ -x "$PY" ] || skip "no $PY for the extension part (the rest passed)"
headers=$("$PY" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
[ -e "$headers/Python.h" ] ||
    skip "no Python.h (python3-dev) for the extension part (the rest passed)"
suffix=$("$PY" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
compile "$TMP/vt_hog$suffix" risk_07_tls_hog.c -shared -fPIC -DHOG_MODULE -I"$headers"
compile "$TMP/vt_ext$suffix" risk_07_extension.c -shared -fPIC -I"$headers" -Wl,--no-as-needed "$VT_SO" \
    -Wl,-rpath,"$(dirname "$VT_SO")" -ldl
cat >"$TMP/use.py" <<'END'
import threading, vt_hog, vt_ext
results = []
threads = [threading.Thread(target=lambda: results.append(vt_ext.churn(20000))) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(results), len([x for x in open("/proc/self/maps") if "vt_ext" in x]) > 0)
END
timeout -k 10 "$LIMIT" env PYTHONPATH="$TMP" "$PY" "$TMP/use.py" >"$TMP/out"
died $? "python with the extension"
[ "$(cat "$TMP/out")" = "[60000, 60000, 60000, 60000] True" ] ||
    fail "expected '[60000, 60000, 60000, 60000] True', saw '$(cat "$TMP/out")'"
