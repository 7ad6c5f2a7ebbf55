/* forks.c - what profilers do at a fork, beside the heap. Who calls us: thread.c; start_profiler.c where there is no heap.
 *
 * A handler that interrupts a fork, and forks, comes here again: only the outermost counts. Signals are not held back, so that the
 * time of a fork is counted where it is spent.
 *
 * Climate: malloc.   Owns: the hooks, which are never taken away.   Locks: none; hooks take theirs.
 */
#include <stdatomic.h>

#include "base/base.h"
#include "life/forks.h"

static _Atomic(const struct vt_fork_hook *) hooks[VT_FORK_SLOTS];
static __thread struct {
    uint16_t n_forks;
    uint16_t prepared; /* a bit for each slot: a hook that came since has nothing to undo */
} mine __attribute__((tls_model("initial-exec")));

void vt__life_at_fork(enum vt_fork_slot slot, const struct vt_fork_hook *hook) {
    /* release: what the hook's owner wrote before; pairs with the acquire in hook_at */
    atomic_store_explicit(&hooks[slot], hook, memory_order_release);
}

static const struct vt_fork_hook *hook_at(unsigned slot) {
    return atomic_load_explicit(&hooks[slot], memory_order_acquire);
}

bool vt__life_is_forking(void) { return mine.n_forks != 0; }

void vt__forks_prepare(void) {
    if (mine.n_forks++ != 0) return;
    mine.prepared = 0;
    for (unsigned i = 0; i < VT_FORK_SLOTS; i++) {
        const struct vt_fork_hook *hook = hook_at(i);
        if (hook == NULL) continue;
        mine.prepared |= (uint16_t)(1u << i);
        hook->prepare();
    }
}

void vt__forks_parent(void) {
    if (mine.n_forks == 0 || --mine.n_forks != 0) return;
    for (unsigned i = VT_FORK_SLOTS; i > 0; i--)
        if ((mine.prepared >> (i - 1) & 1) != 0) hook_at(i - 1)->parent();
}

void vt__forks_child(void) {
    for (unsigned i = VT_FORK_SLOTS; i > 0; i--)
        if (hook_at(i - 1) != NULL) hook_at(i - 1)->child();
    mine.n_forks = 0;
}
