/* start_profiler.c - the first use of a library that has the CPU profiler alone, and no heap: the options are read. start.c is
 * the other choice. Climate: host.   Locks: start. */
#include <pthread.h>

#include "base/lock.h"
#include "conf/options.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/forks.h"
#include "life/life.h"
#include "life/since.h"
#include "os/os.h"
#include "stack/stack.h"

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);

static bool is_done;
static uint64_t since_ns;

static bool forks_threads; /* the process that forks has some */

static void fork_prepare(void) {
    vt__forks_prepare();
    forks_threads = !vt__os_is_single_threaded();
}

static void fork_child(void) {
    if (forks_threads) vt__stack_forget_threads();
    vt__forks_child();
}

uint64_t vt__life_since_ns(void) { return since_ns; }

int vt__life_start(void) {
    vt_lock(&start_lock);
    bool is_first = !is_done;
    if (is_first) vt__options_read(), since_ns = vt__os_wall_ns();
    is_done = true;
    vt_unlock(&start_lock);
    if (is_first) pthread_atfork(fork_prepare, vt__forks_parent, fork_child);
    return 0;
}

bool vt__heap_may_give_addresses(void) { return false; }
void vt__life_no_thread(void) {}
_Atomic int vt__life_ended_pid; /* nobody can ask */
