/* start_profiler.c - the first use of a library that has the CPU profiler alone, and no heap: the options are read. start.c is
 * the other choice. Climate: host.   Locks: start. */
#include <stdatomic.h>

#include "base/lock.h"
#include "conf/options.h"
#include "heap/upcalls.h"

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);

int vt__life_start(void) {
    static bool is_done;
    vt_lock(&start_lock);
    if (!is_done) vt__options_read();
    is_done = true;
    vt_unlock(&start_lock);
    return 0;
}
