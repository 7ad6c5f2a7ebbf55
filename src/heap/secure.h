/* secure.h - what the secure build (level 2) does besides; empty in the others.
 *
 *   exact bits      a block's bit is set whenever the program does not hold it, not only in the slab's free list: a double
 *                   free is noticed until the block is handed out again
 *   random order    fresh blocks of a slab are handed out in random order
 *   zeroed          freed blocks up to 1 KiB are cleared
 *   quarantine      the last 256 KiB a thread freed are not handed out again yet
 *
 * Climate: malloc.   Owns: nothing; secure.c has the quarantine.
 */
#ifndef VT_HEAP_SECURE_H
#define VT_HEAP_SECURE_H

#include "heap/impl.h"

#if VT_HARDEN > 1
VT_HIDDEN_BEGIN
void *vt__secure_handed_out(struct block *b); /* of one of our own slabs, or of the common heap */
void vt__secure_free(struct slab *s, struct block *b); /* its bit was just set */
void vt__secure_flush(struct heap *h);
void vt__secure_shuffle(struct heap *h, uint16_t *order, unsigned n);
VT_HIDDEN_END
#else
VT_INLINE void *vt__secure_handed_out(struct block *b) { return b; }
VT_INLINE void vt__secure_flush(struct heap *h) { (void)h; }
#endif

#endif
