/* spare.c - see spare.h. Climate: malloc.   Owns: heap.spare. */
#include "heap/spare.h"

#include "heap/upcalls.h"

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

void vt__spare_keep(struct heap *h, unsigned cls, struct block *b) {
    shelf_put(h, &h->spare[cls], b);
    h->spare_bytes += vt__classes[cls].block_bytes;
}

void vt__spares_clear(struct heap *h) {
    for (unsigned c = 0; c < VT_N_CLASSES && h->spare_bytes > 0; c++)
        for (struct block *b = pop(h, c); b != NULL; b = pop(h, c)) {
            (void)vt__probe_freed(b);
            vt__sampled_give(vt__slab(vt__slice_of(b)), b);
        }
}
