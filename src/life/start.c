/* start.c - the first use of the library in a process.
 *
 * There is no constructor to rely on: ld.so, other libraries' constructors and ifunc resolvers may call malloc before
 * ours would run. The first slow malloc of a process comes here; everybody else waits, or finds it done.
 *
 * Climate: malloc.   Owns: the state below.   Locks: start.
 */
#include <stdatomic.h>

#include "base/lock.h"
#include "conf/options.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/probe.h"

enum { NOT_YET = 1, READY = 0 }; /* else: the -errno it failed with */

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);
static _Atomic int outcome = NOT_YET;

static int start_locked(void) {
    vt__options_read();
    vt__sample_set_period(vt_opt(sample));
    int err = vt__heap_start();
    if (err == 0) vt__life_watch_threads();
    /* release: everything the start wrote is visible to a thread that reads READY */
    if (err == 0) atomic_store_explicit(&outcome, READY, memory_order_release);
    return err;
}

int vt__life_start(void) {
    if (vt_likely(atomic_load_explicit(&outcome, memory_order_acquire) == READY)) return 0;
    int err = 0;
    vt_lock(&start_lock);
    bool is_first = atomic_load_explicit(&outcome, memory_order_relaxed) != READY;
    if (is_first)
        err =
            start_locked(); /* a failure may pass (a limit was raised): the next malloc tries again */
    vt_unlock(&start_lock);
    if (is_first && err == 0) { /* these may malloc, so the heap must be ready and no lock held */
        vt__life_watch_forks();
        vt__life_watch_exit();
        vt__life_heap_begin();
    }
    return err;
}
