/* lock.h - a small futex lock, and the order in which locks may be taken.
 *
 * Climate: malloc.   Owns: nothing.   Callers: every room that shares state between threads.
 * Held for tens of nanoseconds: spins a little, then sleeps. A signal handler may only try.
 *
 * Order: a thread that holds a lock may take only locks of a higher rank (fork takes all, those of one rank by index). The
 * audit build checks it.
 */
#ifndef VT_BASE_LOCK_H
#define VT_BASE_LOCK_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

enum vt_lock_rank {
    VT_LOCK_START, /* life: one thread initialises */
    VT_LOCK_WAITS, /* life: the contention profile is started or stopped */
    VT_LOCK_CPU,   /* life: the CPU profiler is started or stopped */
    VT_LOCK_TASKS, /* probe: which threads have a timer */
    VT_LOCK_PROBE, /* probe: what is known about samples */
    VT_LOCK_HEAPS, /* heap: the registry and the pool of heaps without a thread */
    VT_LOCK_OWN,   /* heap: some of the heaps beside the threads'; fork takes all, in order */
    VT_LOCK_OWN_LAST = VT_LOCK_OWN + 15,
    VT_LOCK_ESTATE, /* heap: some of the estates; fork takes all, in order */
    VT_LOCK_ESTATE_LAST = VT_LOCK_ESTATE + 15,
    VT_LOCK_MEDIUM, /* heap: the slabs of one medium class; fork takes all, in order */
    VT_LOCK_MEDIUM_LAST = VT_LOCK_MEDIUM + 47,
    VT_LOCK_SAMPLED, /* heap: the slabs of sampled blocks of some classes; fork takes all, in order */
    VT_LOCK_SAMPLED_LAST = VT_LOCK_SAMPLED + 3,
    VT_LOCK_SHARD, /* heap: the chunks of one NUMA node or tract, and what is given back to the system; fork takes all, in order */
    VT_LOCK_SHARD_LAST = VT_LOCK_SHARD + 63,
    VT_LOCK_POOL,  /* heap: whole free chunks and the growth of the window */
    VT_LOCK_ARENA, /* os: memory for our own tables */
    VT_LOCK_COUNT
};

struct vt_lock {
    _Atomic uint32_t word; /* 0 free, 1 held, 2 held and somebody may sleep */
    uint32_t rank;
};

#define VT_LOCK_INIT(r)                                                                            \
    { 0, (r) }
/* Within the braces of an array: four, of one rank after the other. */
#define VT_LOCK_INIT_FOUR(r)                                                                       \
    VT_LOCK_INIT(r), VT_LOCK_INIT((r) + 1), VT_LOCK_INIT((r) + 2), VT_LOCK_INIT((r) + 3)

/* True while this thread forks: it holds every lock, and handlers of the program that run meanwhile may come back to us. */
extern __thread bool vt__lock_has_all __attribute__((tls_model("initial-exec")));

void vt__lock_slow(struct vt_lock *l);
void vt__lock_wake(struct vt_lock *l);
#ifdef VT_WITH_AUDIT
void vt__lock_note_taken(struct vt_lock *l);
void vt__lock_note_given(struct vt_lock *l);
#else
VT_INLINE void vt__lock_note_taken(struct vt_lock *l) { (void)l; }
VT_INLINE void vt__lock_note_given(struct vt_lock *l) { (void)l; }
#endif

VT_INLINE void vt_lock(struct vt_lock *l) {
    uint32_t free_word = 0;
    if (vt_unlikely(vt__lock_has_all)) return;
    /* acquire: what the last holder wrote is visible from here on; pairs with the exchange in vt_unlock. */
    if (vt_unlikely(!atomic_compare_exchange_strong_explicit(
            &l->word, &free_word, 1, memory_order_acquire, memory_order_relaxed)))
        vt__lock_slow(l);
    vt__lock_note_taken(l);
}

/* From a signal handler, which must not wait: false, if anybody has it, the interrupted code perhaps. */
VT_INLINE bool vt_try_lock(struct vt_lock *l) {
    uint32_t free_word = 0;
    /* acquire: as in vt_lock */
    if (vt__lock_has_all ||
        !atomic_compare_exchange_strong_explicit(&l->word, &free_word, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    return true; /* in any order, as nobody waits */
}

VT_INLINE void vt_unlock(struct vt_lock *l) {
    if (vt_unlikely(vt__lock_has_all)) return;
    vt__lock_note_given(l);
    /* release: our writes happen before the next holder's acquire. */
    if (vt_unlikely(atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2))
        vt__lock_wake(l);
}

/* In the child of a fork no other thread exists, so whoever held the lock is gone. */
VT_INLINE void vt_lock_reset(struct vt_lock *l) {
    vt__lock_note_given(l);
    atomic_store_explicit(&l->word, 0, memory_order_relaxed);
}

/* After a fork, by who took the lock before it. */
VT_INLINE void vt_lock_forked(struct vt_lock *l, bool is_child) {
    if (is_child)
        vt_lock_reset(l);
    else
        vt_unlock(l);
}

VT_HIDDEN_END

#endif
