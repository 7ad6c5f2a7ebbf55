/* burn_loop.h - CPU time that is used up in a function of one's own. */
#ifndef VT_TESTS_CPU_BURN_LOOP_H
#define VT_TESTS_CPU_BURN_LOOP_H

#include <time.h>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) long cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* So many ms of the calling thread's CPU time. */
static inline __attribute__((always_inline)) void burn(int ms) {
    long now, until = -1;
    do {
        for (int i = 0; i < 20000; i++) sink = sink * 31 + 7;
        now = cpu_ms();
        if (until < 0) until = now + ms;
    } while (now < until);
}

#endif
