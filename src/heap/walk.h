/* walk.h - slabs, runs and lists as any thread may look at them: to count, not to change.
 *
 * Approximate: their owners go on meanwhile, with plain instructions, because an atomic decrement in two steps would cost free an
 * instruction. The thread sanitizer is told to look away in the functions of the two files that walk, and nowhere else.
 *
 * Climate: malloc.   Owns: nothing.   Callers: stats.c, sums.c.
 */
#ifndef VT_HEAP_WALK_H
#define VT_HEAP_WALK_H

#include "heap/impl.h"
#include "heap/link.h"
#include "heap/own_cache.h"
#include "vitrine.h"

/* The first slice from i on that is in use, or being purged; n: there is none below that. */
VT_INLINE size_t next_used_slice(size_t i, size_t n) {
    for (; i < n; i = (i / VT_CHUNK_SLICES + 1) * VT_CHUNK_SLICES) {
        uint64_t used =
            (~vt__chunks[i / VT_CHUNK_SLICES].free_slices & VT_ALL_SLICES) >> (i % VT_CHUNK_SLICES);
        if (used != 0) return i + (size_t)__builtin_ctzll(used);
    }
    return n;
}

/* What threads keep for their next slabs is in use for the shards, and free for who reads statistics. */
VT_INLINE void note_stocks(struct vt_stats *out, size_t n_slices) {
    size_t n_bytes = vt_min(n_slices << VT_SLICE_SHIFT, out->active);
    out->active -= n_bytes;
    out->retained += n_bytes;
}

/* Blocks of a slab: cut from it so far; not in its `free`; of these, freed by other threads. */
struct slab_use {
    uint32_t carved, out, remote;
};

VT_INLINE struct slab_use slab_use_of(const struct slab *s) {
    struct slab_use u = {.carved = (uint32_t)s->carved, .out = s->room};
    if (s->state == SLAB_FULL) u.out += vt__classes[s->cls].capacity - vt__wake_after(s);
    if (s->state == SLAB_CURRENT && u.out > 0) u.out--;
    if (u.out > u.carved) u.out = u.carved;
    uint64_t word = atomic_load_explicit(&s->remote, memory_order_relaxed);
    if (vt_likely(word == 0)) return u;
    if (vt__remote_is_discarded(word)) return (struct slab_use){0, 0, 0}; /* its pages are gone */
    u.remote = (uint32_t)vt_min(vt__remote_count(word), u.out);
    return u;
}

/* Pages that were never used before become resident as blocks are carved. */
VT_INLINE size_t slab_resident_bytes(const struct slab *s, uint32_t carved) {
    const struct vt_class *k = &vt__classes[s->cls];
    uint32_t n = s->was_zero || carved == 0 ? carved : k->capacity;
    return vt_min(vt_round_up((size_t)n * k->block_bytes, VT_OS_PAGE), k->n_slices * VT_SLICE);
}

/* Blocks ready in a heap's list of one class. The list may be used up while we walk: a link that leads nowhere ends it. */
VT_INLINE size_t list_length(const struct heap *h, unsigned cls, size_t most) {
    const struct block *b = *(struct block *const volatile *)&h->list[cls];
    size_t n = 0;
    while (b != &vt__nil && n < most) {
        n++;
        uintptr_t d = link_distance(b);
        if (link_is_far(d, VT_CHUNK)) break;
        b = link_follow(b, d);
        if (!vt__is_in_window(b)) break;
    }
    return n;
}

/* What a thread keeps of a heap of own.c, the i-th of N_OWN_CACHES; NULL: nothing, or it is void since that heap was destroyed. */
VT_INLINE const struct own_cache *own_cache_kept(const struct heap *h, unsigned i) {
    const struct own_cache *k = h->own_caches != NULL ? &h->own_caches[i] : NULL;
    const struct own_head *o = k != NULL ? (const struct own_head *)k->own : NULL;
    return o != NULL && o->generation == k->generation ? k : NULL;
}
VT_INLINE size_t own_cache_length(const struct own_cache *k, unsigned cls) {
    return vt_min(k->shelf[cls].max - k->shelf[cls].room, VT_SLAB_MAX_BLOCKS);
}

#endif
