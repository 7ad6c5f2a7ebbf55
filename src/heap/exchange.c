/* exchange.c - see exchange.h. Climate: malloc.   Owns: the cells, heap.parcel.   Locks: none.
 *
 * A cell's state leads from EMPTY to FULL and back, by way of BUSY: whoever makes it BUSY has the cell to itself, and nobody waits
 * for it. Limit: 4 MiB in all cells together, and 256 KiB in the parcel of a thread.
 */
#include "heap/exchange.h"

#include "heap/chunk.h"
#include "heap/magazine.h"
#include "heap/shelf.h"

#define N_CELLS 16
#define PARCEL_BYTES KiB(256)

enum cell_state { CELL_EMPTY, CELL_BUSY, CELL_FULL };

static struct {
    /* Who looks for a block reads this line only. `classes` is a hint while the cell is not BUSY by the reader. */
    _Atomic uint8_t state[N_CELLS];
    _Atomic uint64_t classes[N_CELLS]; /* bit for each medium class that the cell has a block of */
    struct vt_parcel cell[N_CELLS];
} exchange VT_ALIGNED(VT_CACHE_LINE);

static unsigned class_at(const struct vt_parcel *p, unsigned k) { return p->cls[k]; }

static bool claim(unsigned i, uint8_t from) {
    /* acquire: what is in the cell was written before; pairs with the release in leave() */
    return atomic_load_explicit(&exchange.state[i], memory_order_relaxed) == from &&
           atomic_compare_exchange_strong_explicit(&exchange.state[i], &from, CELL_BUSY,
                                                   memory_order_acquire, memory_order_relaxed);
}

static void leave(unsigned i) {
    const struct vt_parcel *p = &exchange.cell[i];
    uint64_t classes = 0;
    for (unsigned k = 0; k < p->n; k++) classes |= UINT64_C(1) << magazine_of(class_at(p, k));
    atomic_store_explicit(&exchange.classes[i], classes, memory_order_relaxed);
    atomic_store_explicit(&exchange.state[i], p->n > 0 ? CELL_FULL : CELL_EMPTY,
                          memory_order_release);
}

/* ---- giving ---- */

/* Class by class: each takes a lock, or goes home. */
static void give_to_slabs(struct heap *h, struct vt_parcel *p) {
    struct block *same[VT_PARCEL_BLOCKS];
    while (p->n > 0) {
        unsigned cls = class_at(p, 0), n = 0, n_left = 0;
        for (unsigned k = 0; k < p->n; k++) {
            if (class_at(p, k) == cls) {
                same[n++] = p->block[k];
                continue;
            }
            p->cls[n_left] = p->cls[k];
            p->block[n_left++] = p->block[k];
        }
        p->n = n_left;
        vt__medium_give_away(h, cls, same, n);
    }
    p->n_bytes = 0;
}

static void copy(struct vt_parcel *to, const struct vt_parcel *from) {
    to->n = from->n;
    to->n_bytes = from->n_bytes;
    __builtin_memcpy(to->cls, from->cls, from->n);
    for (unsigned k = 0; k < from->n; k++) to->block[k] = from->block[k];
}

/* The first cell a heap looks at is its own number's, so that many threads do not all meet at one. */
static unsigned cell_for(const struct heap *h, unsigned turn) {
    return (h->number + turn) % N_CELLS;
}

/* What waits here is no more than an eighth of what is in use, or two parcels. */
static unsigned n_cells(void) {
    size_t n = atomic_load_explicit(&vt__pool.used_slices, memory_order_relaxed);
    return (unsigned)vt_min(vt_max(n / (8 * PARCEL_BYTES / VT_SLICE), 2), N_CELLS);
}

static void hand_on(struct heap *h) {
    struct vt_parcel *p = &h->parcel;
    for (unsigned turn = 0, n = n_cells(); turn < n; turn++) {
        unsigned i = cell_for(h, turn);
        if (!claim(i, CELL_EMPTY)) continue;
        copy(&exchange.cell[i], p);
        leave(i);
        p->n = p->n_bytes = 0;
        return;
    }
    give_to_slabs(h, p);
}

_Atomic bool vt__exchange_is_used;

