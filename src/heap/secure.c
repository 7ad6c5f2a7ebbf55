/* secure.c - the quarantine and the other parts of level 2 that are not inline. Part of the secure build only.
 *
 * Climate: malloc.   Owns: heap.quarantine.   Locks: none; every caller owns the heap.
 */
#include "heap/secure.h"

#include "heap/fast.h"

#define ZERO_MAX_BYTES KiB(1)
#define QUARANTINE_BYTES KiB(256)

void *vt__secure_handed_out(struct block *b) {
    struct slab *s = vt__slab(vt__slice_of(b));
    if (atomic_load_explicit(&s->owner, memory_order_relaxed) != (uintptr_t)vt__tls.real)
        return b; /* the common heap's */
    size_t k = number_in_slab(b, s);
    s->is_free[k / 32] &= ~(UINT32_C(1) << (k % 32));
    return b;
}

/* A block was cleared when it came in; what is not zero now was written after it was freed. */
static bool is_clear(const struct block *b, size_t n_bytes) {
    const uint64_t *word = (const uint64_t *)b;
    uint64_t any = 0;
    for (size_t i = 0; i < n_bytes / sizeof(*word); i++) any |= word[i];
    return any == 0;
}

static void let_go(struct heap *h) {
    struct quarantine *q = &h->quarantine;
    struct block *b = q->block[q->first % VT_QUARANTINE_BLOCKS];
    struct slab *s = vt__slab(vt__slice_of(b)); /* only first slices reach the quarantine */
    size_t n_bytes = vt__classes[s->cls].block_bytes;
    q->first++;
    q->n_bytes -= n_bytes;
    if (n_bytes <= ZERO_MAX_BYTES && !is_clear(b, n_bytes)) vt__bad_link(b, s->cls);
    if (s->cls < VT_N_SMALL) {
        vt__slab_push_marked(s, b);
        return;
    }
    b->link = link_encode(NULL, b);
    vt__medium_give(s->cls, b);
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
