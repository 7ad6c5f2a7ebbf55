/* gperftools_debug.h - what the debug libraries know of a block, and the others do not: gperftools_debug.c, or
 * gperftools_no_debug.c. Climate: host. */
#ifndef VT_DIALECT_GPERFTOOLS_DEBUG_H
#define VT_DIALECT_GPERFTOOLS_DEBUG_H

#include "base/base.h"
#include "probe/guard_block.h"

VT_HIDDEN_BEGIN

void vt__debug_begin(void);      /* with the environment; climate: malloc */
void vt__debug_end(void);        /* at exit */
bool vt__debug_verify_all(void); /* true, or the process ends */
bool vt__debug_verify(const void *p, enum vt_made_by by);
struct vt_debug_counts {
    int n_blocks, histogram[64];
    size_t n_bytes;
};
void vt__debug_count(struct vt_debug_counts *out);
bool vt__debug_has_queue(void);
size_t vt__debug_queued_bytes(void);  /* freed blocks that wait */
size_t vt__debug_size(const void *p); /* what the program may use of it */
struct vt_heap_hooks;
void vt__debug_set_hooks(const struct vt_heap_hooks *hooks); /* heap/heap.h */
/* gperftools_trace.c: TCMALLOC_TRACE. False: there is nowhere to write to. */
bool vt__debug_trace_begin(void);
void vt__debug_trace(const char *function, size_t n_bytes, const void *p);

/* As guard_block.h has them; a malloc may ask the new-handler (gperftools_new_mode.h). Climate: malloc. */
void *vt__debug_alloc(size_t align, size_t n_bytes, enum vt_made_by by);
void *vt__debug_calloc(size_t n, size_t each_bytes);
void *vt__debug_realloc(void *p, size_t n_bytes);
size_t vt__debug_estimate(size_t block_bytes, size_t n_bytes);

VT_HIDDEN_END

#endif
