#!/bin/bash
# Row 5: profiling signals inside malloc, the loader, fork and the unwinder; then one at every instruction of malloc and free, of the
# first malloc of a process, and before it aborts.
. "$(dirname "$0")/lib.sh"

compile "$TMP/plugin.so" plugin.c -shared -fPIC
compile "$TMP/storm" risk_05_signal_storm.cpp -ldl
must "$TMP/storm" "$TMP/plugin.so"
compile "$TMP/each_step" risk_05_each_step.c -ldl
must "$TMP/each_step"
compile "$TMP/first_and_last" risk_05_first_and_last.c -ldl -Wl,-z,now # the loader's steps are not its subject
must "$TMP/first_and_last"
[ -n "${VT_AUDIT_SO:-}" ] && [ -e "$VT_AUDIT_SO" ] ||
    fail "expected VT_AUDIT_SO to name the audit library, saw '${VT_AUDIT_SO:-}'"
export VT_SO=$VT_AUDIT_SO
must "$TMP/each_step"
