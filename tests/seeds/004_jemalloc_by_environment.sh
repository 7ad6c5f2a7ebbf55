#!/bin/bash
# Seed 004, jemalloc: preloaded and linked statically with MALLOC_CONF=prof:true, leaks at exit, and the statistics that its pages
# show (opts=Ja) with the figures its readers are told to watch.
. "$(dirname "$0")/jemalloc_lib.sh"
cat >server.c <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
int main(void) {
    bool on = false;
    size_t n = sizeof(on);
    const char *file = "asked.heap";
    if (mallctl("opt.prof", &on, &n, NULL, 0) != 0 || !on) return 3; /* "no MALLOC_CONF=prof:true in env" */
    for (size_t i = 0; i < 1000; i++) malloc(i * 100);
    if (mallctl("prof.dump", NULL, NULL, &file, sizeof(file)) != 0) return 4;
    if (mallctl("prof.reset", NULL, NULL, &(size_t){10}, sizeof(size_t)) != 0) return 5;
    malloc_stats_print(NULL, NULL, "Ja");
    return 0;
}
END
gcc -w -g -I"$TMP/usr/include" server.c -o static "$LIB/libjemalloc.a" -Wl,--eh-frame-hdr -pthread || fail "static link"
gcc -w -g -I"$TMP/usr/include" server.c -o shared -L"$LIB" -ljemalloc || fail "shared link"
for program in static shared; do
    rm -f ./*.heap
    LD_LIBRARY_PATH=$LIB ./$program 2>/dev/null; [ $? -eq 3 ] || fail "$program without MALLOC_CONF: expected opt.prof to be off"
    MALLOC_CONF="prof:true" LD_LIBRARY_PATH=$LIB ./$program 2>json || fail "$program: status $?"
    head -1 asked.heap | grep -qx heap_v2/524288 || fail "$program: $(head -1 asked.heap)"
    python3 - json <<'END' || fail "$program: the statistics"
import json, sys
j = json.load(open(sys.argv[1]))["jemalloc"]
assert j["opt"]["prof"] is True
for k in ("resident", "metadata", "allocated", "active"):
    assert j["stats"][k] > 0, k
a = j["stats.arenas"]["merged"]
for k in ("resident", "pactive", "base"):
    assert a[k] > 0, k
assert a["small"]["allocated"] + a["large"]["allocated"] == j["stats"]["allocated"]
assert "0" not in j["stats.arenas"]
END
done
rm -f ./*.heap
MALLOC_CONF="prof:true,prof_leak:true,prof_final:true" LD_PRELOAD=$LIB/libjemalloc.so ./a.out 2>err || fail "status $?"
ls jeprof.*.0.f.heap >/dev/null || fail "saw $(ls)"
MALLOC_CONF="prof:true,prof_leak:true,prof_final:true,prof_leak_error:true" LD_PRELOAD=$LIB/libjemalloc.so ./a.out 2>err
[ $? -eq 1 ] || fail "prof_leak_error: expected status 1"
