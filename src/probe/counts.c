/* counts.c - how often each stack was met. See counts.h.
 *
 * One table that handlers add to. A cell's key is written once; its numbers only grow. It has levels, each eight times the one
 * before, so that a small program touches little memory: a key is in the first level whose window had room when it came, and
 * no cell ever becomes empty, so an empty cell ends the search.
 *
 *   level 0: 1 Ki cells   1: 8 Ki   2: 64 Ki   3: 512 Ki           cell = 64 bytes
 *
 * "Forgetting" notes what the numbers are: what was counted is the difference. So nobody has to wait for handlers.
 *
 * Climate: signal.   Owns: nothing; the caller has the table.   Locks: none.
 */
#include "probe/counts.h"

#include "vitrine-box.h"

#define FIRST_BITS 10
#define N_LEVELS 4
#define WINDOW 32 /* cells to look at in each level */

/* | stack 22 | label 22 | who 20 | */
#define WHO_BITS 20
#define LABEL_BITS 22

struct cell {
    _Atomic uint64_t key; /* 0: empty */
    _Atomic uint64_t n, on_ns, off_ns;
    uint64_t base_n, base_on_ns, base_off_ns; /* host only: when it was last forgotten */
    uint64_t pad;
};
_Static_assert(sizeof(struct cell) == VT_COUNT_CELL_BYTES,
               "two threads' counts do not share a line");
_Static_assert(sizeof(struct cell) == sizeof(struct vt_box_count) &&
                   offsetof(struct cell, base_n) == offsetof(struct vt_box_count, base_n) &&
                   WHO_BITS == VT_BOX_TASK_BITS && LABEL_BITS == VT_BOX_LABEL_BITS &&
                   VT_COUNT_CELLS == VT_BOX_MAX_COUNTS,
               "vitrine-box.h");

#define CELLS_OF(level) ((size_t)1 << (FIRST_BITS + 3 * (level)))
_Static_assert(CELLS_OF(0) + CELLS_OF(1) + CELLS_OF(2) + CELLS_OF(3) == VT_COUNT_CELLS,
               "all levels");

static uint64_t mix(uint64_t key) {
    key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
    key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return key ^ key >> 32;
}

static uint64_t key_of(const struct vt_count *c) {
    uint32_t label = c->label >> LABEL_BITS != 0 ? 0 : c->label; /* labels have few values */
    return ((uint64_t)c->stack << LABEL_BITS | label) << WHO_BITS | c->who;
}

/* The cell of this key in one level; NULL: the window is full of others. */
static struct cell *find_in(struct cell *level, size_t n_cells, uint64_t key) {
    size_t at = mix(key) & (n_cells - 1);
    for (size_t i = 0; i < WINDOW; i++) {
        struct cell *c = &level[(at + i) & (n_cells - 1)];
        uint64_t seen = 0;
        /* relaxed: the key is all there is to it; the numbers of an empty cell are 0 */
        if (atomic_load_explicit(&c->key, memory_order_relaxed) == key) return c;
        if (atomic_compare_exchange_strong_explicit(&c->key, &seen, key, memory_order_relaxed,
                                                    memory_order_relaxed) ||
            seen == key)
            return c;
    }
    return NULL;
}

static struct cell *find(struct vt_region *region, uint64_t key) {
    size_t before = 0;
    for (unsigned level = 0; level < N_LEVELS; level++) {
        size_t end = before + CELLS_OF(level);
        if (!vt__region_ready(region, end * sizeof(struct cell))) return NULL;
        struct cell *cells = (struct cell *)(void *)vt__region_base(region);
        struct cell *c = find_in(cells + before, CELLS_OF(level), key);
        if (c != NULL) return c;
        before = end;
    }
    return NULL;
}

bool vt__counts_add(struct vt_counts *counts, const struct vt_count *more) {
    struct cell *c = find(&counts->region, key_of(more));
    if (c == NULL) return false;
    atomic_fetch_add_explicit(&c->n, more->n, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->on_ns, more->on_ns, memory_order_relaxed);
    if (more->off_ns != 0)
        atomic_fetch_add_explicit(&c->off_ns, more->off_ns, memory_order_relaxed);
    return true;
}

/* Cells that can be used, full or empty. */
static size_t cells_there(struct vt_region *region, struct cell **cells) {
    *cells = (struct cell *)(void *)atomic_load_explicit(&region->base, memory_order_acquire);
    if (*cells == NULL) return 0;
    return vt_min(atomic_load_explicit(&region->n_ready, memory_order_acquire) /
                      sizeof(struct cell),
                  VT_COUNT_CELLS);
}

void vt__counts_forget(struct vt_counts *counts) {
    struct cell *cells;
    size_t n = cells_there(&counts->region, &cells);
    for (size_t i = 0; i < n; i++) {
        struct cell *c = &cells[i];
        if (atomic_load_explicit(&c->key, memory_order_relaxed) == 0) continue;
        c->base_n = atomic_load_explicit(&c->n, memory_order_relaxed);
        c->base_on_ns = atomic_load_explicit(&c->on_ns, memory_order_relaxed);
        c->base_off_ns = atomic_load_explicit(&c->off_ns, memory_order_relaxed);
    }
}

bool vt__counts_next(struct vt_counts *counts, uint32_t *cursor, struct vt_count *out) {
    struct cell *cells;
    size_t n = cells_there(&counts->region, &cells);
    while (*cursor < n) {
        const struct cell *c = &cells[(*cursor)++];
        uint64_t key = atomic_load_explicit(&c->key, memory_order_relaxed);
        if (key == 0) continue;
        *out = (struct vt_count){
            .stack = (uint32_t)(key >> (LABEL_BITS + WHO_BITS)),
            .label = (uint32_t)(key >> WHO_BITS & ((1u << LABEL_BITS) - 1)),
            .who = (uint32_t)(key & ((1u << WHO_BITS) - 1)),
            .n = atomic_load_explicit(&c->n, memory_order_relaxed) - c->base_n,
            .on_ns = atomic_load_explicit(&c->on_ns, memory_order_relaxed) - c->base_on_ns,
            .off_ns = atomic_load_explicit(&c->off_ns, memory_order_relaxed) - c->base_off_ns};
        if (out->n != 0) return true;
    }
    return false;
}
