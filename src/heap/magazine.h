/* magazine.h - free medium blocks that a thread keeps at hand, of any slab, newest first.
 *
 * malloc takes from the magazine of its class, free puts there; neither looks at a slab. What is too much goes back in batches
 * (magazine.c). The blocks are named by an array of the heap's, so nobody can lead a magazine astray by writing into a free block.
 *
 * A block in a magazine bears a mark in its second word (shelf.h): a second free finds it there, and malloc that it is gone.
 *
 * Climate: malloc.   Owns: heap.magazines.   Locks: none; the heap's owner calls.
 */
#ifndef VT_HEAP_MAGAZINE_H
#define VT_HEAP_MAGAZINE_H

#include "heap/shelf.h"

VT_HIDDEN_BEGIN

void vt__magazine_overflow(struct heap *h, unsigned cls); /* it is too full */
void vt__magazines_clear(struct heap *h);                 /* all blocks go back */
bool vt__magazine_can_grow(struct heap *h, unsigned cls); /* by one block; it does then */
bool vt__magazine_has_room(struct heap *h, unsigned cls); /* for one more; it may grow for that */
size_t vt__magazines_bytes(const struct heap *h); /* in all of them; of another thread: a hint */

/* A magazine is named by the number of its class among the medium ones. size_t, so that no instruction is spent on its sign. */
VT_INLINE size_t magazine_of(unsigned cls) { return (size_t)cls - VT_N_SMALL; }

VT_INLINE unsigned magazine_n(const struct heap *h, unsigned cls) {
    return (unsigned)h->magazines.n[magazine_of(cls)];
}

/* There is room for it. The slot first: a signal handler that comes in between must not take what is not there. */
VT_INLINE void magazine_put(struct heap *h, size_t i, struct block *b) {
    unsigned n = (unsigned)h->magazines.n[i];
    if (VT_HARDEN > 0) b->mark = shelf_mark(b);
    h->magazines.slot[i][n] = b;
    atomic_signal_fence(memory_order_release);
    h->magazines.n[i] = (n + 1);
}

/* NULL: there is none. */
VT_INLINE struct block *magazine_take(struct heap *h, unsigned cls) {
    size_t i = magazine_of(cls);
    unsigned n = (unsigned)h->magazines.n[i];
    if (vt_unlikely(n == 0)) return NULL;
    h->magazines.n[i] = (n - 1);
    struct block *b = h->magazines.slot[i][n - 1];
    if (vt_unlikely(VT_HARDEN > 0 && !is_shelved(b))) vt__bad_link(b, cls);
    b->mark = 0;
    return b;
}

VT_HIDDEN_END

#endif
