/* secure.c - the quarantine and the other parts of level 2 that are not inline. Part of the secure build only.
 *
 * Climate: malloc.   Owns: heap.quarantine.   Locks: none; every caller owns the heap.
 */
#include "heap/secure.h"

#include "heap/held.h"
#include "heap/shelf.h"

#define ZERO_MAX_BYTES KiB(1)
#define QUARANTINE_BYTES KiB(256)

/* A block was cleared when it came in; what is not zero now was written after it was freed. */
static bool is_clear(const struct block *b, size_t n_bytes) {
    const uint64_t *word = (const uint64_t *)b;
    uint64_t any = 0;
    for (size_t i = 0; i < n_bytes / sizeof(*word); i++) any |= word[i];
    return any == 0;
}

/* No magazine: nobody would take it from there again. */
static VT_NOINLINE void give_medium(struct heap *h, unsigned cls, struct block *b) {
    shelf_prepare_alone(b);
    vt__medium_give_some(h, cls, &b, 1);
}

/* Where the default build's free would have put it. */
static void hand_on(struct heap *h, struct slab *s, struct block *b) {
    unsigned cls = s->cls;
    if (atomic_load_explicit(&s->owner, memory_order_relaxed) == (uintptr_t)h) {
        vt__slab_give_back(s, b);
        return;
    }
    if (cls >= VT_N_SMALL) {
        give_medium(h, cls, b);
        return;
    }
    shelf_push(h, cls, b);
    if (shelves_are_too_full(h)) vt__shelves_send(h);
}

static void let_go(struct heap *h) {
    struct quarantine *q = &h->quarantine;
    struct block *b = q->block[q->first % VT_QUARANTINE_BLOCKS];
    struct slab *s = vt__slab(vt__slice_of(b)); /* blocks start in first slices */
    size_t n_bytes = vt__classes[s->cls].block_bytes;
    q->first++;
    q->n_bytes -= n_bytes;
    if (n_bytes <= ZERO_MAX_BYTES && !is_clear(b, n_bytes)) vt__bad_link(b, s->cls);
    hand_on(h, s, b);
}

static bool is_full(const struct quarantine *q, size_t n_more_bytes) {
    if (q->end == q->first) return false; /* a block above the limit is let in alone */
    return q->n_bytes + n_more_bytes > QUARANTINE_BYTES ||
           q->end - q->first >= VT_QUARANTINE_BLOCKS;
}

void vt__secure_free(struct slab *s, struct block *b) {
    struct heap *h = vt__tls.real;
    struct quarantine *q = &h->quarantine;
    size_t n_bytes = vt__classes[s->cls].block_bytes;
    if (n_bytes <= ZERO_MAX_BYTES) __builtin_memset(b, 0, n_bytes);
    if (is_full(q, n_bytes)) {
        if (!vt__enter())
            return; /* a signal handler, and no room: the block is lost, which is better than used twice */
        while (is_full(q, n_bytes)) let_go(h);
        vt__leave();
    }
    q->block[q->end++ % VT_QUARANTINE_BLOCKS] = b;
    q->n_bytes += n_bytes;
}

void vt__secure_flush(struct heap *h) {
    while (h->quarantine.end != h->quarantine.first) let_go(h);
}

void vt__secure_shuffle(struct heap *h, uint16_t *order, unsigned n) {
    for (unsigned i = 0; i < n; i++) order[i] = (uint16_t)i;
    for (unsigned i = n; i > 1; i--) {
        h->quarantine.random =
            h->quarantine.random * UINT64_C(6364136223846793005) + (vt__map.key | 1);
        unsigned j = (unsigned)((h->quarantine.random >> 33) % i);
        uint16_t swapped = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swapped;
    }
}

/* ---- what the program holds ---- */

void vt__held_otherwise(const void *p, uint8_t was, enum vt_made_by by) {
    if (was == VT_HELD_RESIZED && by == VT_MADE_BY_MALLOC) return;
    if (was == 0) vt__bad_free(p);
    vt__bad_kind(p, vt__usable_size(p),
                 was == VT_HELD_RESIZED ? VT_MADE_BY_MALLOC : (enum vt_made_by)(was - 1), by);
}

/* The size is one that malloc would have served with this very block. */
static bool is_size_of(size_t usable, uint8_t was, size_t align, size_t n_bytes) {
    if (was == VT_HELD_RESIZED) return n_bytes <= usable;
    return vt__good_size(align, n_bytes) == usable;
}

void vt__held_free_sized(void *p, size_t align, size_t n_bytes, enum vt_made_by by) {
    uint8_t was = hold_no_more(p, by);
    if (was != 0) {
        size_t usable = vt__usable_size(p);
        if (!is_size_of(usable, was, align, n_bytes)) vt__bad_size(p, n_bytes, usable);
    }
    vt__fast_free(p);
}

void *vt__held_realloc(void *p, size_t n_bytes) {
    uint8_t was = hold_no_more(p, VT_MADE_BY_MALLOC);
    void *to = vt__realloc(p, n_bytes);
    if (to != NULL) return held_as(to, p == NULL ? VT_MADE_BY_MALLOC + 1 : VT_HELD_RESIZED);
    if (was != 0 && n_bytes != 0) (void)held_as(p, was); /* it stays as it was */
    return NULL;
}
