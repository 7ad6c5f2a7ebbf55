/* burn_lib.c - the part of burn.c that is in a library. */
#include <stdint.h>
#include <time.h>

uint64_t burn_lib(uint64_t ns);

static volatile uint64_t sink;

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t burn_lib(uint64_t ns) {
    uint64_t from = cpu_ns(), now, x = from;
    do {
        for (int i = 0; i < 20000; i++) x = x * 6364136223846793005u + 1442695040888963407u;
        now = cpu_ns();
    } while (now - from < ns);
    sink = x;
    return now - from;
}
