#!/bin/bash
# Row 5: profiling signals inside malloc, the loader, fork and the unwinder.
. "$(dirname "$0")/lib.sh"

compile "$TMP/plugin.so" plugin.c -shared -fPIC
compile "$TMP/storm" risk_05_signal_storm.cpp -ldl
must "$TMP/storm" "$TMP/plugin.so"
