/* secure.h - what the secure build (level 2) does besides; empty in the others.
 *
 *   held           what the program does not hold cannot be freed, and what it holds only as it was made: held.h
 *   random order   fresh blocks of a slab are handed out in random order
 *   zeroed         freed blocks up to 1 KiB are cleared
 *   quarantine     the last 256 KiB a thread freed are not handed out again yet, whoever owns them; large blocks are not kept
 *
 * Climate: malloc.   Owns: nothing; secure.c has the quarantine.
 */
#ifndef VT_HEAP_SECURE_H
#define VT_HEAP_SECURE_H

#include "heap/impl.h"

#if VT_HARDEN > 1
VT_HIDDEN_BEGIN
void vt__secure_free(struct slab *s,
                     struct block *b); /* small or medium, by a thread with a heap */
void vt__secure_flush(struct heap *h);
void vt__secure_shuffle(struct heap *h, uint16_t *order, unsigned n);
VT_HIDDEN_END
#else
VT_INLINE void vt__secure_free(struct slab *s, struct block *b) { (void)s, (void)b; }
VT_INLINE void vt__secure_flush(struct heap *h) { (void)h; }
#endif

#endif
