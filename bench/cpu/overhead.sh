#!/bin/sh
# overhead.sh LIBRARY... - what CPU profiling costs with each libprofiler, at 100 Hz and 1 kHz: overhead.c, in turns on and off.
#
# Each figure has its noise beside it: what two rows of rounds without the profiler differ by. The first line has a clock that never ticks.
set -eu
here=$(dirname "$0")
rounds=${ROUNDS:-60} ms=${MS:-50}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for library in "$@"; do
    mkdir -p "$tmp/lib"
    cp "$library" "$tmp/lib/libprofiler.so.0"
    ln -sf libprofiler.so.0 "$tmp/lib/libprofiler.so"
    "${CC:-cc}" -O2 -I"$here/../../include/compat" -o "$tmp/overhead" "$here/overhead.c" -L"$tmp/lib" -lprofiler
    cd "$tmp"
    for row in "noise 1 process" "100Hz 100 thread" "100Hz 100 perf" "1kHz 1000 thread" "1kHz 1000 perf"; do
        set -- $row
        printf '%-18s %-6s %-8s ' "$(basename "$library")" "$1" "$3"
        LD_LIBRARY_PATH=$tmp/lib CPUPROFILE_FREQUENCY=$2 VITRINE_CPU_FREQUENCY=$2 VITRINE_CPU_CLOCK=$3 ./overhead "$rounds" "$ms" 2>/dev/null
    done
    cd - >/dev/null
done
