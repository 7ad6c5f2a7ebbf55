/* blocks_guarded.h - the other choice of blocks.h. Climate: malloc. */
#ifndef VT_DIALECT_BLOCKS_GUARDED_H
#define VT_DIALECT_BLOCKS_GUARDED_H

#include "dialect/gperftools_debug.h"

VT_INLINE void *block_alloc(size_t n_bytes, enum vt_made_by by) {
    return vt__debug_alloc(1, n_bytes, by);
}
VT_INLINE void *block_aligned(size_t align, size_t n_bytes, enum vt_made_by by) {
    return vt__debug_alloc(align, n_bytes, by);
}
VT_INLINE void *block_calloc(size_t n, size_t each_bytes) {
    return vt__debug_calloc(n, each_bytes);
}
VT_INLINE void *block_realloc(void *p, size_t n_bytes) { return vt__debug_realloc(p, n_bytes); }
VT_INLINE void block_free(void *p, enum vt_made_by by) { vt__guard_free(p, by, VT_SIZE_NOT_SAID); }
VT_INLINE void block_free_sized(void *p, VT_UNUSED size_t align, size_t n_bytes,
                                enum vt_made_by by) {
    vt__guard_free(p, by, n_bytes);
}
VT_INLINE size_t block_size(const void *p) { return vt__guard_size(p); }

#endif
