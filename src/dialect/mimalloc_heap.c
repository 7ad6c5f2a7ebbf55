/* mimalloc_heap.c - mi_heap_... over the heaps of heap/own.c. The main heap is the threads' own; a mi_heap_t * is its address, or
 * that of a struct vt_own. In v3 each thread has a mi_theap_t of a heap: here that is the heap itself.
 *
 * Climate: malloc.   Owns: nothing. */
#include <errno.h>

#include "dialect/mimalloc_impl.h"
#include "heap/fast.h"
#include "heap/own_cache.h"
#include "os/os.h"

static char main_heap; /* only its address is used */

#define MAIN_HEAP ((mi_heap_t *)(void *)&main_heap)

static struct vt_own *own_of(const mi_heap_t *heap) {
    return heap == NULL || heap == MAIN_HEAP ? NULL : (struct vt_own *)heap;
}
static mi_heap_t *heap_of(struct vt_own *o) { return o != NULL ? (mi_heap_t *)o : MAIN_HEAP; }

/* ---- heaps come and go ---- */

VT_EXPORT mi_heap_t *mi_heap_new(void) { return (mi_heap_t *)vt__own_new(); }

static bool is_main_told(const mi_heap_t *heap, const char *what) {
    struct vt_mi_message m;
    if (own_of(heap) != NULL) return false;
    vt__mi_begin(&m, "mimalloc: warning: ");
    vt__text_put(&m.text, what);
    vt__mi_warn(&m);
    return true;
}

static void leave_default(struct vt_own *o) {
    if (vt__mi_default == o) (void)mi_heap_set_default(MAIN_HEAP);
}

VT_EXPORT void mi_heap_delete(mi_heap_t *heap) {
    if (heap == NULL || is_main_told(heap, "cannot delete the main heap")) return;
    leave_default(own_of(heap));
    vt__own_delete(own_of(heap));
}

VT_EXPORT void mi_heap_destroy(mi_heap_t *heap) {
    if (heap == NULL || is_main_told(heap, "cannot destroy the main heap")) return;
    leave_default(own_of(heap));
    vt__own_destroy(own_of(heap));
}

VT_EXPORT void mi_heap_collect(mi_heap_t *heap, bool force) {
    if (own_of(heap) != NULL)
        vt__own_collect(own_of(heap));
    else
        mi_collect(force);
}

VT_EXPORT mi_heap_t *mi_heap_main(void) { return MAIN_HEAP; }
VT_EXPORT mi_heap_t *mi_heap_get_backing(void) { return MAIN_HEAP; }
VT_EXPORT mi_heap_t *mi_heap_get_default(void) { return heap_of(vt__mi_default); }

VT_EXPORT mi_heap_t *mi_heap_set_default(mi_heap_t *heap) {
    mi_heap_t *before = mi_heap_get_default();
    vt__mi_default = own_of(heap);
    vt__heap_divert(vt__mi_default != NULL);
    return before;
}

VT_EXPORT mi_theap_t *mi_theap_set_default(mi_theap_t *theap) {
    return (mi_theap_t *)mi_heap_set_default((mi_heap_t *)theap);
}
VT_EXPORT mi_theap_t *mi_theap_get_default(void) { return (mi_theap_t *)mi_heap_get_default(); }
VT_EXPORT mi_theap_t *mi_heap_theap(mi_heap_t *heap) { return (mi_theap_t *)heap; }
VT_EXPORT void mi_heap_set_numa_affinity(mi_heap_t *heap, int numa_node) {
    (void)heap, (void)numa_node;
}

/* ---- allocation ---- */

