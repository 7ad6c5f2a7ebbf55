/* table.c - see table.h. Climate: malloc. */
#include "probe/table.h"

#include "os/os.h"

#define FIRST_SHIFT 6 /* the first block has 64 rows */

/* Row id is number `within` of block `b`: block b begins at row (64 << b) - 64, counting from 0. */
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
        void *at = NULL;
        size_t n_bytes = ((size_t)1 << (b + FIRST_SHIFT)) * r->row_bytes;
        if (vt__os_map(vt_round_up(n_bytes, VT_OS_PAGE), &at) != 0) return 0;
        r->block[b] = at;
    }
    return ++r->n;
}

/* ---- index ---- */

static size_t index_bytes(uint32_t n_slots) {
    return vt_round_up(n_slots * sizeof(uint32_t), VT_OS_PAGE);
}

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
    void *at = NULL;
    uint32_t n_slots = old.n_slots == 0 ? 1024 : old.n_slots * 2;
    if (vt__os_map(index_bytes(n_slots), &at) != 0) return false;
    x->slot = at;
    x->n_slots = n_slots;
    for (uint32_t i = 0; i < old.n_slots; i++)
        if (old.slot[i] != 0) place(x, old.slot[i]);
    if (old.slot != NULL) (void)vt__os_unmap(old.slot, index_bytes(old.n_slots));
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
