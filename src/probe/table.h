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
};
void *vt__row(const struct vt_rows *r, uint32_t id); /* 1 <= id <= n */
uint32_t vt__row_add(struct vt_rows *r);             /* the new row's id; 0: no memory */

/* From a hash to row ids; open addressing, at most half full. */
struct vt_index {
    uint64_t (*hash_of)(uint32_t id);
    uint32_t *slot; /* ids; 0: empty */
    uint32_t n_slots, n;
};
/* The first id with this hash's place for which is_it(id, key); 0: none. */
uint32_t vt__index_find(const struct vt_index *x, uint64_t hash,
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
