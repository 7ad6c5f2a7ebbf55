/* start.c - the first use of the library in a process.
 *
 * There is no constructor to rely on: ld.so, other libraries' constructors and ifunc resolvers may call malloc before
 * ours would run. The first slow malloc of a process comes here; everybody else waits, or finds it done.
 *
 *   NOT_YET -> PREPARED: the heap works -> READY: libc was told to call us at forks and at exit
 *
 * A signal handler (control.c) goes as far as PREPARED: what it interrupted may hold libc's locks.
 *
 * What must begin before main, whether or not anybody mallocs, has a constructor in its own file: purger.c, control.c, contention.c,
 * dialect/gperftools_cpu.c. There is no one place that calls them: the compiler lays constructors side by side in front of malloc, so a
 * program that asks for none of it stays in code that it has in memory anyway, and functions of these files would lie among the
 * profilers'. Libprofiler and static programs have some of the files and not the others, too.
 *
 * Climate: malloc.   Owns: the state below.   Locks: start.
 */
#include <errno.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/text.h"
#include "conf/options.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/box.h"
#include "life/life.h"
#include "life/since.h"
#include "life/upcalls.h"
#include "os/os.h"
#include "probe/probe.h"

#define SMALL_LIMIT MiB(64)
#define TURNS_TO_WAIT 2000000 /* some tens of milliseconds */

enum { NOT_YET, PREPARED, READY };

static struct vt_lock start_lock = VT_LOCK_INIT(VT_LOCK_START);
static _Atomic int state = NOT_YET;

static int start_locked(void) {
    vt__options_read();
    if (vt__door.read_environment != NULL) vt__door.read_environment();
    if (vt_unlikely(vt_opt_text(black_box) != NULL)) vt__life_box_begin();
    vt__sample_set_period(vt_opt(sample));
    int err = vt__heap_start();
    if (err == 0) vt__life_watch_threads();
    /* release: everything the start wrote is visible to a thread that reads PREPARED or READY */
    if (err == 0) atomic_store_explicit(&state, PREPARED, memory_order_release);
    return err;
}

void *vt__life_realloc_0(void *p) {
    if (vt__door.realloc_0 != NULL) return vt__door.realloc_0(p);
    vt__free(p);
    return NULL;
}

int vt__life_prepare(void) {
    int err = 0;
    if (atomic_load_explicit(&state, memory_order_acquire) != NOT_YET) return 0;
    if (!vt__enter()) return -EAGAIN; /* in a handler that interrupted this very function */
    vt_lock(&start_lock);
    if (atomic_load_explicit(&state, memory_order_relaxed) == NOT_YET)
        err =
            start_locked(); /* a failure may pass (a limit was raised): the next malloc tries again */
    vt_unlock(&start_lock);
    vt__leave();
    return err;
}

uint64_t vt__life_since_ns(void) { return vt__sample_since_ns(); }

/* In a static program the CPU profiler is there when somebody calls it, or the linker was told to take it. */
static void look_for_cpu_profiler(void) {
    static const char why[] =
        ": the program was linked without -Wl,-u,vt_profiler_functions (see pkg-config --static "
        "--libs vitrine)";
    if (&vt_profiler_functions != NULL) return;
    const char *file = vt__os_getenv("CPUPROFILE");
    if (vt_opt_text(cpu_profile) != NULL)
        vt__warn("no effect of option", "cpu_profile", why);
    else if (file != NULL && *file != '\0')
        vt__warn("no effect of", "CPUPROFILE", why);
}

int vt__life_start(void) {
    if (vt_likely(atomic_load_explicit(&state, memory_order_acquire) == READY)) return 0;
    int err = vt__life_prepare();
    int prepared = PREPARED;
    if (err != 0 || !atomic_compare_exchange_strong(&state, &prepared, READY)) return err;
    /* these may malloc, so the heap must be ready and no lock held */
    vt__life_watch_forks();
    vt__life_watch_exit();
    vt__life_heap_begin();
    look_for_cpu_profiler();
    if (vt__door.begin != NULL) vt__door.begin();
    return 0;
}

/* What the process may have is less than `below`, and may be why there was no memory. */
static VT_COLD void say_limit(const char *what, size_t below) {
    static _Atomic int progress; /* 0, SAYING, SAID */
    enum { SAYING = 1, SAID };
    char line[160];
    struct vt_text t = VT_TEXT(line);
    size_t addresses = vt__os_address_limit(), data = vt__os_data_limit();
    size_t limit = vt_min(addresses, data);
    int unsaid = 0;
    if (limit >= below) return;
    if (!atomic_compare_exchange_strong(&progress, &unsaid, SAYING)) {
        /* who gets no memory often ends the process: not before another thread has said why. Bounded: it may be this one, in a handler */
        for (int n = 0; n < TURNS_TO_WAIT && atomic_load(&progress) == SAYING; n++) vt_pause();
        return;
    }
    vt__text_put(&t, "vitrine: warning: no memory for a ");
    vt__text_put(&t, what);
    vt__text_put(&t, ": the process may have ");
    vt__text_uint(&t, limit / KiB(1));
    vt__text_put(&t, limit == addresses ? " KiB of addresses (ulimit -v)\n"
                                        : " KiB of data (ulimit -d)\n");
    vt__os_write(2, line, t.len);
    atomic_store(&progress, SAID);
}

/* Whatever the limit when a thread cannot even have a heap; else below one so small that our tables and steps count, which another
 * malloc does not have. A program that asks for much of it knows what it does. */
void vt__life_no_memory(size_t n_bytes) {
    if (n_bytes <= PTRDIFF_MAX && vt__heap_thread_number() == 0)
        say_limit("heap", SIZE_MAX);
    else if (n_bytes <= SMALL_LIMIT / 64)
        say_limit("block", SMALL_LIMIT);
    if (vt__door.no_memory != NULL) vt__door.no_memory(n_bytes);
}

void vt__life_no_thread(void) { say_limit("thread", SMALL_LIMIT); }