VT_EXPORT void *mi_heap_malloc(mi_heap_t *heap, size_t size) {
    struct vt_own *o = own_of(heap);
    if (vt_likely(o != NULL) && vt_likely(size - 1 < VT_SMALL_MAX)) {
        void *p = own_cache_take(o, size);
        if (vt_likely(p != NULL)) return p;
    }
    return vt__mi_alloc(o, size, false);
}
VT_EXPORT void *mi_heap_malloc_small(mi_heap_t *heap, size_t size) {
    return mi_heap_malloc(heap, size);
}
VT_EXPORT void *mi_heap_zalloc(mi_heap_t *heap, size_t size) {
    return vt__mi_alloc(own_of(heap), size, true);
}
VT_EXPORT void *mi_heap_zalloc_small(mi_heap_t *heap, size_t size) {
    return vt__mi_alloc(own_of(heap), size, true);
}
VT_EXPORT void *mi_heap_calloc(mi_heap_t *heap, size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_heap_zalloc(heap, n) : NULL;
}
VT_EXPORT void *mi_heap_mallocn(mi_heap_t *heap, size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_heap_malloc(heap, n) : NULL;
}
VT_EXPORT void *mi_heap_realloc(mi_heap_t *heap, void *p, size_t newsize) {
    return vt__mi_realloc(own_of(heap), p, newsize, false);
}
VT_EXPORT void *mi_heap_reallocn(mi_heap_t *heap, void *p, size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_heap_realloc(heap, p, n) : NULL;
}
VT_EXPORT void *mi_heap_reallocf(mi_heap_t *heap, void *p, size_t newsize) {
    void *to = mi_heap_realloc(heap, p, newsize);
    if (to == NULL) vt__free(p);
    return to;
}
VT_EXPORT void *mi_heap_rezalloc(mi_heap_t *heap, void *p, size_t newsize) {
    return vt__mi_realloc(own_of(heap), p, newsize, true);
}
VT_EXPORT void *mi_heap_recalloc(mi_heap_t *heap, void *p, size_t newcount, size_t size) {
    size_t n;
    return vt__mi_product(newcount, size, &n) ? mi_heap_rezalloc(heap, p, n) : NULL;
}
VT_EXPORT char *mi_heap_strdup(mi_heap_t *heap, const char *s) {
    return vt__mi_strndup(own_of(heap), s, SIZE_MAX);
}
VT_EXPORT char *mi_heap_strndup(mi_heap_t *heap, const char *s, size_t n) {
    return vt__mi_strndup(own_of(heap), s, n);
}
VT_EXPORT char *mi_heap_realpath(mi_heap_t *heap, const char *fname, char *resolved_name) {
    return vt__mi_realpath(own_of(heap), fname, resolved_name);
}

#define WITHOUT_BRACES(...) __VA_ARGS__
#define FORM(name, params, call)                                                                   \
    VT_EXPORT void *mi_heap_##name##_aligned_at(mi_heap_t *heap, WITHOUT_BRACES params,            \
                                                size_t offset) {                                   \
        struct vt_own *o = own_of(heap);                                                           \
        VT_UNUSED size_t n;                                                                        \
        return call;                                                                               \
    }                                                                                              \
    VT_EXPORT void *mi_heap_##name##_aligned(mi_heap_t *heap, WITHOUT_BRACES params) {             \
        struct vt_own *o = own_of(heap);                                                           \
        const size_t offset = 0;                                                                   \
        VT_UNUSED size_t n;                                                                        \
        return call;                                                                               \
    }
#include "dialect/mimalloc_aligned.def"

VT_EXPORT void *mi_heap_alloc_new(mi_heap_t *heap, size_t size) {
    return vt__mi_new_in(own_of(heap), size);
}
VT_EXPORT void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t count, size_t size) {
    size_t n;
    return vt__mi_new_in(own_of(heap), vt__mi_product(count, size, &n) ? n : SIZE_MAX);
}

/* The same by a thread's part of a heap. */
static mi_heap_t *heap_of_theap(mi_theap_t *theap) { return (mi_heap_t *)theap; }
VT_EXPORT void *mi_theap_malloc(mi_theap_t *theap, size_t size) {
    return mi_heap_malloc(heap_of_theap(theap), size);
}
VT_EXPORT void *mi_theap_zalloc(mi_theap_t *theap, size_t size) {
    return mi_heap_zalloc(heap_of_theap(theap), size);
}
VT_EXPORT void *mi_theap_calloc(mi_theap_t *theap, size_t count, size_t size) {
    return mi_heap_calloc(heap_of_theap(theap), count, size);
}
VT_EXPORT void *mi_theap_malloc_small(mi_theap_t *theap, size_t size) {
    return mi_heap_malloc(heap_of_theap(theap), size);
}
VT_EXPORT void *mi_theap_zalloc_small(mi_theap_t *theap, size_t size) {
    return mi_heap_zalloc(heap_of_theap(theap), size);
}
VT_EXPORT void *mi_theap_malloc_aligned(mi_theap_t *theap, size_t size, size_t alignment) {
    return mi_heap_malloc_aligned(heap_of_theap(theap), size, alignment);
}
VT_EXPORT void *mi_theap_realloc(mi_theap_t *theap, void *p, size_t newsize) {
    return mi_heap_realloc(heap_of_theap(theap), p, newsize);
}
VT_EXPORT void mi_theap_collect(mi_theap_t *theap, bool force) {
    mi_heap_collect(heap_of_theap(theap), force);
}

/* ---- whose is it? ---- */

VT_EXPORT bool mi_any_heap_contains(const void *p) { return vt__heap_owns(p); }