void vt__exchange_put(struct heap *h, struct block *b) {
    if (!atomic_load_explicit(&vt__exchange_is_used, memory_order_relaxed))
        atomic_store_explicit(&vt__exchange_is_used, true, memory_order_relaxed);
    struct vt_parcel *p = &h->parcel;
    unsigned cls = vt__slab(vt__slice_of(b))->cls;
    p->cls[p->n] = (uint8_t)cls;
    p->block[p->n++] = b;
    p->n_bytes += vt__classes[cls].block_bytes;
    if (p->n == VT_PARCEL_BLOCKS || p->n_bytes >= PARCEL_BYTES) hand_on(h);
}

void vt__exchange_flush(struct heap *h) {
    if (h->parcel.n > 0) hand_on(h);
}

/* ---- taking ---- */

/* It is as it was put there, or the process ends: a magazine marks it anew, and would not know. */
static struct block *checked(struct block *b, unsigned cls) {
    if (vt_unlikely(VT_HARDEN > 0 && !is_shelved(b))) vt__bad_link(b, cls);
    return b;
}

/* A block of this class, and as many of all classes as h has room for. Blocks that stay move up. */
static struct block *unpack(struct heap *h, unsigned cls, struct vt_parcel *p) {
    struct block *found = NULL;
    unsigned n_left = 0, n_bytes = 0;
    size_t n_taken = 0;
    for (unsigned k = 0; k < p->n; k++) {
        struct block *b = p->block[k];
        unsigned c = class_at(p, k);
        if (c == cls && found == NULL) {
            found = checked(b, c);
        } else if (vt__magazine_has_room(h, c)) {
            magazine_put(h, magazine_of(c), checked(b, c));
        } else {
            p->cls[n_left] = (uint8_t)c;
            p->block[n_left++] = b;
            n_bytes += vt__classes[c].block_bytes;
            continue;
        }
        n_taken += vt__classes[c].block_bytes;
    }
    p->n = n_left;
    p->n_bytes = n_bytes;
    h->bytes.allocated += n_taken;
    h->medium_held += (int64_t)n_taken;
    return found;
}

struct block *vt__exchange_take(struct heap *h, unsigned cls) {
    uint64_t bit = UINT64_C(1) << magazine_of(cls);
    if (h->parcel.n > 0 && __builtin_memchr(h->parcel.cls, (int)cls, h->parcel.n) != NULL)
        return unpack(h, cls, &h->parcel);
    for (unsigned turn = 0; turn < N_CELLS; turn++) {
        unsigned i = cell_for(h, turn);
        /* relaxed: a hint; who finds another's parcel half way in comes again */
        if ((atomic_load_explicit(&exchange.classes[i], memory_order_relaxed) & bit) == 0) continue;
        if (!claim(i, CELL_FULL)) continue;
        struct block *b = unpack(h, cls, &exchange.cell[i]);
        leave(i);
        if (b != NULL) return b;
    }
    return NULL;
}

/* ---- the whole ---- */

void vt__exchange_clear(void) {
    for (unsigned i = 0; i < N_CELLS; i++) {
        if (!claim(i, CELL_FULL)) continue;
        give_to_slabs(vt__tls.real, &exchange.cell[i]);
        leave(i);
    }
}

/* A thread that was at a cell is no more: what it held there is lost. */
void vt__exchange_forked(void) {
    for (unsigned i = 0; i < N_CELLS; i++) {
        if (atomic_load_explicit(&exchange.state[i], memory_order_relaxed) != CELL_BUSY) continue;
        exchange.cell[i].n = 0;
        leave(i);
    }
}

VT_READS_RACILY size_t vt__exchange_bytes(void) {
    size_t n = 0;
    for (unsigned i = 0; i < N_CELLS; i++)
        if (exchange.state[i] == CELL_FULL) n += exchange.cell[i].n_bytes;
    return n;
}

void vt__exchange_count(uint32_t n[VT_N_CLASSES]) {
    for (unsigned i = 0; i < N_CELLS; i++) {
        if (!claim(i, CELL_FULL)) continue;
        const struct vt_parcel *p = &exchange.cell[i];
        for (unsigned k = 0; k < p->n; k++) n[class_at(p, k)]++;
        leave(i);
    }
}
