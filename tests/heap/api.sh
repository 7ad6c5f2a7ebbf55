#!/bin/bash
# Heap profiles by call, linked and preloaded.
. "$(dirname "$0")/lib.sh"
mkdir "$TMP/out"
compile "$TMP/api" api.c -I"$VT_INCLUDE" "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"
cd "$TMP" && ./api 2>errors || { cat errors; fail "expected status 0 of a program linked with the library"; }
grep -q "^vitrine: error: cannot write .*out/missing/x.pb" errors ||
    fail "expected a line about the file that cannot be written, saw: $(cat errors)"
[ "$(grep -c '^vitrine:' errors)" = 1 ] || fail "expected one line of ours, saw: $(cat errors)"
compile "$TMP/api_static" api.c -I"$VT_INCLUDE" -static "$VT_A" -Wl,--eh-frame-hdr
rm -rf out && mkdir out && ./api_static 2>errors || { cat errors; fail "expected status 0 of a static program"; }
# every malloc is sampled, also those of libc's own start
rm -rf out && mkdir out && VITRINE_SAMPLE=1 ./api_static 2>errors || { cat errors; fail "expected status 0 of a static program, sampled"; }
