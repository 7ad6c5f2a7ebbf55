/* visit.c - the blocks in use of the calling thread's heap, and of what all threads share: medium, sampled and large ones. Not
 * those in heaps of own.c, and not other threads' small ones.
 *
 * Approximate: other threads go on meanwhile with what is shared, and so does whoever visits. Before the first area is told, the
 * thread's lists and shelves are emptied, so that what is not in its slab's `free` is the program's.
 *
 * Climate: malloc.   Owns: nothing.   Locks: none here.
 */
#include "heap/impl.h"
#include "heap/shelf.h"
#include "heap/upcalls.h"

static void empty_lists(void) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return;
    vt__shelves_clear(h);
    vt__heap_drop_empty(h, /* has_heaps_lock */ false);
}

VT_READS_RACILY static void describe_slab(const struct slab *s, uintptr_t owner,
                                          struct vt_own_area *out) {
    const struct vt_class *k = &vt__classes[s->cls];
    size_t n = vt_min(s->carved, VT_SLAB_MAX_BLOCKS);
    bool may_be_shelved = is_medium_owner(owner) || owner == VT_OWNER_SAMPLED;
    *out = (struct vt_own_area){.at = (void *)vt__slice_address(vt__slab_id(s)),
                                .n_bytes = (size_t)k->capacity * k->block_bytes,
                                .block_bytes = k->block_bytes,
                                .n_carved = n};
    for (size_t i = 0; i < n; i++) {
        const struct block *b = (const struct block *)(out->at + i * k->block_bytes);
        if ((s->is_free[i / 32] >> (i % 32) & 1) != 0 || (may_be_shelved && is_shelved(b)))
            continue;
        out->is_used[i / 32] |= UINT32_C(1) << (i % 32);
        out->n_used++;
    }
}

VT_READS_RACILY static bool describe(const struct slab *s, uintptr_t owner,
                                     struct vt_own_area *out) {
    if (owner == VT_OWNER_LARGE) {
        if (s->free != NULL) return false; /* of own.c */
        size_t n_bytes = vt__large_usable(s);
        *out = (struct vt_own_area){vt__large_start(s), n_bytes, n_bytes, 1, 1, {1}};
        return true;
    }
    if (!is_medium_owner(owner) && owner != VT_OWNER_SAMPLED && owner != (uintptr_t)vt__tls.real)
        return false;
    describe_slab(s, owner, out);
    return out->n_used > 0;
}

bool vt__heap_area(size_t *cursor, struct vt_own_area *out) {
    bool is_there = false;
    if (vt__life_start() != 0 || !vt__enter()) return false;
    if (*cursor == 0) {
        empty_lists();
        *cursor = 1;
    }
    for (size_t n = vt_racy_read(vt__map.n_slices); *cursor < n && !is_there; ++*cursor) {
        const struct slab *s = vt__slab((slab_id)*cursor);
        uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
        if (owner != VT_OWNER_NONE && (owner & VT_OWNER_INNER) == 0)
            is_there = describe(s, owner, out);
    }
    vt__leave();
    return is_there;
}
