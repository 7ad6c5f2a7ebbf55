/* lock.c - the slow half of lock.h: sleeping, waking, and the order check of the audit build. Climate: malloc. */
#include "base/lock.h"

#include "base/upcalls.h"

#define SPINS 100 /* a holder needs less than this; longer means it was descheduled */

__thread bool vt__lock_has_all __attribute__((tls_model("initial-exec")));

void vt__lock_slow(struct vt_lock *l) {
    for (int i = 0; i < SPINS; i++) {
        uint32_t free_word = 0;
        if (atomic_load_explicit(&l->word, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_weak_explicit(&l->word, &free_word, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return;
        vt_pause();
    }
    /* acquire as in vt_lock. The word becomes 2, so the holder's unlock wakes somebody. */
    while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire) != 0)
        vt__os_wait(&l->word, 2);
}

void vt__lock_wake(struct vt_lock *l) { vt__os_wake(&l->word, 1); }

#ifdef VT_WITH_AUDIT
#define BITS 64u
#define N_WORDS ((VT_LOCK_COUNT + BITS - 1) / BITS)

static __thread uint64_t held[N_WORDS]
    __attribute__((tls_model("initial-exec"))); /* bit per rank */

void vt__lock_note_taken(struct vt_lock *l) {
    unsigned word = l->rank / BITS, bit = l->rank % BITS;
    VT_ASSERT(held[word] >> bit == 0);
    for (unsigned i = word + 1; i < N_WORDS; i++) VT_ASSERT(held[i] == 0);
    held[word] |= UINT64_C(1) << bit;
}

void vt__lock_note_given(struct vt_lock *l) {
    held[l->rank / BITS] &= ~(UINT64_C(1) << l->rank % BITS);
}
#endif
