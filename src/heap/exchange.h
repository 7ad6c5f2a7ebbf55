/* exchange.h - free medium blocks on their way from threads that have too many to threads that want some.
 *
 * Where one thread allocates and another frees, the magazines of one are always empty, and those of the other always full. Each trip
 * to a slab that all share takes the lock of its class, and most slabs of medium blocks hold only a few: they would be made and released
 * all the time. So what a thread has too much of it puts into a **parcel**, blocks of all classes. A full one goes to a cell that all
 * threads see, and the next thread whose magazine is empty takes it as it is: two locked instructions for a parcel, and no slab is
 * touched.
 *
 *   trim ->  heap.parcel  ->  cell  ->  magazines of another thread
 *                         ->  slabs, when all cells are full
 *
 * A block in a parcel bears a shelf's mark: a second free finds it.
 *
 * Climate: malloc.   Owns: the cells; heap.parcel, by the heap's owner.   Locks: none; a cell is claimed by a byte of its own.
 */
#ifndef VT_HEAP_EXCHANGE_H
#define VT_HEAP_EXCHANGE_H

#include "heap/impl.h"

VT_HIDDEN_BEGIN

/* Has any thread ever had too many? Most programs have not, and need not have the code. */
extern _Atomic bool vt__exchange_is_used;

/* Frees a medium block that bears its mark: into h's parcel, which is handed on when it is full. */
void vt__exchange_put(struct heap *h, struct block *b);
/* Hands on what is in h's parcel: its thread ends, or rests. */
void vt__exchange_flush(struct heap *h);
/* A block of this class out of a cell, unmarked; others go to h's magazines, as far as there is room. NULL: there is none. */
struct block *vt__exchange_take(struct heap *h, unsigned cls);
/* What is in the cells goes to the slabs. */
void vt__exchange_clear(void);
void vt__exchange_forked(void); /* in the child */

/* What is in the cells, in all and by class; n has a number for each class of all. */
size_t vt__exchange_bytes(void);
void vt__exchange_count(uint32_t n[VT_N_CLASSES]);

VT_HIDDEN_END

#endif
