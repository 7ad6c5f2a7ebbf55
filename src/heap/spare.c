/* spare.c - see spare.h. Climate: malloc.   Owns: heap.spare. */
#include "heap/spare.h"

#include "heap/upcalls.h"

#define BATCH 64

static struct block *pop(struct heap *h, unsigned cls) {
    struct block *b = shelf_take(h, &h->spare[cls], cls);
    if (b != NULL) h->spare_bytes -= vt__classes[cls].block_bytes;
    return b;
}

struct block *vt__spare_take(struct heap *h, unsigned cls, bool *is_zero) {
    struct block *b = pop(h, cls);
    if (b == NULL) return vt__sampled_take(cls, is_zero);
    *is_zero = false;
    return b;
}

static size_t most_bytes(const struct heap *h) {
    size_t held = h->medium_held > 0 ? (size_t)h->medium_held : 0;
    return vt_min(vt_max(held / 8, VT_SPARES_MIN_BYTES), VT_SPARES_MAX_BYTES);
}

/* Until there are so many bytes at most, class after class. */
static void trim(struct heap *h, size_t n_bytes) {
    struct block *gone[BATCH];
    while (h->spare_bytes > n_bytes) {
        unsigned n = 0;
        for (unsigned i = 0; i < VT_N_CLASSES && n < BATCH && h->spare_bytes > n_bytes; i++) {
            unsigned cls = h->spare_hand++ % VT_N_CLASSES;
            struct block *b = pop(h, cls);
            if (b != NULL) gone[n++] = b;
        }
        if (n == 0) return; /* a signal handler that interrupted a push or pop left the sum off */
        vt__probe_forgets(gone, n);
        vt__sampled_give_some(gone, n);
    }
}

void vt__spare_keep(struct heap *h, unsigned cls, struct block *b) {
    size_t n_bytes = vt__classes[cls].block_bytes, most = most_bytes(h);
    if (h->spare_bytes + n_bytes > most) trim(h, vt_min(most / 2, most - n_bytes));
    shelf_put(h, &h->spare[cls], b);
    h->spare_bytes += n_bytes;
}

void vt__spares_clear(struct heap *h) { trim(h, 0); }
