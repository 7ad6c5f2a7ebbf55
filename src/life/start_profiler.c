/* start_profiler.c - the first use of a library that has the CPU profiler alone, and no heap: the options are read. start.c is
 * the other choice. Climate: host.   Locks: start. */
#include <pthread.h>

#include "base/lock.h"
#include "conf/options.h"
#include "heap/upcalls.h"
#include "life/forks.h"
#include "life/since.h"
#include "os/os.h"

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);

static bool is_done;
static uint64_t since_ns;

uint64_t vt__life_since_ns(void) { return since_ns; }

int vt__life_start(void) {
    vt_lock(&start_lock);
    bool is_first = !is_done;
    if (is_first) vt__options_read(), since_ns = vt__os_wall_ns();
    is_done = true;
    vt_unlock(&start_lock);
    if (is_first) pthread_atfork(vt__forks_prepare, vt__forks_parent, vt__forks_child);
    return 0;
}
