/* stock.h - slices that a thread keeps when its slabs run empty, for its next slabs.
 *
 * The shards are everybody's, under a lock. A program whose use goes up and down would go there once per slab each time; with a
 * stock it goes there once for many, and the more it goes up and down, the more its stock may hold.
 *
 *   a slab runs empty, the stock is full    its older half goes back; after very many in a row it may hold one
 *   a slab is wanted, the stock is empty    if some went back before, it may hold twice as much from now on; half of that comes at
 *                                           once, if it is resident
 *
 * So a program that only shrinks keeps one slice of each kind, and one that grows keeps none.
 *
 * Climate: malloc.   Owns: heap.stock.   Locks: none; the heap's owner calls.
 */
#ifndef VT_HEAP_STOCK_H
#define VT_HEAP_STOCK_H

#include "heap/impl.h"

VT_HIDDEN_BEGIN

/* n_slices slices in a row, 1 or 2, that were in use before: those of the newest slab of this class, or the newest. False: none. */
bool vt__stock_take(struct heap *h, unsigned n_slices, unsigned cls, slab_id *first);
/* They stay here. */
void vt__stock_give(struct heap *h, slab_id first, unsigned n_slices);
bool vt__stock_clear(struct heap *h);          /* all go back; false: there were none */
size_t vt__stock_slices(const struct heap *h); /* of any thread: a hint */

VT_HIDDEN_END

#endif
