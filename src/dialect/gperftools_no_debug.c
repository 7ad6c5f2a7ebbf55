/* gperftools_no_debug.c - libraries that put nothing around their blocks. gperftools_debug.c is the other choice. Climate: host. */
#include "dialect/gperftools_debug.h"
#include "heap/heap.h"

void vt__debug_begin(void) {}

void vt__debug_end(void) {}

bool vt__debug_verify_all(void) { return true; }

bool vt__debug_verify(const void *p, enum vt_made_by by) {
    (void)p, (void)by;
    return true;
}

void vt__debug_count(struct vt_debug_counts *out) { *out = (struct vt_debug_counts){0}; }

size_t vt__debug_size(const void *p) { return vt__usable_size(p); }

void vt__debug_set_hooks(const struct vt_heap_hooks *hooks) { vt__heap_set_hooks(hooks); }

size_t vt__debug_estimate(size_t block_bytes, size_t n_bytes) {
    (void)n_bytes;
    return block_bytes;
}
