/* exit.c - what is said when the process ends: the statistics and the heap profile, if asked for. Climate: host. */
#include <stdlib.h>

#include "conf/options.h"
#include "dump/stats.h"
#include "life/life.h"

static void at_exit(void) {
    if (vt_opt(stats)) vt__stats_write_fd(2, VT_TEXT_FORMAT);
    vt__life_heap_end();
}

/* Registered at the first malloc, so it runs after nearly everything else that runs at exit. */
void vt__life_watch_exit(void) {
    (void)atexit(at_exit); /* allowed: host climate, no lock is held */
}
