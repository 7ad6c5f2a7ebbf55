/* exit.c - what is said when the process ends: the statistics and the heap profile, if asked for. Climate: host. */
#include <stdatomic.h>
#include <stdlib.h>

#include "conf/options.h"
#include "dump/stats.h"
#include "life/life.h"

static void at_exit(void) {
    if (vt_opt(stats)) vt__stats_write_fd(2, VT_TEXT_FORMAT);
    vt__life_heap_end();
}

/* Registered at the first malloc, if the options ask for it, so it runs after nearly everything else that runs at exit. */
static void watch(void) {
    static _Atomic bool is_watched;
    if (!atomic_exchange_explicit(&is_watched, true, memory_order_relaxed))
        (void)atexit(at_exit); /* allowed: host climate, no lock is held */
}

void vt__life_watch_exit(void) {
    if (vt_opt(stats)) watch();
}

void vt__life_watch_exit_for_heap(void) {
    if (vt_opt(heap_exit) || vt_opt(heap_exit_peak)) watch();
}
