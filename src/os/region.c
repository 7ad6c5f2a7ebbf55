/* region.c - address space that grows from the bottom, for tables that are written in signal handlers.
 *
 * The arena has a lock, so a handler must not use it. Here every step is a system call that may be made twice: whoever comes
 * second finds it done.
 *
 * Climate: signal.   Owns: nothing; the caller has the struct.   Callers: stack/.   Locks: none.
 */
#include "os/os.h"

#define LEAST_BYTES KiB(256) /* below that a region is refused */

/* Under an address limit we ask for less and less. */
static VT_COLD char *reserve(struct vt_region *r) {
    void *at = NULL;
    /* reserved or not, it counts: what a limit allows is for the program */
    size_t n_bytes = vt_min(r->max_bytes, vt_round_down(vt__os_address_limit() / 256, VT_OS_PAGE));
    while (vt__os_reserve(n_bytes, VT_OS_PAGE, &at) != 0) {
        n_bytes /= 4;
        if (n_bytes < LEAST_BYTES) return NULL;
    }
    vt__os_hugepages(at, n_bytes, /* allow */ false); /* touched sparsely */
    vt__os_core(at, n_bytes, /* is_wanted */ false);
    size_t none = 0;
    char *other = NULL;
    /* Whoever sets the base decides; sizes may differ, so the size is set first and only lowered. */
    if (!atomic_compare_exchange_strong_explicit(&r->n_bytes, &none, n_bytes, memory_order_relaxed,
                                                 memory_order_relaxed) &&
        none > n_bytes) {
        vt__os_unmap(at, n_bytes);
        return atomic_load_explicit(&r->base, memory_order_acquire);
    }
    /* release: n_bytes before base; pairs with the acquire in vt__region_base */
    if (atomic_compare_exchange_strong_explicit(&r->base, &other, (char *)at, memory_order_release,
                                                memory_order_acquire))
        return at;
    vt__os_unmap(at, n_bytes);
    return other;
}

char *vt__region_base(struct vt_region *r) {
    char *base = atomic_load_explicit(&r->base, memory_order_acquire);
    return vt_likely(base != NULL) ? base : reserve(r);
}

static VT_COLD bool grow(struct vt_region *r, size_t end) {
    char *base = vt__region_base(r);
    if (base == NULL || end > atomic_load_explicit(&r->n_bytes, memory_order_relaxed)) return false;
    size_t ready = atomic_load_explicit(&r->n_ready, memory_order_relaxed);
    size_t wanted = vt_min(vt_round_up(end, r->step_bytes),
                           atomic_load_explicit(&r->n_bytes, memory_order_relaxed));
    size_t from = vt_min(ready, wanted);
    if (from < wanted && vt__os_commit(base + from, wanted - from) != 0) return false;
    /* release: who reads the new mark may use the memory; pairs with the acquire in vt__region_ready */
    while (ready < wanted &&
           !atomic_compare_exchange_weak_explicit(&r->n_ready, &ready, wanted, memory_order_release,
                                                  memory_order_relaxed)) {}
    return true;
}

bool vt__region_ready(struct vt_region *r, size_t end) {
    if (vt_likely(end <= atomic_load_explicit(&r->n_ready, memory_order_acquire))) return true;
    return grow(r, end);
}
