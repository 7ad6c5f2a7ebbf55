/* start_profiler.c - the first use of a library that has the CPU profiler alone, and no heap: the options are read. start.c is
 * the other choice. Climate: host.   Locks: start. */
#include <pthread.h>

#include "base/lock.h"
#include "conf/options.h"
#include "heap/upcalls.h"
#include "life/forks.h"

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);

int vt__life_start(void) {
    static bool is_done;
    vt_lock(&start_lock);
    bool is_first = !is_done;
    if (is_first) vt__options_read();
    is_done = true;
    vt_unlock(&start_lock);
    if (is_first) pthread_atfork(vt__forks_prepare, vt__forks_parent, vt__forks_child);
    return 0;
}
