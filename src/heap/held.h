/* held.h - what the program holds, and how it asked for it: the secure build's door to the heap; the others have none.
 *
 * Every block has a byte beside its slab's descriptor: 0 while the program does not hold it, else 1 + enum vt_made_by. malloc and
 * its sisters write it, free takes it away in one step. So a second free is found when it is made, whoever made the first and wherever
 * the block is by now; and so is one by the wrong name. The heap itself does not look at it.
 *
 * Climate: malloc.   Owns: slab.held.   Callers: dialect/blocks.h.
 */
#ifndef VT_HEAP_HELD_H
#define VT_HEAP_HELD_H

#include "heap/fast.h"

#if VT_HARDEN > 1
VT_HIDDEN_BEGIN

/* By malloc, and realloc has changed it since: a class may be larger than its size needs. */
#define VT_HELD_RESIZED (VT_MADE_BY_NEW_ARRAY + 2)

/* p was not held as it should have been: ends the process, unless by is malloc's and it was resized. */
VT_COLD void vt__held_otherwise(const void *p, uint8_t was, enum vt_made_by by);
void vt__held_free_sized(void *p, size_t align, size_t n_bytes, enum vt_made_by by);
void *vt__held_realloc(void *p, size_t n_bytes);

/* The byte of the block that starts at p; NULL: p is not in the window, or none starts there. A large block is number 0: it has
 * no recip. */
VT_INLINE uint8_t *held_byte(const void *p) {
    uintptr_t offset = (uintptr_t)p - vt__map.base;
    size_t slice = offset >> VT_SLICE_SHIFT;
    if (vt_unlikely(slice >= vt_racy_read(vt__map.n_slices))) return NULL;
    struct slab *s = &vt__map.slabs[slice];
    size_t k = block_number(offset & (VT_SLICE - 1), s);
    return vt_likely(k < VT_SLAB_MAX_BLOCKS) ? &s->held[k] : NULL;
}

VT_INLINE void *held_as(void *p, uint8_t how) {
    uint8_t *byte = held_byte(p);
    /* relaxed: whoever frees it got p from us, and with it sees this */
    if (vt_likely(byte != NULL)) __atomic_store_n(byte, how, __ATOMIC_RELAXED);
    return p;
}

/* Answers how it was held. What starts no block is left to free, which says so. */
VT_INLINE uint8_t hold_no_more(void *p, enum vt_made_by by) {
    uint8_t *byte = held_byte(p);
    if (vt_unlikely(byte == NULL)) return 0;
    /* Of two threads that free it at once one finds it gone. relaxed: nothing else is handed over by it. */
    uint8_t was = __atomic_exchange_n(byte, 0, __ATOMIC_RELAXED);
    if (vt_unlikely(was != by + 1)) vt__held_otherwise(p, was, by);
    return was;
}

VT_INLINE void *vt__held(void *p, enum vt_made_by by) { return held_as(p, (uint8_t)(by + 1)); }
VT_INLINE void vt__held_free(void *p, enum vt_made_by by) {
    (void)hold_no_more(p, by);
    vt__fast_free(p);
}

VT_HIDDEN_END
#else
VT_INLINE void *vt__held(void *p, VT_UNUSED enum vt_made_by by) { return p; }
VT_INLINE void vt__held_free(void *p, VT_UNUSED enum vt_made_by by) { vt__fast_free(p); }
VT_INLINE void vt__held_free_sized(void *p, VT_UNUSED size_t align, size_t n_bytes,
                                   VT_UNUSED enum vt_made_by by) {
    vt__free_sized(p, n_bytes);
}
VT_INLINE void *vt__held_realloc(void *p, size_t n_bytes) { return vt__realloc(p, n_bytes); }
#endif

#endif
