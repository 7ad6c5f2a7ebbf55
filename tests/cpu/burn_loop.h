/* burn_loop.h - CPU time that is used up in a function of one's own. */
#ifndef VT_TESTS_CPU_BURN_LOOP_H
#define VT_TESTS_CPU_BURN_LOOP_H

#include <time.h>

static volatile unsigned long sink;

/* So many ms of the calling thread's CPU time. */
static inline __attribute__((always_inline)) void burn(int ms) {
    struct timespec t;
    long until = -1;
    do {
        for (int i = 0; i < 20000; i++) sink = sink * 31 + 7;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        if (until < 0) until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < until);
}

#endif
