/* gperftools_no_debug.c - libraries that put nothing around their blocks. gperftools_debug.c is the other choice.
 * Climate: malloc for what allocates, else host. */
#include "dialect/gperftools_debug.h"
#include "dialect/gperftools_new_mode.h"
#include "heap/fast.h"
#include "heap/heap.h"

void vt__debug_begin(void) {}

void vt__debug_end(void) {}

bool vt__debug_verify_all(void) { return true; }

bool vt__debug_verify(const void *p, enum vt_made_by by) {
    (void)p, (void)by;
    return true;
}

void vt__debug_count(struct vt_debug_counts *out) { *out = (struct vt_debug_counts){0}; }

bool vt__debug_has_queue(void) { return false; }

size_t vt__debug_queued_bytes(void) { return 0; }

size_t vt__debug_size(const void *p) { return vt__usable_size(p); }

void vt__debug_set_hooks(const struct vt_heap_hooks *hooks) { vt__heap_set_hooks(hooks); }

size_t vt__debug_estimate(size_t block_bytes, size_t n_bytes) {
    (void)n_bytes;
    return block_bytes;
}

/* ---- malloc, if it is to ask the new-handler ---- */

static void *malloc_slow_asking(size_t n_bytes) {
    void *p;
    do p = vt__malloc_slow(n_bytes);
    while (p == NULL && vt__new_mode_helped());
    return p;
}

vt_malloc_slow *vt__tc_malloc_slow = vt__malloc_slow;

void vt__debug_mode_changed(bool asks) {
    /* relaxed: either is right for a malloc that comes meanwhile */
    __atomic_store_n(&vt__tc_malloc_slow, asks ? malloc_slow_asking : vt__malloc_slow,
                     __ATOMIC_RELAXED);
}

void *vt__tc_aligned_alloc(size_t align, size_t n_bytes) {
    void *p;
    do p = vt__aligned_alloc(align, n_bytes);
    while (vt_unlikely(p == NULL) && vt__new_mode_helped());
    return p;
}

void *vt__tc_calloc(size_t n, size_t each_bytes) {
    void *p;
    do p = vt__calloc(n, each_bytes);
    while (vt_unlikely(p == NULL) && vt__new_mode_helped());
    return p;
}

void *vt__tc_realloc(void *p, size_t n_bytes) {
    void *to;
    do to = vt__realloc(p, n_bytes);
    while (vt_unlikely(to == NULL) && n_bytes != 0 && vt__new_mode_helped());
    return to;
}

void *vt__debug_alloc_once(size_t n_bytes) { return vt__malloc(n_bytes); }
