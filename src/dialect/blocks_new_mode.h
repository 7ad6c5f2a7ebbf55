/* blocks_new_mode.h - the choice of blocks.h for libtcmalloc and its sisters: a malloc that fails may ask the new-handler, as
 * operator new does in any case (gperftools_new_mode.c). Nothing is paid for it: the slow path is reached by a pointer.
 * Climate: malloc. */
#ifndef VT_DIALECT_BLOCKS_NEW_MODE_H
#define VT_DIALECT_BLOCKS_NEW_MODE_H

#include "dialect/gperftools_new_mode.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "probe/guard_block.h"

VT_INLINE void *slow_of_mode(size_t n_bytes) { return vt_racy_read(vt__tc_malloc_slow)(n_bytes); }
VT_INLINE void *block_alloc(size_t n_bytes, enum vt_made_by by) {
    return by == VT_MADE_BY_MALLOC ? vt__fast_malloc_or(n_bytes, slow_of_mode)
                                   : vt__fast_malloc(n_bytes);
}
VT_INLINE void *block_aligned(size_t align, size_t n_bytes, enum vt_made_by by) {
    return by == VT_MADE_BY_MALLOC ? vt__tc_aligned_alloc(align, n_bytes)
                                   : vt__aligned_alloc(align, n_bytes);
}
VT_INLINE void *block_calloc(size_t n, size_t each_bytes) { return vt__tc_calloc(n, each_bytes); }
VT_INLINE void *block_realloc(void *p, size_t n_bytes) { return vt__tc_realloc(p, n_bytes); }

#endif
