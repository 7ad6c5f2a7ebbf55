/* exit.c - what is said when the process ends: the statistics, if asked for. Climate: host. */
#include "conf/options.h"
#include "dump/stats.h"

__attribute__((destructor)) static void at_exit(void) {
    if (vt_opt(stats)) vt__stats_write_fd(2, VT_TEXT_FORMAT);
}
