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

/* The block at this offset of the window becomes free; true when it was already. Three instructions, where C's shifting
 * takes nine. */
VT_INLINE bool mark_free(uintptr_t offset) {
    uint32_t *fbits = vt__map.fbits;
    size_t word = offset >> VT_WORD_SHIFT;
#if defined(__x86_64__)
    bool was_free;
    uint32_t bits;
    __asm__("movl (%[table],%[word],4), %[bits]\n\tbtsl %[bit], %[bits]\n\tmovl %[bits], (%[table],%[word],4)"
            : [bits] "=&r"(bits), "=@ccc"(was_free), "+m"(fbits[word])
            : [table] "r"(fbits), [word] "r"(word), [bit] "r"((uint32_t)(offset >> 4))
            : "cc");
    return was_free;
#else
    uint32_t bit = UINT32_C(1) << (offset >> 4 & 31);
    bool was_free = (fbits[word] & bit) != 0;
    fbits[word] |= bit;
    return was_free;
#endif
}

/* The descriptor of a slice, from a word number: both tables are indexed by the same shifted offset. */
VT_INLINE struct slab *slab_of_word(size_t word) {
    if (sizeof(struct slab) == (size_t)1 << (VT_SLICE_SHIFT - VT_WORD_SHIFT))
        return (struct slab *)((char *)vt__map.slabs + (word & ~(sizeof(struct slab) - 1)));
    return vt__slab((slab_id)(word >> (VT_SLICE_SHIFT - VT_WORD_SHIFT)));
}

/* Does a block start at this offset (< one slice) of a slab? offset * ceil(2^32/size) mod 2^32 is below the multiplier
 * just when size divides offset; proof in docs/decisions/hardening.md. */
VT_INLINE bool is_block_start(uint32_t offset, const struct slab *s) { return offset * s->recip < s->recip_again; }

VT_INLINE void *vt__fast_malloc(size_t n_bytes) {
    size_t i = n_bytes - 1; /* malloc(0) wraps around and goes the slow way */
    struct heap *h = vt__tls.heap;
    if (vt_unlikely(i >= VT_SMALL_MAX)) return vt__malloc_slow(n_bytes);
    i >>= 4;
    struct block *b = h->list[i];
    uintptr_t d = link_distance(b);
    if (vt_unlikely(link_is_far(d, VT_SLICE))) return vt__malloc_slow(n_bytes); /* last block, empty, or damaged */
    struct block *next = link_follow(b, d);
    h->list[i] = next;
    __builtin_prefetch(next, 1); /* the next malloc reads its link: docs/decisions/prefetch.md */
    return b;
}

VT_INLINE void vt__fast_free(void *p) {
    uintptr_t offset = (uintptr_t)p - vt__map.base;
    size_t word = offset >> VT_WORD_SHIFT;
    if (vt_unlikely(word >= vt_racy_read(vt__map.n_words))) {
        vt__free_slow(p); /* NULL, or not ours */
        return;
    }
    struct slab *s = slab_of_word(word);
    /* relaxed: equal means the slab is ours, and we wrote everything about it ourselves */
    if (vt_unlikely(atomic_load_explicit(&s->owner, memory_order_relaxed) != vt__tls.tag)) {
        vt__free_slow(p);
        return;
    }
#if VT_HARDEN > 0
    if (vt_unlikely(!is_block_start((uint32_t)offset & (VT_SLICE - 1), s))) vt__bad_free(p);
    if (vt_unlikely(mark_free(offset))) vt__bad_free(p);
#endif
    struct block *b = p;
    b->link = link_encode(s->free, b);
    s->free = b;
    if (vt_unlikely(--s->room == 0)) vt__free_attend(s);
}

#endif
