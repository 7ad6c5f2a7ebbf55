/* exit.c - what is said when the process ends: the statistics, if asked for. Climate: host. */
#include <stdlib.h>

#include "conf/options.h"
#include "dump/stats.h"
#include "life/life.h"

static void report(void) { vt__stats_write_fd(2, VT_TEXT_FORMAT); }

/* Registered at the first malloc, so it runs after nearly everything else that runs at exit. */
void vt__life_watch_exit(void) {
    if (vt_opt(stats)) (void)atexit(report); /* allowed: host climate, no lock is held */
}
