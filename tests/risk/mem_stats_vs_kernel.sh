#!/bin/bash
# The statistics add up to what the kernel counts as resident, within 5 %, as far as huge pages do
# not fill up what lies between blocks.
. "$(dirname "$0")/lib.sh"

: "${VT_INCLUDE:=$VT_SRC/include}"
compile "$TMP/stats" mem_stats_vs_kernel.c -I"$VT_INCLUDE" -ldl
must "$TMP/stats"
