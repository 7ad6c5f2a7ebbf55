/* purger.c - a thread of ours that works while the program is idle: with purge_thread=on it gives memory back, with
 * heap_seconds=N it writes heap profiles.
 *
 * Without it, what a program that oscillates may keep (docs/decisions/purge.md) stays until its next malloc or free. It is off by
 * default, because a thread nobody asked for breaks programs that unshare namespaces, is forbidden by some seccomp filters,
 * and keeps a process alive whose main thread ended by pthread_exit.
 *
 * Started by the library's constructor, not by malloc or free: those may be called with libc's locks held. It sleeps until
 * memory waits, works in steps of a quarter of purge_delay until none does, and sleeps again. The child of a fork has none.
 * It needs little of its stack; a heap profile is written from mapped memory.
 *
 * Climate: host.   Owns: the word below.   Locks: none.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/text.h"
#include "conf/options.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "life/upcalls.h"
#include "os/os.h"

#define STACK_BYTES KiB(64)

static struct {
    _Atomic uint32_t is_wanted; /* a futex: the thread sleeps while it is 0 */
    _Atomic bool is_there;
} purger;

static void purge_until_done(void) {
    static uint32_t never;
    atomic_store_explicit(&purger.is_wanted, 0, memory_order_relaxed);
    do vt__os_wait_ms(&never, 0, vt_max(vt_opt(purge_delay) / 4, 10));
    while (vt__heap_purge_step());
}

/* Sleeps until memory waits, or until then. */
static void sleep_until(uint64_t ms) {
    uint64_t now_ms = vt__os_now_ms();
    if (now_ms < ms) vt__os_wait_ms(&purger.is_wanted, 0, vt_min(ms - now_ms, MSEC(3600000)));
}

static void *work_when_wanted(void *unused) {
    uint64_t period_ms = vt_opt(heap_seconds) * MSEC(1000);
    uint64_t next_ms = period_ms != 0 ? vt__os_now_ms() + period_ms : UINT64_MAX;
    for (;;) {
        sleep_until(next_ms);
        uint64_t now_ms = vt__os_now_ms();
        if (now_ms >= next_ms) {
            next_ms = now_ms + period_ms; /* what was missed in a stop is not made up for */
            vt__life_dump_wanted(VT_CAUSE_TIME);
        }
        if (atomic_load_explicit(&purger.is_wanted, memory_order_relaxed) != 0) purge_until_done();
    }
    return unused;
}

void vt__life_purge_wanted(void) {
    /* relaxed: the word carries no data, and a wake-up that comes late comes with the next free */
    if (!atomic_load_explicit(&purger.is_there, memory_order_relaxed)) return;
    if (atomic_exchange_explicit(&purger.is_wanted, 1, memory_order_relaxed) == 0)
        vt__os_wake(&purger.is_wanted, 1);
}

void vt__life_purger_forget(void) {
    atomic_store_explicit(&purger.is_there, false, memory_order_relaxed);
}

static bool has_options(void) {
    for (const char *const *e = vt__os_environment(); e != NULL && *e != NULL; e++)
        if (vt__str_starts(*e, "VITRINE")) return true;
    return false;
}

void vt__life_helper_begin(void) {
    pthread_t id;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (!vt_opt(purge_thread) && vt_opt(heap_seconds) == 0) return;
    if (atomic_load_explicit(&purger.is_there, memory_order_relaxed)) return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all); /* the program's handlers run on the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_there = pthread_create(&id, &attributes, work_when_wanted, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store_explicit(&purger.is_there, is_there, memory_order_relaxed);
    if (!is_there)
        vt__warn("cannot start the thread of option",
                 vt_opt(purge_thread) ? "purge_thread" : "heap_seconds", "");
}

__attribute__((constructor)) static void start_if_asked(void) {
    /* most programs do not ask, and their library starts with their first malloc, not here */
    bool is_asked = has_options() || (vt__door.is_asked != NULL && vt__door.is_asked());
    if (is_asked && vt__life_start() == 0) vt__life_helper_begin();
}
