/* cpu_counts.c - how often each stack was met, by thread and labels.
 *
 * One table that handlers add to. A cell's key is written once; its numbers only grow. It has levels, each eight times the one
 * before, so that a small program touches little memory: a key is in the first level whose window had room when it came, and
 * no cell ever becomes empty, so an empty cell ends the search.
 *
 *   level 0: 1 Ki cells   1: 8 Ki   2: 64 Ki   3: 512 Ki           cell = 64 bytes
 *
 * "Forgetting" notes what the numbers are: what was counted is the difference. So nobody has to wait for handlers.
 *
 * Climate: signal.   Owns: the table.   Locks: none.
 */
#include "probe/cpu_impl.h"

#define FIRST_BITS 10
#define N_LEVELS 4
#define WINDOW 32 /* cells to look at in each level */

/* | stack 22 | label 22 | task 20 | */
#define TASK_BITS 20
#define LABEL_BITS 22

struct cell {
    _Atomic uint64_t key; /* 0: empty */
    _Atomic uint64_t n, on_ns, off_ns;
    uint64_t base_n, base_on_ns, base_off_ns; /* host only: when it was last forgotten */
    uint64_t pad;
};
_Static_assert(sizeof(struct cell) == VT_CACHE_LINE, "two threads' counts do not share a line");

#define CELLS_OF(level) ((size_t)1 << (FIRST_BITS + 3 * (level)))
#define N_CELLS (CELLS_OF(0) + CELLS_OF(1) + CELLS_OF(2) + CELLS_OF(3))

static struct vt_region region = VT_REGION(N_CELLS * sizeof(struct cell), KiB(64));

static uint64_t mix(uint64_t key) {
    key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
    key = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return key ^ key >> 32;
}

static uint64_t key_of(uint32_t stack, uint32_t task, uint32_t label) {
    if (label >> LABEL_BITS != 0) label = 0; /* labels have few values */
    return ((uint64_t)stack << LABEL_BITS | label) << TASK_BITS | task;
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

static struct cell *find(uint64_t key) {
    size_t before = 0;
    for (unsigned level = 0; level < N_LEVELS; level++) {
        size_t end = before + CELLS_OF(level);
        if (!vt__region_ready(&region, end * sizeof(struct cell))) return NULL;
        struct cell *cells = (struct cell *)(void *)vt__region_base(&region);
        struct cell *c = find_in(cells + before, CELLS_OF(level), key);
        if (c != NULL) return c;
        before = end;
    }
    return NULL;
}

bool vt__cpu_count(uint32_t stack, uint32_t task, uint32_t label, uint64_t n, uint64_t on_ns,
                   uint64_t off_ns) {
    struct cell *c = find(key_of(stack, task, label));
    if (c == NULL) return false;
    atomic_fetch_add_explicit(&c->n, n, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->on_ns, on_ns, memory_order_relaxed);
    if (off_ns != 0) atomic_fetch_add_explicit(&c->off_ns, off_ns, memory_order_relaxed);
    return true;
}

/* Cells that can be used, full or empty. */
static size_t cells_there(struct cell **cells) {
    *cells = (struct cell *)(void *)atomic_load_explicit(&region.base, memory_order_acquire);
    if (*cells == NULL) return 0;
    return vt_min(atomic_load_explicit(&region.n_ready, memory_order_acquire) / sizeof(struct cell),
                  N_CELLS);
}

void vt__cpu_forget_counts(void) {
    struct cell *cells;
    size_t n = cells_there(&cells);
    for (size_t i = 0; i < n; i++) {
        struct cell *c = &cells[i];
        if (atomic_load_explicit(&c->key, memory_order_relaxed) == 0) continue;
        c->base_n = atomic_load_explicit(&c->n, memory_order_relaxed);
        c->base_on_ns = atomic_load_explicit(&c->on_ns, memory_order_relaxed);
        c->base_off_ns = atomic_load_explicit(&c->off_ns, memory_order_relaxed);
    }
}

bool vt__cpu_next(uint32_t *cursor, struct vt_cpu_row *out) {
    struct cell *cells;
    size_t n = cells_there(&cells);
    while (*cursor < n) {
        const struct cell *c = &cells[(*cursor)++];
        uint64_t key = atomic_load_explicit(&c->key, memory_order_relaxed);
        if (key == 0) continue;
        const struct vt_cpu_task *t = vt__cpu_task((uint32_t)(key & ((1u << TASK_BITS) - 1)));
        *out = (struct vt_cpu_row){
            .stack = (uint32_t)(key >> (LABEL_BITS + TASK_BITS)),
            .label = (uint32_t)(key >> TASK_BITS & ((1u << LABEL_BITS) - 1)),
            .tid = t->last_tid,
            .thread_name = t->name,
            .n = atomic_load_explicit(&c->n, memory_order_relaxed) - c->base_n,
            .on_ns = atomic_load_explicit(&c->on_ns, memory_order_relaxed) - c->base_on_ns,
            .off_ns = atomic_load_explicit(&c->off_ns, memory_order_relaxed) - c->base_off_ns};
        if (out->n != 0) return true;
    }
    return false;
}
