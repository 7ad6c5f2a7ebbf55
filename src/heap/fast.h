/* fast.h - malloc and free when all goes well. tests/cost counts these instructions; everything rare is elsewhere.
 *
 * malloc: the class from the size, the first block of its list, the next one becomes the first.
 * free:   the slab from the address, is it ours, does a block start here, is it not free already, onto the slab's list.
 *
 * Climate: malloc.
 */
#ifndef VT_HEAP_FAST_H
#define VT_HEAP_FAST_H

#include "heap/link.h"
#include "heap/secure.h"

/* Block number k of s becomes free; true when it was already. Written out, because the shifting of C takes nine
 * instructions where three do. */
VT_INLINE bool mark_free(struct slab *s, size_t k) {
#if defined(__x86_64__)
    bool was_free;
    uint32_t bits;
    __asm__("movl %c[at](%[s],%[word],4), %[bits]\n\t"
            "btsl %k[k], %[bits]\n\t"
            "movl %[bits], %c[at](%[s],%[word],4)"
            : [bits] "=&r"(bits), "=@ccc"(was_free), "+m"(s->is_free)
            : [s] "r"(s), [word] "r"(k / 32), [k] "r"(k), [at] "i"(offsetof(struct slab, is_free))
            : "cc");
    return was_free;
#else
    uint32_t bit = UINT32_C(1) << (k % 32);
    bool was_free = (s->is_free[k / 32] & bit) != 0;
    s->is_free[k / 32] |= bit;
    return was_free;
#endif
}

/* Which block starts at this offset (below one slice) of a slab? With recip = ceil(2^32 / size), bits 32 and up of
 * offset * recip are offset / size, and bits 15 (the slice's) to 31 are zero just when nothing remains (the proof is in
 * docs/decisions/hardening.md). Rotated to the top, a remainder makes the number huge: one compare with the number of
 * blocks finds both. */
VT_INLINE size_t block_number(size_t offset, const struct slab *s) {
    uint64_t x = offset * s->recip >> VT_SLICE_SHIFT;
    return x >> (32 - VT_SLICE_SHIFT) | x << (32 + VT_SLICE_SHIFT);
}

/* The same for a block that is known to start in the slab's first slice. */
VT_INLINE size_t number_in_slab(const struct block *b, const struct slab *s) {
    return ((uintptr_t)b & (VT_SLICE - 1)) * s->recip >> 32;
}

typedef void *vt_malloc_slow(size_t n_bytes);

VT_INLINE void *vt__fast_malloc_or(size_t n_bytes, vt_malloc_slow *slow) {
    size_t i = n_bytes - 1; /* malloc(0) wraps around and goes the slow way */
    struct heap *h = vt_racy_read(vt__tls.heap);
    if (vt_unlikely(i >= VT_SMALL_MAX) || vt_unlikely(VT_HARDEN > 0 && h == NULL))
        return slow(n_bytes);
    i >>= 4;
    VT_KEEP_IN_RCX(i);
    struct block *b = h->list[i];
    VT_KEEP_IN_RAX(b);
    uintptr_t d = link_distance(b);
    if (vt_unlikely(link_is_far(d, VT_SLICE)))
        return slow(n_bytes); /* last block, empty, or damaged */
    struct block *next = link_follow(b, d);
    h->list[i] = next;
    __builtin_prefetch(next, 1); /* the next malloc reads its link: docs/decisions/prefetch.md */
    return b;
}

VT_INLINE void *vt__fast_malloc(size_t n_bytes) {
    return vt__fast_malloc_or(n_bytes, vt__malloc_slow);
}

/* A block of one of our own small slabs. */
VT_INLINE void free_own(struct slab *s, uintptr_t offset, void *p) {
    struct block *b = p;
    size_t k = block_number(offset & (VT_SLICE - 1), s);
    if (VT_HARDEN > 0 && vt_unlikely(k >= s->carved)) vt__bad_free(p);
    if (VT_HARDEN > 1) {
        vt__secure_free(s, b);
        return;
    }
    if (VT_HARDEN > 0 && vt_unlikely(mark_free(s, k))) vt__bad_free(p);
    b->link = link_encode(s->free, b);
    s->free = b;
    if (vt_unlikely(--s->room == 0)) vt__free_attend(p);
}

typedef void vt_free_other(void *p, struct slab *s);

VT_INLINE void vt__fast_free_or(void *p, vt_free_other *other) {
    uintptr_t offset = (uintptr_t)p - vt__map.base;
    size_t slice = offset >> VT_SLICE_SHIFT;
    if (vt_unlikely(slice >= vt_racy_read(vt__map.n_slices))) {
        vt__free_outside(p); /* NULL, or not ours */
        return;
    }
    struct slab *s = &vt__map.slabs[slice];
    /* relaxed: equal means the slab is ours, and we wrote everything about it ourselves */
    if (vt_unlikely(atomic_load_explicit(&s->owner, memory_order_relaxed) !=
                    vt_racy_read(vt__tls.tag))) {
        other(p, s); /* medium, large, or another thread's */
        return;
    }
    free_own(s, offset, p);
}

VT_INLINE void vt__fast_free(void *p) { vt__fast_free_or(p, vt__free_other); }

#endif
