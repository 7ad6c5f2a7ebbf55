/* exit.c - what is said when the process ends: the statistics and the heap profile, if asked for. Climate: host. */
#include <stdlib.h>

#include "conf/options.h"
#include "dump/stats.h"
#include "life/life.h"
#include "life/upcalls.h"
#include "os/libc_parts.h"

static void at_exit(void *unused) {
    (void)unused;
    if (vt_opt(stats)) vt__stats_write_fd(2, VT_TEXT_FORMAT);
    vt__life_heap_end();
    if (vt__door.end != NULL) vt__door.end();
}

/* Registered at the first malloc, so it runs after nearly everything else that runs at exit. */
void vt__life_watch_exit(void) {
    (void)__cxa_atexit(at_exit, NULL, &__dso_handle); /* allowed: host climate, no lock is held */
}
