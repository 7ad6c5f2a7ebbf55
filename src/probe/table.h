/* table.h - two plain containers for the probes: rows that never move, and an index that finds them by key.
 *
 * Climate: malloc.   Owns: its memory, from the arena or the system; rows are never given back.   Locks: none; the caller has one.
 */
#ifndef VT_PROBE_TABLE_H
#define VT_PROBE_TABLE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Rows 1, 2, 3, ... of one size, zeroed, in blocks that double: 8, 16, 32, ... A row's address is its for good. */
#define VT_ROWS_BLOCKS 24
struct vt_rows {
    size_t row_bytes;
    uint32_t n; /* rows so far */
    char *block[VT_ROWS_BLOCKS];
    uint32_t box; /* enum vt_box_table: it outlives the process (os/box.h); 0: it does not */
};
#define VT_ROWS_SHIFT 3 /* the first block has 8 */

/* Row id is number `within` of block `b`: block b begins at row (8 << b) - 8, counting from 0. */
VT_INLINE unsigned vt__row_block(uint32_t id, size_t *within) {
    uint32_t i = id - 1 + (1u << VT_ROWS_SHIFT);
    unsigned b = vt_log2(i) - VT_ROWS_SHIFT;
    *within = i - (1u << (b + VT_ROWS_SHIFT));
    return b;
}

VT_INLINE void *vt__row(const struct vt_rows *r, uint32_t id) { /* 1 <= id <= n */
    size_t within;
    unsigned b = vt__row_block(id, &within);
    return r->block[b] + within * r->row_bytes;
}
uint32_t vt__row_add(struct vt_rows *r); /* the new row's id; 0: no memory */

/* From a hash to row ids; open addressing, at most half full. */
struct vt_index {
    uint64_t (*hash_of)(uint32_t id);
    uint32_t *slot; /* ids; 0: empty */
    uint32_t n_slots, n;
    /* Without the lock, too: a table that was outgrown stays. Such a reader makes sure by other means that nobody changes anything
     * meanwhile, and forgets what it found if somebody did. */
    bool is_read_by_others;
};
/* The first id with this hash's place for which is_it(id, key); 0: none. */
uint32_t vt__index_find(const struct vt_index *x, uint64_t hash,
                        bool (*is_it)(uint32_t id, const void *key), const void *key);
/* The same in two steps, for readers without the lock: in between they look whether the view is of one table. */
struct vt_index_view {
    const uint32_t *slot;
    uint32_t n_slots;
};
void vt__index_look(const struct vt_index *x, struct vt_index_view *out);
uint32_t vt__index_find_in(const struct vt_index_view *v, uint64_t hash,
                           bool (*is_it)(uint32_t id, const void *key), const void *key);
bool vt__index_add(struct vt_index *x, uint32_t id); /* false: no memory */
void vt__index_remove(struct vt_index *x, uint32_t id);

VT_INLINE uint64_t vt__mix(uint64_t x) { /* all bits depend on all bits */
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

VT_HIDDEN_END

#endif
