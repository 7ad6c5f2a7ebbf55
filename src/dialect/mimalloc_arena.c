/* mimalloc_arena.c - mi_reserve_...: there is one window of addresses, reserved at start. Reserving makes more of it accessible, so
 * that later allocations find it ready; an arena is what was made accessible. Memory of the program's own cannot become part of
 * it, and no heap is tied to an arena. mimalloc_v2.c and _v3.c have the forms with an arena's id. Climate: host. */
#include <errno.h>

#include "dialect/mimalloc_impl.h"

#define ARENAS_MAX 64

static struct {
    _Atomic size_t n;
    struct {
        void *at;
        size_t n_bytes;
    } arena[ARENAS_MAX];
} arenas;

int vt__mi_reserve(size_t n_bytes, size_t *number) {
    void *p = n_bytes > 0 ? vt__malloc(n_bytes) : NULL;
    if (p == NULL) return n_bytes > 0 ? ENOMEM : EINVAL;
    vt__free(p);
    size_t i = atomic_fetch_add_explicit(&arenas.n, 1, memory_order_relaxed);
    if (i < ARENAS_MAX) {
        arenas.arena[i].at = p;
        arenas.arena[i].n_bytes = n_bytes;
    }
    *number = i + 1;
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: reserved ");
    vt__text_uint(&m.text, n_bytes / 1024);
    vt__text_put(&m.text, " KiB memory");
    vt__mi_verbose(&m);
    return 0;
}

void *vt__mi_arena_at(size_t number, size_t *n_bytes) {
    size_t n = vt_min(atomic_load_explicit(&arenas.n, memory_order_relaxed), ARENAS_MAX);
    if (number == 0 || number > n) {
        *n_bytes = 0;
        return NULL;
    }
    *n_bytes = arenas.arena[number - 1].n_bytes;
    return arenas.arena[number - 1].at;
}

VT_EXPORT int mi_reserve_os_memory(size_t size, bool commit, bool allow_large) {
    size_t number;
    (void)commit, (void)allow_large;
    return vt__mi_reserve(size, &number);
}

VT_EXPORT int mi_reserve_huge_os_pages_at(size_t pages, int numa_node, size_t timeout_msecs) {
    size_t number;
    (void)numa_node, (void)timeout_msecs;
    if (pages == 0) return 0;
    return pages > PTRDIFF_MAX / GiB(1) ? ENOMEM : vt__mi_reserve(pages * GiB(1), &number);
}

VT_EXPORT int mi_reserve_huge_os_pages_interleave(size_t pages, size_t numa_nodes,
                                                  size_t timeout_msecs) {
    (void)numa_nodes;
    return mi_reserve_huge_os_pages_at(pages, -1, timeout_msecs);
}

VT_EXPORT int mi_reserve_huge_os_pages(size_t pages, double max_secs, size_t *pages_reserved) {
    (void)max_secs;
    int err = mi_reserve_huge_os_pages_at(pages, -1, 0);
    if (pages_reserved != NULL) *pages_reserved = err == 0 ? pages : 0;
    return err;
}

VT_EXPORT bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_large,
                                   bool is_zero, int numa_node) {
    struct vt_mi_message m;
    (void)start, (void)is_committed, (void)is_large, (void)is_zero, (void)numa_node;
    vt__mi_begin(&m, "mimalloc: warning: ");
    vt__text_put(&m.text, "memory of the program's own cannot be used (size ");
    vt__text_uint(&m.text, size);
    vt__text_put(&m.text, ")");
    vt__mi_warn(&m);
    return false;
}

VT_EXPORT size_t mi_arena_min_alignment(void) { return MiB(2); }
VT_EXPORT size_t mi_arena_min_size(void) { return MiB(2); }

VT_EXPORT void mi_arenas_print(void) {
    struct vt_mi_printer p;
    struct vt_text *t = vt__mi_print_begin(&p, NULL, NULL);
    size_t n_bytes;
    void *at;
    for (size_t i = 1; (at = vt__mi_arena_at(i, &n_bytes)) != NULL; i++) {
        vt__text_put(t, "arena ");
        vt__text_uint(t, i);
        vt__text_put(t, " at ");
        vt__text_hex(t, (uintptr_t)at);
        vt__text_put(t, ": ");
        vt__text_uint(t, n_bytes / 1024);
        vt__text_put(t, " KiB\n");
    }
    vt__text_flush(t);
}
VT_EXPORT void mi_debug_show_arenas(void) { mi_arenas_print(); }
