/* stock.c - see stock.h. Climate: malloc.   Owns: heap.stock. */
#include "heap/stock.h"

#define GONE_MAX (8 * VT_STOCK_MAX)
#define FETCH_MIN 4
#define FETCH_MAX 8
#define FETCHES_OFTEN 16

static struct stock *stock_of(struct heap *h, unsigned n_slices) { return &h->stock[n_slices - 1]; }

static void remove_at(struct stock *k, unsigned i) {
    k->n--;
    __builtin_memmove(k->slab + i, k->slab + i + 1, (k->n - i) * sizeof(*k->slab));
}

/* A slice that was a slab of the class before has its links on lines that are in the cache, and nothing resident behind its last
 * block. */
static unsigned find(const struct stock *k, unsigned cls) {
    for (unsigned i = k->n; i-- > 0;)
        if (vt__slab(k->slab[i])->cls == cls) return i;
    return k->n - 1;
}

/* What went back is wanted again: more might have stayed. Or nothing ever comes back: a thread that only takes fetches some at a time
 * if it came often. */
static void fetch(struct stock *k, unsigned n_slices) {
    if (k->n_gone > 0)
        k->most = (uint8_t)vt_min(2u * k->most, VT_STOCK_MAX);
    else if (++k->n_fetches >= FETCHES_OFTEN && k->most < FETCH_MAX)
        k->most = FETCH_MAX;
    k->n_gone = 0;
    if (k->most >= FETCH_MIN)
        k->n = (uint8_t)vt__slices_take_resident(k->most / 2u, n_slices, k->slab);
}

bool vt__stock_take(struct heap *h, unsigned n_slices, unsigned cls, slab_id *first) {
    struct stock *k = stock_of(h, n_slices);
    if (k->most == 0) k->most = VT_STOCK_MIN;
    if (k->n == 0) fetch(k, n_slices);
    if (k->n == 0) return false;
    unsigned i = find(k, cls);
    *first = k->slab[i];
    remove_at(k, i);
    return true;
}

/* The older half goes back. */
static void halve(struct stock *k, unsigned n_slices) {
    slab_id older[VT_STOCK_MAX];
    unsigned n = (k->n + 1u) / 2;
    k->n_gone += n;
    k->n_fetches = 0;
    if (k->n_gone >=
        GONE_MAX) { /* nobody wants them here: they go together, but few are kept for that */
        k->most = FETCH_MIN;
        n = k->n;
    }
    __builtin_memcpy(older, k->slab, n * sizeof(*older));
    k->n -= (uint8_t)n;
    __builtin_memmove(k->slab, k->slab + n, k->n * sizeof(*k->slab));
    vt__slices_give_some(older, n, n_slices);
}

void vt__stock_give(struct heap *h, slab_id first, unsigned n_slices) {
    struct stock *k = stock_of(h, n_slices);
    if (k->n >= vt_max(k->most, VT_STOCK_MIN)) halve(k, n_slices);
    k->slab[k->n++] = first;
}

bool vt__stock_clear(struct heap *h) {
    bool had_some = false;
    for (unsigned n_slices = 1; n_slices <= VT_STOCK_KINDS; n_slices++) {
        struct stock *k = stock_of(h, n_slices);
        had_some |= k->n > 0;
        if (k->n > 0) vt__slices_give_some(k->slab, k->n, n_slices);
        k->n = k->most = 0;
        k->n_gone = k->n_fetches = 0;
    }
    return had_some;
}

VT_READS_RACILY size_t vt__stock_slices(const struct heap *h) {
    size_t n = 0;
    for (unsigned n_slices = 1; n_slices <= VT_STOCK_KINDS; n_slices++)
        n += vt_min(h->stock[n_slices - 1].n, VT_STOCK_MAX) * n_slices;
    return n;
}
