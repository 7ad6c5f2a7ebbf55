/* link.h - how one free block names the next.
 *
 * Hardened: link = next ^ this ^ key. Blocks of a list lie in one slab, so next ^ this is small; what a stray write
 * leaves there decodes to something large. The end of a list is next == 0, which decodes to `this`, large as well: end
 * and damage share one rarely taken branch on the fast path, and the slow path tells them apart.
 * Bare (level 0): link = next, and the end is 0.
 *
 * Climate: malloc.
 */
#ifndef VT_HEAP_LINK_H
#define VT_HEAP_LINK_H

#include "heap/impl.h"

/* The key as long as none was drawn, and the bits that every key has: a zero word must decode to something large. */
#define VT_KEY_BITS (UINT64_C(0xa5) << 56)

#if VT_HARDEN > 0
VT_INLINE uintptr_t link_encode(const struct block *next, const struct block *at) {
    return (uintptr_t)next ^ (uintptr_t)at ^ vt__map.key;
}
/* Distance to the next block (xor); VT_CHUNK or more is the end, or damage. */
VT_INLINE uintptr_t link_distance(const struct block *b) { return b->link ^ vt__map.key; }
VT_INLINE struct block *link_follow(const struct block *b, uintptr_t distance) {
    return (struct block *)((uintptr_t)b ^ distance);
}
VT_INLINE bool link_is_far(uintptr_t distance, size_t limit) { return distance >= limit; }
VT_INLINE bool link_is_end(const struct block *b, uintptr_t distance) {
    return distance == (uintptr_t)b;
}
#else
VT_INLINE uintptr_t link_encode(const struct block *next, const struct block *at) {
    (void)at;
    return (uintptr_t)next;
}
VT_INLINE uintptr_t link_distance(const struct block *b) { return b->link; }
VT_INLINE struct block *link_follow(const struct block *b, uintptr_t distance) {
    (void)b;
    return (struct block *)distance;
}
VT_INLINE bool link_is_far(uintptr_t distance, size_t limit) {
    (void)limit;
    return distance == 0;
}
VT_INLINE bool link_is_end(const struct block *b, uintptr_t distance) {
    (void)b;
    return distance == 0;
}
#endif

/* What a link is mixed with besides the key tells in which kind of list its block is: 0 for the lists of a slab and of a heap,
 * else bits above every address. Read with another salt, a link leads out of the window. */
#define VT_SALT_SHIFT 48
#define VT_ADDRESS_MASK ((UINT64_C(1) << VT_SALT_SHIFT) - 1)
#define VT_SALT_REMOTE (UINT64_C(0xffff) << VT_SALT_SHIFT) /* in slab.remote */

VT_INLINE uintptr_t link_salted(const struct block *next, const struct block *at, uintptr_t salt) {
    return link_encode(next, at) ^ (VT_HARDEN > 0 ? salt : 0);
}

/* The block that a salted link leads to, anywhere in the window; NULL at the end; damage ends the process. */
VT_INLINE struct block *link_next_salted(const struct block *b, unsigned cls, uintptr_t salt) {
    uintptr_t d = link_distance(b) ^ (VT_HARDEN > 0 ? salt : 0);
    struct block *next = link_follow(b, d);
    if (vt_likely(vt__is_in_window(next))) return next;
    if (!link_is_end(b, d)) vt__bad_link(b, cls);
    return NULL;
}

/* The block behind b in a list of class cls, NULL at the end; damage ends the process. */
VT_INLINE struct block *link_next(const struct block *b, unsigned cls) {
    uintptr_t d = link_distance(b);
    if (vt_likely(!link_is_far(d, VT_CHUNK))) return link_follow(b, d);
    if (!link_is_end(b, d)) vt__bad_link(b, cls);
    return NULL;
}

#endif
