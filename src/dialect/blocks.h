/* blocks.h - what the names in libc.c and cxx.c hand on to: the heap, as it is or as libtcmalloc has it (blocks_new_mode.h), or for
 * the debug libraries blocks with guards around them (blocks_guarded.h).
 * Who makes a block and who frees it is told; only the secure and the debug libraries want to know (heap/held.h), and nothing is
 * paid for it elsewhere. Climate: malloc. */
#ifndef VT_DIALECT_BLOCKS_H
#define VT_DIALECT_BLOCKS_H

#include "base/base.h"
#include "heap/class.h"
#include "probe/guard_block.h"

#ifdef VT_GUARDED_BLOCKS
#include "dialect/blocks_guarded.h"
#else
#include "heap/held.h"

#ifdef VT_NEW_MODE
#include "dialect/blocks_new_mode.h"
#else
VT_INLINE void *block_alloc(size_t n_bytes, enum vt_made_by by) {
    return vt__held(vt__fast_malloc(n_bytes), by);
}
VT_INLINE void *block_aligned(size_t align, size_t n_bytes, enum vt_made_by by) {
    return vt__held(vt__aligned_alloc(align, n_bytes), by);
}
VT_INLINE void *block_calloc(size_t n, size_t each_bytes) {
    return vt__held(vt__calloc(n, each_bytes), VT_MADE_BY_MALLOC);
}
VT_INLINE void *block_realloc(void *p, size_t n_bytes) { return vt__held_realloc(p, n_bytes); }
#endif

VT_INLINE void block_free(void *p, enum vt_made_by by) { vt__held_free(p, by); }
/* align: as it was asked for, 1 if it was not */
VT_INLINE void block_free_sized(void *p, size_t align, size_t n_bytes, enum vt_made_by by) {
    vt__held_free_sized(p, align, n_bytes, by);
}
VT_INLINE size_t block_size(const void *p) { return vt__usable_size(p); }
#endif

#endif
