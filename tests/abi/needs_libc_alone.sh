#!/bin/sh
# needs_libc_alone.sh - the run-time libraries need libc and nothing else: no C++ run-time, no libm, no libdl.
# operator new and std::bad_alloc are there all the same; see cxx_bad_alloc.cc.
set -u
failed=0
for library in "$VT_SO" "$VT_SECURE_SO"; do
    if ! dynamic=$(LC_ALL=C readelf -dW "$library"); then
        echo "cannot read the dynamic section of '$library'"
        failed=1
        continue
    fi
    seen=$(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | grep -v '^ld-linux\|^ld-musl' |
           sort | tr '\n' ' ')
    case $seen in
        'libc.so.6 ' | 'libc.so ') echo "$library: needs $seen" ;;
        *) echo "$library: expected to need 'libc.so.6' alone, seen '$seen'"; failed=1 ;;
    esac
done
exit $failed
