/* spare.h - free sampled blocks that a thread keeps for its next samples of the same class.
 *
 * A program that takes and gives blocks in turns has one sampled every now and then. The slabs of sampled blocks are everybody's,
 * under a lock; with a spare at hand neither malloc nor free has to go there. The probes go on knowing a spare by its address
 * (vt__probe_rests), so that its next malloc needs no lock of theirs either. What is too much goes back many at a time.
 *
 * A spare bears a shelf's mark: a second free finds it.
 *
 * Climate: malloc.   Owns: heap.spare.   Locks: none; the heap's owner calls.
 */
#ifndef VT_HEAP_SPARE_H
#define VT_HEAP_SPARE_H

#include "heap/shelf.h"

VT_HIDDEN_BEGIN

/* Of a thread, all together: one block of the largest class, or an eighth of the medium blocks that it has. */
#define VT_SPARES_MIN_BYTES KiB(64)
#define VT_SPARES_MAX_BYTES MiB(1)

/* A sampled block of class `cls`: a spare, or one of the shared slabs. NULL: no memory. */
struct block *vt__spare_take(struct heap *h, unsigned cls, bool *is_zero);
/* Keeps b, which was freed and which the probes know no more than by its address. Where there is no room, others go. */
void vt__spare_keep(struct heap *h, unsigned cls, struct block *b);
void vt__spares_clear(struct heap *h); /* all go back to the shared slabs */

VT_HIDDEN_END

#endif
