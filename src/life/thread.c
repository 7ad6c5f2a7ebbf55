/* thread.c - being told when a thread ends, and when the process forks.
 *
 * A pthread key's destructor is the only notice of a thread's end that every libc gives. Destructors of other keys and
 * C++ thread_locals may still malloc and free after ours: the thread then attaches again, and libc comes round again,
 * at most PTHREAD_DESTRUCTOR_ITERATIONS (4) times. In the last rounds a heap is only borrowed, call by call.
 *
 * Climate: malloc.   Owns: the key.   Locks: none.
 */
#include <pthread.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/forks.h"
#include "life/life.h"
#include "os/box_file.h"
#include "os/libc_parts.h"
#include "os/os.h"
#include "probe/probe.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

#define ROUNDS_TO_TRUST 3

static struct {
    pthread_key_t key;
    bool has_key;
} ends;

static bool forks_threads; /* the process that forks has some; written while all locks are held */

static __thread unsigned char n_rounds __attribute__((tls_model("initial-exec")));

static void thread_ends(void *unused) {
    (void)unused;
    n_rounds++;
    vt__stack_thread_ends();
    vt__probe_thread_ends();
    vt__heap_detach_thread();
}

bool vt__life_thread_attached(void) {
    if (!ends.has_key)
        return true; /* no key was left: ends go unnoticed, and heaps of ended threads unused */
    if (n_rounds >= ROUNDS_TO_TRUST) return false;
    return pthread_setspecific(ends.key, &ends) == 0;
}

/* As vt__life_cpu_seen in cpu_births.c: it is only a store. */
void vt__life_thread_seen(void) {
    if (ends.has_key && ends.key < VT_PLAIN_KEYS && n_rounds == 0)
        pthread_setspecific(ends.key, &ends);
}

bool vt__life_thread_is_staying(void) { return n_rounds == 0; }

static void fork_prepare(void) {
    vt__forks_prepare();
    vt__heap_fork_prepare();
    if (vt__box_has_file()) vt__box_fork_prepare();
    forks_threads = !vt__os_is_single_threaded();
}

static void fork_parent(void) {
    if (vt__box_has_file()) vt__box_fork_done(/* is_child */ false);
    vt__heap_fork_done(/* is_child */ false);
    vt__forks_parent();
}

static void fork_child(void) {
    if (vt__box_has_file()) vt__box_fork_done(/* is_child */ true);
    vt__heap_fork_done(/* is_child */ true);
    vt__life_purger_forget();
    vt__life_control_forget();
    if (forks_threads) vt__stack_forget_threads();
    vt__forks_child();
}

bool vt__life_watch_threads(void) {
    ends.has_key = pthread_key_create(&ends.key, thread_ends) == 0;
    return ends.has_key;
}

void vt__life_watch_forks(void) {
    if (__register_atfork != NULL)
        __register_atfork(fork_prepare, fork_parent, fork_child, &__dso_handle);
    else
        pthread_atfork(fork_prepare, fork_parent, fork_child);
}
