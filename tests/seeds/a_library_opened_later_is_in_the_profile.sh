#!/bin/bash
# dlopen: what a library allocates has its stack through that library; sampled and exact.
. "$(dirname "$0")/lib.sh"
compile "$TMP/plugin.so" "$HERE/../stack/plugin.c" -shared -fPIC -DPLUGIN_ROOM=64 -Wno-unused-but-set-variable
for mode in exact sample=1; do
    VITRINE=$mode,heap_profile=$TMP/$mode must "$TMP/leaky" load "$TMP/plugin.so"
    leaked "$TMP/$mode.0001.heap" called_back 400000
    through=$(awk '/plugin\.so\+/ { n += $NF } END { print n + 0 }' "$TMP/$mode.0001.heap")
    [ "$through" -ge 400000 ] || fail "$mode: expected 400,000 bytes through plugin.so, saw $through"
    # and out of it again, to who called it
    [ "$(in_use "$TMP/$mode.0001.heap" main leaky)" -ge 400000 ] || fail "$mode: expected stacks that go on to main"
done
