#!/bin/bash
# own.sh SOURCE...: own.c linked with libvitrine.a in every way, and compiled with musl from the sources given. Our own code
# must be told from the program's, and walks must come to main.
set -u
: "${VT_SRC:?set VT_SRC to the project root}" "${VT_A:?set VT_A to libvitrine.a}"
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-own.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }

# try WHAT CAN_TELL COMPILER...
try() {
    local what=$1 can_tell=$2; shift 2
    "$@" -std=gnu11 -O2 -D_GNU_SOURCE -I"$VT_SRC/src" -I"$VT_SRC/include" -o "$work/own" || fail "$what: does not link"
    timeout 60 "$work/own" "$can_tell" || fail "$what: expected status 0, seen $?"
    echo "ok: $what"
}
own=$VT_SRC/tests/stack/own.c
try "archive in a dynamic program" y "$CC" "$own" "$VT_A"
try "archive, -flto --gc-sections" y "$CC" "$own" "$VT_A" -flto=auto -Wl,--gc-sections
if echo 'int main(void){return 0;}' | $CC -static -x c - -o "$work/try" 2>/dev/null; then
    try "-static" y "$CC" "$own" "$VT_A" -static -Wl,--eh-frame-hdr
    try "-static-pie" y "$CC" "$own" "$VT_A" -static-pie
else
    echo "no static libc here (libc6-dev): static programs not tried"
fi
if command -v musl-gcc >/dev/null 2>&1; then
    mkdir "$work/kernel" # as in tests/musl
    asm=$(dirname "$(find /usr/include -path '*asm/unistd.h' | head -1)")
    ln -s /usr/include/linux /usr/include/asm-generic "$work/kernel/"
    ln -s "$asm" "$work/kernel/asm"
    musl="musl-gcc -idirafter $work/kernel -fexceptions -fno-strict-aliasing -Wl,--eh-frame-hdr"
    for way in -static -no-pie "-pie -fPIE"; do
        # shellcheck disable=SC2086
        try "musl $way" n $musl $way "$own" "$@"
    done
else
    echo "no musl-gcc (scripts/setup test installs musl-tools): musl not tried"
fi
