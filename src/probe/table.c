/* table.c - see table.h. Climate: malloc. */
#include "probe/table.h"

#include "os/box.h"

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

_Static_assert(VT_ROWS_BLOCKS == VT_BOX_BLOCKS && 1u << VT_ROWS_SHIFT == VT_BOX_FIRST_ROWS,
               "vitrine-box.h");

/* One row more, in block b. It is all 0 so far. */
static void note(const struct vt_rows *r, unsigned b) {
    struct vt_box_rows *noted = &vt__box_begun()->table[r->box];
    noted->row_bytes = (uint32_t)r->row_bytes;
    noted->block[b] = (uintptr_t)r->block[b];
    __atomic_store_n(&noted->n, r->n + 1, __ATOMIC_RELEASE); /* last: it leads to the others */
}

uint32_t vt__row_add(struct vt_rows *r) {
    size_t within;
    unsigned b = vt__row_block(r->n + 1, &within);
    if (b >= VT_ROWS_BLOCKS) return 0;
    if (r->block[b] == NULL) {
        size_t n_bytes = ((size_t)1 << (b + VT_ROWS_SHIFT)) * r->row_bytes;
        r->block[b] = r->box != 0 ? vt__box_take(n_bytes, VT_CACHE_LINE) : take(n_bytes);
        if (r->block[b] == NULL) return 0;
    }
    if (r->box != 0) note(r, b);
    return ++r->n;
}

/* ---- index ---- */

/* acquire and release, all of these: who reads without the lock looks before and after whether somebody writes, and what it reads
 * is in between; who sees something written also sees that somebody writes. See is_read_by_others. */
static uint32_t id_at(const uint32_t *slot, uint32_t i) {
    return __atomic_load_n(&slot[i], __ATOMIC_ACQUIRE);
}

static void put_at(uint32_t *slot, uint32_t i, uint32_t id) {
    __atomic_store_n(&slot[i], id, __ATOMIC_RELEASE);
}

void vt__index_look(const struct vt_index *x, struct vt_index_view *out) {
    out->slot = __atomic_load_n(&x->slot, __ATOMIC_ACQUIRE);
    out->n_slots = __atomic_load_n(&x->n_slots, __ATOMIC_ACQUIRE);
}

/* As many steps as there are slots at most: others may be moving ids while we look. */
uint32_t vt__index_find_in(const struct vt_index_view *v, uint64_t hash,
                           bool (*is_it)(uint32_t id, const void *key), const void *key) {
    uint32_t i = (uint32_t)hash, id;
    for (uint32_t n = v->n_slots; n > 0; n--, i++) {
        id = id_at(v->slot, i & (v->n_slots - 1));
        if (id == 0) return 0;
        if (is_it(id, key)) return id;
    }
    return 0;
}

uint32_t vt__index_find(const struct vt_index *x, uint64_t hash,
                        bool (*is_it)(uint32_t id, const void *key), const void *key) {
    struct vt_index_view v;
    vt__index_look(x, &v);
    return vt__index_find_in(&v, hash, is_it, key);
}

static void place(struct vt_index *x, uint32_t id) {
    uint32_t i = (uint32_t)x->hash_of(id) & (x->n_slots - 1);
    while (id_at(x->slot, i) != 0) i = (i + 1) & (x->n_slots - 1);
    put_at(x->slot, i, id);
}

static bool grow(struct vt_index *x) {
    struct vt_index old = *x;
    uint32_t n_slots = old.n_slots == 0 ? FIRST_SLOTS : old.n_slots * 2;
    uint32_t *slot = take(n_slots * sizeof(*slot));
    if (slot == NULL) return false;
    __atomic_store_n(&x->slot, slot, __ATOMIC_RELEASE);
    __atomic_store_n(&x->n_slots, n_slots, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < old.n_slots; i++)
        if (old.slot[i] != 0) place(x, old.slot[i]);
    if (!x->is_read_by_others) give(old.slot, old.n_slots * sizeof(*slot));
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
    while (id_at(x->slot, gap) != id) gap = (gap + 1) & mask;
    for (uint32_t i = (gap + 1) & mask; id_at(x->slot, i) != 0; i = (i + 1) & mask) {
        uint32_t moved = id_at(x->slot, i), home = (uint32_t)x->hash_of(moved) & mask;
        if (((i - home) & mask) < ((i - gap) & mask)) continue; /* its home is behind the gap */
        put_at(x->slot, gap, moved);
        gap = i;
    }
    put_at(x->slot, gap, 0);
    x->n--;
}