VT_EXPORT mi_heap_t *mi_heap_of(const void *p) {
    return vt__heap_owns(p) ? heap_of(vt__own_of(p)) : NULL;
}
VT_EXPORT bool mi_heap_contains(const mi_heap_t *heap, const void *p) {
    return vt__heap_owns(p) && vt__own_of(p) == own_of(heap);
}
VT_EXPORT bool mi_heap_contains_block(mi_heap_t *heap, const void *p) {
    struct vt_heap_block b;
    struct vt_brought brought;
    bool is_block = vt__heap_block(p, &b) || (vt__brought_find(p, &brought) && brought.is_block);
    return is_block && mi_heap_contains(heap, p);
}
VT_EXPORT bool mi_heap_check_owned(mi_heap_t *heap, const void *p) {
    return (uintptr_t)p % sizeof(void *) == 0 && mi_heap_contains(heap, p);
}
VT_EXPORT bool mi_check_owned(const void *p) {
    return mi_heap_check_owned(mi_heap_get_default(), p);
}

VT_EXPORT bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p,
                                                     size_t perc_threshold) {
    struct vt_own_area a;
    struct vt_own *o = own_of(heap);
    if (o == NULL || vt__own_of(p) != o) return false;
    for (size_t n = 0; vt__own_area(o, n, &a); n++)
        if ((char *)p >= a.at && (char *)p < a.at + a.n_bytes)
            return a.n_used * a.block_bytes * 100 < a.n_bytes * perc_threshold;
    return false;
}

/* ---- visitors ---- */

static bool visit_area(const mi_heap_t *heap, const struct vt_own_area *a, bool visit_blocks,
                       mi_block_visit_fun *visitor, void *arg) {
    mi_heap_area_t area = {.blocks = a->at,
                           .reserved = a->n_bytes,
                           .committed = a->n_carved * a->block_bytes,
                           .used = a->n_used,
                           .block_size = a->block_bytes,
                           .full_block_size = a->block_bytes};
    if (!visitor(heap, &area, NULL, a->block_bytes, arg)) return false;
    for (size_t i = 0; visit_blocks && i < a->n_carved; i++) {
        if ((a->is_used[i / 32] >> (i % 32) & 1) == 0) continue;
        if (!visitor(heap, &area, a->at + i * a->block_bytes, a->block_bytes, arg)) return false;
    }
    return true;
}

VT_EXPORT bool mi_heap_visit_blocks(const mi_heap_t *heap, bool visit_blocks,
                                    mi_block_visit_fun *visitor, void *arg) {
    struct vt_own *o = own_of(heap);
    struct vt_own_area a;
    size_t cursor = 0;
    if (o == NULL) {
        while (vt__heap_area(&cursor, &a))
            if (!visit_area(MAIN_HEAP, &a, visit_blocks, visitor, arg)) return false;
        return true;
    }
    for (; vt__own_area(o, cursor, &a); cursor++)
        if (!visit_area(heap, &a, visit_blocks, visitor, arg)) return false;
    return true;
}

VT_EXPORT bool mi_theap_visit_blocks(const mi_theap_t *theap, bool visit_blocks,
                                     mi_block_visit_fun *visitor, void *arg) {
    return mi_heap_visit_blocks((const mi_heap_t *)theap, visit_blocks, visitor, arg);
}

/* No block is ever without an owner: a heap whose thread ended waits for another. */
VT_EXPORT bool mi_heap_visit_abandoned_blocks(mi_heap_t *heap, bool visit_blocks,
                                              mi_block_visit_fun *visitor, void *arg) {
    (void)heap, (void)visit_blocks, (void)visitor, (void)arg;
    return true;
}

/* ---- the process ---- */

VT_EXPORT void mi_collect(bool force) {
    vt__mi_deferred_free(force);
    if (!vt__mi_started()) return;
    if (force)
        vt__heap_release_all();
    else
        (void)vt__heap_purge_step();
}

VT_EXPORT void mi_collect_reduce(size_t target_thread_owned) {
    (void)target_thread_owned;
    mi_collect(true);
}

VT_EXPORT int mi_version(void) { return vt__mi_line.version; }
VT_EXPORT void mi_process_init(void) { (void)vt__mi_started(); }
VT_EXPORT void mi_process_done(void) {}
VT_EXPORT void mi_thread_init(void) { vt__free(vt__malloc(1)); }
VT_EXPORT void mi_thread_done(void) { vt__heap_detach_thread(); }
VT_EXPORT void mi_thread_set_in_threadpool(void) {}
VT_EXPORT bool mi_is_in_heap_region(const void *p) { return vt__heap_owns(p); }
VT_EXPORT bool mi_is_redirected(void) { return false; }
