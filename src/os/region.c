/* region.c - address space that grows from the bottom, for tables that are written in signal handlers.
 *
 * The arena has a lock, so a handler must not use it. Here every step is a system call that may be made twice: whoever comes
 * second finds it done.
 *
 * Climate: signal.   Owns: nothing; the caller has the struct.   Callers: stack/.   Locks: none.
 */
#include "os/box.h"

#define LEAST_BYTES KiB(256) /* below that a region is refused */

static _Atomic(struct vt_region *) regions; /* all that are reserved, newest first */

static void join(struct vt_region *r) {
    struct vt_region *first = atomic_load_explicit(&regions, memory_order_relaxed);
    do r->next = first;
    /* release: `next`, and what the region is; pairs with the acquire in vt__regions_shrink */
    while (!atomic_compare_exchange_weak_explicit(&regions, &first, r, memory_order_release,
                                                  memory_order_relaxed));
}

/* What a region may have where addresses are few: reserved or not, they count, and are for the program. */
static size_t most_bytes(void) {
    return vt_max(vt_round_down(vt__os_address_limit() / 512, VT_OS_PAGE), LEAST_BYTES);
}

/* Under an address limit we ask for less and less. */
static bool reserve_memory(void **at, size_t *n_bytes) {
    while (vt__os_reserve(*n_bytes, VT_OS_PAGE, at) != 0) {
        *n_bytes /= 4;
        if (*n_bytes < LEAST_BYTES) return false;
    }
    vt__os_hugepages(*at, *n_bytes, /* allow */ false); /* touched sparsely */
    vt__os_core(*at, *n_bytes, /* is_wanted */ false);  /* gcore has reserved addresses, too */
    return true;
}

static void give_back(void *at, size_t n_bytes) {
    if (!vt__box_holds(at)) vt__os_unmap(at, n_bytes);
}

static VT_COLD char *reserve(struct vt_region *r) {
    void *at = NULL;
    size_t n_bytes = vt_min(vt_round_up(r->max_bytes, VT_OS_PAGE), most_bytes());
    if (r->box != 0 && vt__box_has_file())
        vt__box_span.place(r->box - 1, &at, &n_bytes);
    else if (!reserve_memory(&at, &n_bytes))
        return NULL;
    size_t none = 0;
    char *other = NULL;
    /* Whoever sets the base decides; sizes may differ, so the size is set first and only lowered. */
    if (!atomic_compare_exchange_strong_explicit(&r->n_bytes, &none, n_bytes, memory_order_relaxed,
                                                 memory_order_relaxed) &&
        none > n_bytes) {
        give_back(at, n_bytes);
        return atomic_load_explicit(&r->base, memory_order_acquire);
    }
    /* release: n_bytes before base; pairs with the acquire in vt__region_base */
    if (atomic_compare_exchange_strong_explicit(&r->base, &other, (char *)at, memory_order_release,
                                                memory_order_acquire)) {
        join(r);
        if (r->box != 0) vt__box_note_region(r);
        return at;
    }
    give_back(at, n_bytes);
    return other;
}

char *vt__region_base(struct vt_region *r) {
    char *base = atomic_load_explicit(&r->base, memory_order_acquire);
    return vt_likely(base != NULL) ? base : reserve(r);
}

static int commit(const struct vt_region *r, void *at, size_t n_bytes) {
    if (vt__box_holds(at)) return vt__box_span.make_room(at, n_bytes);
    int err = vt__os_commit(at, n_bytes);
    if (err == 0 && r->box != 0) vt__os_core(at, n_bytes, /* is_wanted */ true);
    return err;
}

/* The region does not become shorter meanwhile. */
static bool grow_to(struct vt_region *r, char *base, size_t end) {
    size_t n_bytes = atomic_load(&r->n_bytes);
    if (end > n_bytes) return false;
    size_t ready = atomic_load_explicit(&r->n_ready, memory_order_relaxed);
    size_t wanted = vt_min(vt_round_up(end, r->step_bytes), n_bytes);
    size_t from = vt_min(ready, wanted);
    if (from < wanted && commit(r, base + from, wanted - from) != 0) return false;
    /* release: who reads the new mark may use the memory; pairs with the acquire in vt__region_ready */
    while (ready < wanted &&
           !atomic_compare_exchange_weak_explicit(&r->n_ready, &ready, wanted, memory_order_release,
                                                  memory_order_relaxed)) {}
    return true;
}

static VT_COLD bool grow(struct vt_region *r, size_t end) {
    char *base = vt__region_base(r);
    if (base == NULL) return false;
    /* seq_cst, as the load of n_bytes: either shrink() sees us, or we see what it left */
    atomic_fetch_add(&r->n_growing, 1);
    bool is_done = grow_to(r, base, end);
    atomic_fetch_sub(&r->n_growing, 1);
    return is_done;
}

/* Somebody who is growing it may be the code that we interrupted: then it stays as it is. */
static void shrink(struct vt_region *r) {
    size_t n_bytes = atomic_load_explicit(&r->n_bytes, memory_order_relaxed);
    size_t n_ready = atomic_load_explicit(&r->n_ready, memory_order_relaxed);
    size_t least = vt_max(2 * n_ready, most_bytes());
    if (least >= n_bytes || !atomic_compare_exchange_strong(&r->n_bytes, &n_bytes, least)) return;
    if (atomic_load(&r->n_growing) != 0 || atomic_load(&r->n_ready) > least)
        atomic_store(&r->n_bytes, n_bytes);
    else
        vt__os_unmap(atomic_load_explicit(&r->base, memory_order_relaxed) + least, n_bytes - least);
}

void vt__regions_shrink(void) {
    struct vt_region *r = atomic_load_explicit(&regions, memory_order_acquire);
    for (; r != NULL; r = r->next) shrink(r);
}

bool vt__region_ready(struct vt_region *r, size_t end) {
    if (vt_likely(end <= atomic_load_explicit(&r->n_ready, memory_order_acquire))) return true;
    return grow(r, end);
}

bool vt__regions_next(const struct vt_region **cursor, void **at, size_t *n_bytes) {
    const struct vt_region *r =
        *cursor != NULL ? (*cursor)->next : atomic_load_explicit(&regions, memory_order_acquire);
    if (r == NULL) return false;
    *cursor = r;
    *at = atomic_load_explicit(&r->base, memory_order_relaxed);
    *n_bytes = atomic_load_explicit(&r->n_ready, memory_order_relaxed);
    return true;
}
