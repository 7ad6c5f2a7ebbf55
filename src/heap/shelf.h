/* shelf.h - small blocks of other threads' slabs that a thread freed, newest first, until they go home together (shelf.c).
 *
 * A block on a shelf bears a mark in its second word, made of its address and the key: a second free finds it there. A small
 * one keeps it until its owner has it back. Its link is salted with the number of the heap: where a second free puts it on another
 * list, the link is of that one from then on, and whoever follows the first list finds that out (check.c).
 *
 * Climate: malloc.   Owns: heap.shelf.
 */
#ifndef VT_HEAP_SHELF_H
#define VT_HEAP_SHELF_H

#include "heap/link.h"

VT_INLINE uintptr_t shelf_mark(const struct block *b) { return (uintptr_t)b ^ vt__map.mark_key; }

VT_INLINE bool is_shelved(const struct block *b) {
    return VT_HARDEN > 0 && b->mark == shelf_mark(b);
}

/* The salt of what h keeps; neither 0 nor VT_SALT_REMOTE. Two of 65,534 heaps may have the same. */
VT_INLINE uintptr_t shelf_salt(const struct heap *h) { return h->shelf_salt; }

/* The block under b, which is about to leave its shelf: as it was put there, or the process ends. */
VT_INLINE struct block *shelf_next(const struct block *b, unsigned cls, uintptr_t salt) {
    struct block *next = link_next_salted(b, cls, salt);
    if (vt_unlikely(VT_HARDEN > 0 && !is_shelved(b))) vt__bad_link(b, cls);
    return next;
}

VT_INLINE void shelf_put(const struct heap *h, struct shelf *f, struct block *b) {
    b->link = link_salted(f->top, b, shelf_salt(h));
    if (VT_HARDEN > 0) b->mark = shelf_mark(b);
    f->top = b;
    f->n++;
}

/* As if it were the only one on a shelf, whose salt is 0. */
VT_INLINE void shelf_prepare_alone(struct block *b) {
    b->link = link_encode(NULL, b);
    if (VT_HARDEN > 0) b->mark = shelf_mark(b);
}

/* NULL: there is none. */
VT_INLINE struct block *shelf_take(const struct heap *h, struct shelf *f, unsigned cls) {
    struct block *b = f->top;
    if (b == NULL) return NULL;
    f->top = shelf_next(b, cls, shelf_salt(h));
    f->n--;
    b->mark = 0;
    return b;
}

VT_INLINE void shelf_push(struct heap *h, unsigned cls, struct block *b) {
    shelf_put(h, &h->shelf[cls], b);
    h->shelf_bytes += vt__classes[cls].block_bytes;
    h->shelf_used |= UINT64_C(1) << cls;
    h->shelf_n++;
}

VT_INLINE bool shelves_are_too_full(const struct heap *h) {
    return h->shelf_n >= VT_SHELVES_BLOCKS || h->shelf_bytes > VT_SHELVES_BYTES;
}

#endif
