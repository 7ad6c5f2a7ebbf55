/* shelf.h - free blocks a thread keeps at hand beside its lists, newest first: medium blocks of any slab, and small ones of
 * other threads' slabs.
 *
 * malloc takes from the shelf before it asks anybody else for memory; what becomes too much goes home in batches (shelf.c).
 * A block on a shelf bears a mark in its second word, made of its address and the key: a second free finds it there.
 *
 * Climate: malloc.   Owns: heap.shelf.
 */
#ifndef VT_HEAP_SHELF_H
#define VT_HEAP_SHELF_H

#include "heap/link.h"

VT_INLINE uintptr_t shelf_mark(const struct block *b) { return ~link_encode(NULL, b); }

VT_INLINE bool is_shelved(const struct block *b) {
    return VT_HARDEN > 0 && b->mark == shelf_mark(b);
}

/* The block under b; NULL at the bottom; damage ends the process. Unlike a list's, these may lie anywhere. */
VT_INLINE struct block *shelf_next(const struct block *b, unsigned cls) {
    uintptr_t d = link_distance(b);
    struct block *next = link_follow(b, d);
    if (vt_likely(vt__is_in_window(next))) return next;
    if (!link_is_end(b, d)) vt__bad_link(b, cls);
    return NULL;
}

VT_INLINE void shelf_push(struct heap *h, unsigned cls, struct block *b) {
    struct shelf *f = &h->shelf[cls];
    b->link = link_encode(f->top, b);
    if (VT_HARDEN > 0) b->mark = shelf_mark(b);
    f->top = b;
    f->n++;
    h->shelf_bytes += vt__classes[cls].block_bytes;
}

VT_INLINE struct block *shelf_pop(struct heap *h, unsigned cls) {
    struct shelf *f = &h->shelf[cls];
    struct block *b = f->top;
    if (b == NULL) return NULL;
    f->top = shelf_next(b, cls);
    f->n--;
    h->shelf_bytes -= vt__classes[cls].block_bytes;
    b->mark = 0;
    return b;
}

VT_INLINE bool shelf_is_too_full(const struct heap *h, unsigned cls) {
    return h->shelf[cls].n > vt__classes[cls].shelf_max || h->shelf_bytes > VT_SHELVES_BYTES;
}

#endif
