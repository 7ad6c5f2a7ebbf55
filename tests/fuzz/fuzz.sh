#!/bin/sh
# fuzz.sh [options|gperftools|mimalloc] - libFuzzer on a parser of variables for a minute (VT_FUZZ_SECONDS), with the address and undefined-behaviour
# sanitizers. An input that fails is printed as bytes and kept as crash-* in the folder the last line names.
. "${VT_SRC:?set VT_SRC to the project root}/tests/fuzz/lib.sh"
subject=${1:-options}
# shellcheck disable=SC2046
build address,undefined -I"$VT_SRC/src" -I"$VT_SRC/include" $([ "$subject" = options ] || echo "$VT_SRC/tests/fuzz/heard.c") \
    "$VT_SRC/src/base/text.c" "$VT_SRC/src/base/lock.c" "$VT_SRC/src/os/process.c" "$VT_SRC/src/os/arena.c" "$VT_SRC/src/os/memory.c" "$VT_SRC/src/os/file.c"
begin_with limit=1 retain=8MiB purge_delay=5,stats thp=auto LIMIT=1 limmit=x 10ms 64KiB VERBOSE=1
run 60 -max_len=4096
