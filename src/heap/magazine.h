/* magazine.h - free medium blocks that a thread keeps at hand, of any slab, newest first.
 *
 * malloc takes from the magazine of its class, free puts there; neither looks at a slab. What is too much goes back in batches
 * (magazine.c). The blocks are named by an array of the heap's, so nobody can lead a magazine astray by writing into a free block.
 *
 * A block in a magazine bears a mark in its second word (shelf.h): a second free finds it there, and malloc that it is gone.
 *
 * Climate: malloc.   Owns: heap.magazine.   Locks: none; the heap's owner calls.
 */
#ifndef VT_HEAP_MAGAZINE_H
#define VT_HEAP_MAGAZINE_H

#include "heap/shelf.h"

VT_HIDDEN_BEGIN

void vt__magazine_overflow(struct heap *h, unsigned cls); /* it is too full */
void vt__magazines_clear(struct heap *h);                 /* all blocks go back */
size_t vt__magazines_bytes(const struct heap *h); /* in all of them; of another thread: a hint */

VT_INLINE struct magazine *magazine_of(struct heap *h, unsigned cls) {
    return &h->magazine[cls - VT_N_SMALL];
}

/* There is room for it. The slot first: a signal handler that comes in between must not take what is not there. */
VT_INLINE void magazine_put(struct magazine *m, struct block *b) {
    uint32_t n = m->n;
    if (VT_HARDEN > 0) b->mark = shelf_mark(b);
    m->slot[n] = b;
    atomic_signal_fence(memory_order_release);
    m->n = n + 1;
}

/* NULL: there is none. */
VT_INLINE struct block *magazine_take(struct magazine *m, unsigned cls) {
    if (vt_unlikely(m->n == 0)) return NULL;
    struct block *b = m->slot[--m->n];
    if (vt_unlikely(VT_HARDEN > 0 && !is_shelved(b))) vt__bad_link(b, cls);
    b->mark = 0;
    return b;
}

VT_HIDDEN_END

#endif
