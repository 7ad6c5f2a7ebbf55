/* cpu_births.c - threads that begin while the CPU profiler is on make themselves known to it, and leave it at their end.
 *
 * What a new thread is to run waits in a birth, from pthread_create to its first instruction. Births are few at any time and
 * are used again; there is no malloc to take them from, and no system call is made: the program may be under a filter. The end of a
 * thread is told by a pthread key, as elsewhere (thread.c).
 *
 * The end is arranged for in each thread, also while the profiler is off: one that begins before a profile and ends during it may
 * never have run at one of the system's ticks, and when it has ended, nobody knows its CPU time any more.
 *
 * Climate: host.   Owns: the births, the key.   Locks: none; a stack of free ones, whose head carries a count of changes.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "life/cpu.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/cpu.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

#define MAX_BIRTHS 4096u

struct vt_birth {
    vt_thread_main *start;
    void *arg;
    _Atomic uint32_t next_free; /* number */
};

static struct {
    _Atomic uint32_t n;
    _Atomic uint64_t free;           /* count of changes << 32 | number of the first; 0: none */
    struct vt_birth all[MAX_BIRTHS]; /* takes no room in the file, nor memory before it is used */
} births;

static struct {
    _Atomic bool is_asked_for;
    _Atomic bool is_there; /* else ends are noticed when a profile is written */
    pthread_key_t key;     /* written before is_there */
} key;

/* Numbers begin with 1. */
static struct vt_birth *birth_at(uint32_t number) { return &births.all[number - 1]; }

static struct vt_birth *pop(void) {
    /* acquire: pairs with the release in vt__life_stillborn */
    uint64_t head = atomic_load_explicit(&births.free, memory_order_acquire);
    while ((uint32_t)head != 0) {
        struct vt_birth *b = birth_at((uint32_t)head);
        /* may be another's already: then the count of changes differs and the exchange fails */
        uint64_t next = atomic_load_explicit(&b->next_free, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&births.free, &head,
                                                  ((head >> 32) + 1) << 32 | next,
                                                  memory_order_acquire, memory_order_acquire))
            return b;
    }
    return NULL;
}

void vt__life_stillborn(struct vt_birth *b) {
    uint64_t head = atomic_load_explicit(&births.free, memory_order_relaxed);
    uint64_t desired;
    do {
        atomic_store_explicit(&b->next_free, (uint32_t)head, memory_order_relaxed);
        desired = ((head >> 32) + 1) << 32 | (uint32_t)(b - birth_at(1) + 1);
        /* release: it is whole before it can be found */
    } while (!atomic_compare_exchange_weak_explicit(&births.free, &head, desired,
                                                    memory_order_release, memory_order_relaxed));
}

static struct vt_birth *make(void) {
    uint32_t n = atomic_load_explicit(&births.n, memory_order_relaxed);
    do {
        if (n >= MAX_BIRTHS) return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&births.n, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return birth_at(n + 1);
}

struct vt_birth *vt__life_birth(vt_thread_main *start, void *arg) {
    struct vt_birth *b = pop();
    if (b == NULL) b = make();
    if (b == NULL) return NULL; /* the scout finds it */
    b->start = start;
    b->arg = arg;
    return b;
}

static void ends(void *unused) {
    (void)unused;
    vt__cpu_task_ends();
    vt__stack_thread_ends();
}

void vt__life_watch_births(void) {
    if (atomic_load_explicit(&key.is_asked_for, memory_order_relaxed) ||
        atomic_exchange_explicit(&key.is_asked_for, true, memory_order_relaxed))
        return;
    bool is_there = pthread_key_create(&key.key, ends) == 0;
    /* release: the key is there when the word is; pairs with the acquire in has_key */
    atomic_store_explicit(&key.is_there, is_there, memory_order_release);
}

static bool has_key(void) { return atomic_load_explicit(&key.is_there, memory_order_acquire); }

/* Not promised to be safe in a handler, but so it is: for the first keys libc only stores the value into the thread's block. */
void vt__life_cpu_seen(void) {
    if (!has_key() || key.key >= VT_PLAIN_KEYS || pthread_setspecific(key.key, &key) != 0) return;
    vt__stack_thread_is_watched();
}

void vt__life_make_known(uintptr_t start) {
    vt__life_watch_births();
    /* if a profile begins just now, it finds this thread in /proc */
    if (vt__cpu_is_on()) vt__cpu_task_begins(start);
    if (has_key()) pthread_setspecific(key.key, &key);
}

void *vt__life_born(void *arg) {
    struct vt_birth *b = arg;
    vt_thread_main *start = b->start;
    void *start_arg = b->arg;
    vt__life_stillborn(b);
    vt__life_make_known((uintptr_t)start);
    return start(start_arg);
}
