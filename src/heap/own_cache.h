/* own_cache.h - small free blocks of the heaps of own.c that a thread keeps at hand, so that most calls need no lock.
 *
 *   thread -> N_OWN_CACHES places; the heap of number n may have place n % N_OWN_CACHES
 *   place  -> a heap and, of each small class, a shelf of blocks: out for their slab, and marked in their second word. The mark is
 *             made of the block's address, the heap and its generation: one that is left over means nothing to anybody
 *
 * A place is the heap's as long as both have the same generation. Destroying a heap gives it another: what threads keep of it is
 * void then, and nobody looks at it again. A heap that is deleted while other threads keep blocks of it hands nothing over: its
 * slabs go one by one, when all their blocks have come back.
 *
 * Each malloc is counted off for the samples, as everywhere; now and then one takes the slow path, which looks at the rate and at
 * what else is due.
 *
 * Climate: malloc.   Owns: heap.own_caches.   Locks: none on the fast paths; own for the others.
 */
#ifndef VT_HEAP_OWN_CACHE_H
#define VT_HEAP_OWN_CACHE_H

#include "heap/impl.h"
#include "heap/shelf.h"

VT_HIDDEN_BEGIN

#define N_OWN_CACHES 4
#define SLOW_TURNS 64 /* one malloc in about so many takes the slow path */

/* What a heap shows of itself: the first member of struct vt_own. Written under its lock. */
struct own_head {
    uint32_t number;     /* 1, 2, 3, ... */
    uint32_t generation; /* changes when all its blocks go at once */
    uint32_t stamp;      /* changes with that, and when it is deleted */
    uint32_t n_caches;   /* places that are its */
};

struct own_shelf {
    struct block *top;
    uint32_t room, max; /* for so many more, and in all */
};

struct own_cache {
    struct vt_own *own; /* NULL: nobody's */
    uint32_t stamp, generation;
    uint32_t n_missed; /* calls for another heap that has the same place */
    uintptr_t key;     /* of its marks */
    struct own_shelf shelf[VT_N_SMALL];
} VT_ALIGNED(2048); /* a power of two: a place is found by a shift */

/* How many blocks of s are sampled. A thread that frees one of them sees it counted: it was before it got the block. */
VT_INLINE uint32_t n_sampled(const struct slab *s) {
    return __atomic_load_n(&s->run_slices, __ATOMIC_RELAXED);
}

VT_INLINE struct own_cache *own_cache_place(const struct heap *h, const struct vt_own *o) {
    return &h->own_caches[((const struct own_head *)o)->number % N_OWN_CACHES];
}

/* Is it o's, and is o in use? Racy: who uses a heap must know that nobody destroys it meanwhile, and deleting it is noticed late. */
VT_INLINE bool own_cache_is_of(const struct own_cache *c, const struct vt_own *o) {
    return c->own == o && c->stamp == vt_racy_read(((const struct own_head *)o)->stamp);
}

/* The calling thread's place if it is o's, and nothing forbids to use it; NULL: the slow path. */
VT_INLINE struct own_cache *own_cache_now(const struct heap *h, const struct vt_own *o) {
    if (VT_HARDEN > 1 || h == NULL || h->own_caches == NULL || vt__tls.is_busy) return NULL;
    struct own_cache *c = own_cache_place(h, o);
    return own_cache_is_of(c, o) ? c : NULL;
}

/* A block of 1 to VT_SMALL_MAX bytes; NULL: by the long way. */
VT_INLINE struct block *own_cache_take(const struct vt_own *o, size_t n_bytes) {
    struct heap *h = vt__tls.real;
    struct own_cache *c = own_cache_now(h, o);
    unsigned cls = (unsigned)((n_bytes - 1) / VT_BLOCK_ALIGN);
    if (vt_unlikely(c == NULL) ||
        vt_unlikely(atomic_load_explicit(&vt__watch, memory_order_relaxed) != 0))
        return NULL;
    struct own_shelf *f = &c->shelf[cls];
    struct block *b = f->top;
    if (vt_unlikely(b == NULL) || vt_unlikely(h->countdown[cls] % SLOW_TURNS < 2)) return NULL;
    h->countdown[cls]--;
    h->listed_bytes += vt__class_bytes(cls);
    f->top = link_next_salted(b, cls, 0);
    f->room++;
    b->mark = 0;
    return b;
}

VT_INLINE uintptr_t own_mark_key(const struct vt_own *o) {
    return (uintptr_t)o ^ (uintptr_t)((const struct own_head *)o)->generation << 40;
}
VT_INLINE uintptr_t own_mark(const struct block *b, uintptr_t key) { return shelf_mark(b) ^ key; }
VT_INLINE bool is_kept(const struct block *b, uintptr_t key) {
    return VT_HARDEN > 0 && b->mark == own_mark(b, key);
}

VT_INLINE void own_cache_put(struct own_shelf *f, struct block *b, uintptr_t mark) {
    b->link = link_encode(f->top, b);
    b->mark = mark;
    f->top = b;
    f->room--;
}

/* o's place from now on; NULL: another heap has it, or there is no memory. With no lock held. */
struct own_cache *vt__own_cache_claim(struct heap *h, struct vt_own *o);
void vt__own_cache_leave(struct heap *h,
                         const struct vt_own *o); /* h keeps nothing of o any more */
void vt__own_caches_clear(struct heap *h);

/* own.c */
void vt__own_add_cache(struct own_cache *c, struct vt_own *o); /* c is o's, and o knows of it */
void vt__own_remove_cache(const struct own_cache *c);
/* Blocks go home, linked as on a shelf; nothing is done if the place is of another generation. */
void vt__own_give_list(const struct own_cache *c, unsigned cls, struct block *list);

VT_HIDDEN_END

#endif
