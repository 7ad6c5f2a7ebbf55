/* purger.c - a thread of ours that works while the program is idle, or busy without us: with purge_thread=on it gives memory back, with
 * heap_seconds=N it writes heap profiles, with heap_oom=N it looks whether memory is short.
 *
 * Without it, what a program that oscillates may keep (docs/decisions/purge.md) stays until its next malloc or free. It is off by
 * default, because a thread nobody asked for breaks programs that unshare namespaces, is forbidden by some seccomp filters,
 * and keeps a process alive whose main thread ended by pthread_exit.
 *
 * Started by the library's constructor, not by malloc or free: those may be called with libc's locks held. It sleeps until
 * memory waits or something is due, works in steps of a quarter of purge_delay until none waits, and sleeps again. The child of a fork has
 * none.
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
#include "life/oom.h"
#include "life/upcalls.h"
#include "os/os.h"

#define STACK_BYTES KiB(64)

static struct {
    _Atomic uint32_t is_wanted; /* a futex: the thread sleeps while it is 0 */
    _Atomic bool is_there;
} purger;

#define NEVER_MS UINT64_MAX
#define FIRST_LOOK_MS 100

/* When what is due next. */
struct due {
    uint64_t dump_ms, look_ms, purge_ms;
};

/* Sleeps until something is due, or until memory waits, unless the purge that it waits for is due later. */
static void sleep_until_due(const struct due *d) {
    static _Atomic uint32_t never;
    uint64_t ms = vt_min(vt_min(d->dump_ms, d->look_ms), d->purge_ms), now_ms = vt__os_now_ms();
    _Atomic uint32_t *word = d->purge_ms == NEVER_MS ? &purger.is_wanted : &never;
    if (now_ms < ms) vt__os_wait_ms(word, 0, vt_min(ms - now_ms, MSEC(3600000)));
}

static uint64_t next_purge(uint64_t due_ms, uint64_t now_ms) {
    uint64_t next_ms = now_ms + vt_max(vt_opt(purge_delay) / 4, 10);
    if (due_ms != NEVER_MS)
        return now_ms < due_ms ? due_ms : vt__heap_purge_step() ? next_ms : NEVER_MS;
    bool is_wanted = atomic_exchange_explicit(&purger.is_wanted, 0, memory_order_relaxed) != 0;
    return is_wanted ? next_ms : NEVER_MS;
}

static void *work_when_due(void *unused) {
    uint64_t period_ms = vt_opt(heap_seconds) * MSEC(1000), now_ms = vt__os_now_ms();
    struct due d = {.dump_ms = period_ms != 0 ? now_ms + period_ms : NEVER_MS,
                    .look_ms = vt_opt(heap_oom) != 0 ? now_ms + FIRST_LOOK_MS : NEVER_MS,
                    .purge_ms = NEVER_MS};
    for (;;) {
        sleep_until_due(&d);
        now_ms = vt__os_now_ms();
        if (now_ms >= d.dump_ms) {
            d.dump_ms = now_ms + period_ms; /* what was missed in a stop is not made up for */
            vt__life_dump_wanted(VT_CAUSE_TIME);
        }
        if (now_ms >= d.look_ms) d.look_ms = now_ms + vt__life_oom_watch();
        d.purge_ms = next_purge(d.purge_ms, now_ms);
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

/* NULL: none does. */
static const char *option_asking(void) {
    if (vt_opt(purge_thread)) return "purge_thread";
    if (vt_opt(heap_seconds) != 0) return "heap_seconds";
    return vt_opt(heap_oom) != 0 ? "heap_oom" : NULL;
}

void vt__life_helper_begin(void) {
    pthread_t id;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (option_asking() == NULL) return;
    if (atomic_load_explicit(&purger.is_there, memory_order_relaxed)) return;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all); /* the program's handlers run on the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_there = pthread_create(&id, &attributes, work_when_due, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store_explicit(&purger.is_there, is_there, memory_order_relaxed);
    if (!is_there) vt__warn("cannot start the thread of option", option_asking(), "");
}

__attribute__((constructor)) static void start_if_asked(void) {
    /* most programs do not ask, and their library starts with their first malloc, not here */
    bool is_asked = has_options() || (vt__door.is_asked != NULL && vt__door.is_asked());
    if (is_asked && vt__life_start() == 0) vt__life_helper_begin();
}
