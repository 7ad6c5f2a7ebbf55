/* table.c - see table.h. Climate: malloc. */
#include "probe/table.h"

#include "os/os.h"

#define FIRST_SHIFT 3 /* the first block has 8 rows */
#define FIRST_SLOTS 32
#define FROM_ARENA                                                                                 \
    KiB(8) /* below this memory comes from the arena, where it shares an OS page with others' */

static void *take(size_t n_bytes) {
    void *at = NULL;
    if (n_bytes < FROM_ARENA) return vt__arena_take(n_bytes, VT_CACHE_LINE);
    return vt__os_map(vt_round_up(n_bytes, VT_OS_PAGE), &at) == 0 ? at : NULL;
}

/* What came from the arena is not given back; together it is less than the least that is. */
static void give(void *at, size_t n_bytes) {
    if (n_bytes >= FROM_ARENA) (void)vt__os_unmap(at, vt_round_up(n_bytes, VT_OS_PAGE));
}

/* Row id is number `within` of block `b`: block b begins at row (8 << b) - 8, counting from 0. */
static unsigned block_of(uint32_t id, size_t *within) {
    uint32_t i = id - 1 + (1u << FIRST_SHIFT);
    unsigned b = vt_log2(i) - FIRST_SHIFT;
    *within = i - (1u << (b + FIRST_SHIFT));
    return b;
}

void *vt__row(const struct vt_rows *r, uint32_t id) {
    size_t within;
    unsigned b = block_of(id, &within);
    return r->block[b] + within * r->row_bytes;
}

uint32_t vt__row_add(struct vt_rows *r) {
    size_t within;
    unsigned b = block_of(r->n + 1, &within);
    if (b >= VT_ROWS_BLOCKS) return 0;
    if (r->block[b] == NULL) {
        r->block[b] = take(((size_t)1 << (b + FIRST_SHIFT)) * r->row_bytes);
        if (r->block[b] == NULL) return 0;
    }
    return ++r->n;
}

/* ---- index ---- */

uint32_t vt__index_find(const struct vt_index *x, uint64_t hash,
                        bool (*is_it)(uint32_t id, const void *key), const void *key) {
    if (x->n == 0) return 0;
    for (uint32_t i = (uint32_t)hash & (x->n_slots - 1); x->slot[i] != 0;
         i = (i + 1) & (x->n_slots - 1))
        if (is_it(x->slot[i], key)) return x->slot[i];
    return 0;
}

static void place(struct vt_index *x, uint32_t id) {
    uint32_t i = (uint32_t)x->hash_of(id) & (x->n_slots - 1);
    while (x->slot[i] != 0) i = (i + 1) & (x->n_slots - 1);
    x->slot[i] = id;
}

static bool grow(struct vt_index *x) {
    struct vt_index old = *x;
    uint32_t n_slots = old.n_slots == 0 ? FIRST_SLOTS : old.n_slots * 2;
    uint32_t *slot = take(n_slots * sizeof(*slot));
    if (slot == NULL) return false;
    x->slot = slot;
    x->n_slots = n_slots;
    for (uint32_t i = 0; i < old.n_slots; i++)
        if (old.slot[i] != 0) place(x, old.slot[i]);
    give(old.slot, old.n_slots * sizeof(*slot));
    return true;
}

bool vt__index_add(struct vt_index *x, uint32_t id) {
    if (2 * (x->n + 1) > x->n_slots && !grow(x) && x->n + 1 >= x->n_slots) return false;
    place(x, id);
    x->n++;
    return true;
}

/* The ids behind the gap that would no longer be found move into it. */
void vt__index_remove(struct vt_index *x, uint32_t id) {
    uint32_t mask = x->n_slots - 1;
    uint32_t gap = (uint32_t)x->hash_of(id) & mask;
    while (x->slot[gap] != id) gap = (gap + 1) & mask;
    for (uint32_t i = (gap + 1) & mask; x->slot[i] != 0; i = (i + 1) & mask) {
        uint32_t home = (uint32_t)x->hash_of(x->slot[i]) & mask;
        if (((i - home) & mask) < ((i - gap) & mask)) continue; /* its home is behind the gap */
        x->slot[gap] = x->slot[i];
        gap = i;
    }
    x->slot[gap] = 0;
    x->n--;
}
