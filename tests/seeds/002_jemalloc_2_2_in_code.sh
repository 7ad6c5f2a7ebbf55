#!/bin/bash
# Seed 002, jemalloc, section 2.2: the calls by their names with je_, the figures they give, and JE_MALLOC_CONF.
. "$(dirname "$0")/jemalloc_lib.sh"
cat >leak.c <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
static void do_something(size_t i) { je_malloc(i * 100); }
int main(void) {
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 1000; k++) do_something(k);
        uint64_t epoch = 1;
        size_t sz = sizeof(epoch), allocated, active, mapped;
        je_mallctl("epoch", &epoch, &sz, &epoch, sz);
        sz = sizeof(size_t);
        je_mallctl("stats.allocated", &allocated, &sz, NULL, 0);
        je_mallctl("stats.active", &active, &sz, NULL, 0);
        je_mallctl("stats.mapped", &mapped, &sz, NULL, 0);
        printf("allocated/active/mapped: %zu/%zu/%zu\n", allocated, active, mapped);
    }
    je_malloc_stats_print(NULL, NULL, NULL);
    return 0;
}
END
gcc -w -g -I"$TMP/usr/include" leak.c -L"$LIB" -ljemalloc -o leak || fail "gcc"
JE_MALLOC_CONF="prof_leak:true,lg_prof_sample:0,prof_final:true" LD_LIBRARY_PATH=$LIB ./leak >out 2>err || fail "status $?: $(tail -3 err)"
awk -F'[/: ]+' '!/^allocated\/active\/mapped: / || !($4 > before && $4 <= $5 && $5 <= $6) { bad = 1 } { before = $4 } END { exit bad || NR != 3 }' out || fail "the figures: $(cat out)"
grep -qxF -- '--- End jemalloc statistics ---' err || fail "je_malloc_stats_print: $(tail -3 err)"
grep -q '^<jemalloc>: Leak approximation summary: ' err || fail "JE_MALLOC_CONF: $(tail -3 err)"
file=$(ls jeprof.*.0.f.heap) || fail "saw $(ls)"
jeprof --text leak "$file" 2>/dev/null | grep -q do_something || fail "jeprof: $(jeprof --text leak "$file" 2>&1 | head -5)"
