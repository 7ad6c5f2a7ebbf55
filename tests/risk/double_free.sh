#!/bin/bash
# Double frees in every order of three living threads. `double_free.sh [secure]`: in the default library no block is handed out
# twice; the secure one finds each at the second free. The heap is not sampled: a sampled block is somebody else's.
. "$(dirname "$0")/lib.sh"
exact=
if [ "${1:-}" = secure ]; then VT_SO=$VT_SECURE_SO exact=exact; fi
compile "$TMP/double_free" double_free.c -Wno-use-after-free
ulimit -c 0
export VITRINE=sample=0
must "$TMP/double_free" $exact
