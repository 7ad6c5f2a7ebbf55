/* mimalloc_arena.c - mi_reserve_...: there is one window of addresses, reserved at start. Reserving makes more of it accessible, so
 * that later allocations find it ready; an arena is such a part, a tract of heap/tract.c, and a heap can be tied to it. Memory of
 * the program's own cannot become part of the window: docs/decisions/arenas.md. mimalloc_v2.c and _v3.c have the forms with an
 * arena's id. Climate: host. */
#include <errno.h>

#include "dialect/mimalloc_impl.h"

int vt__mi_reserve(size_t n_bytes, bool is_exclusive, unsigned *number) {
    size_t n_reserved;
    int err = vt__tract_new(n_bytes, is_exclusive, number);
    if (err != 0) return -err;
    (void)vt__tract_area(vt__tract(*number), &n_reserved);
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: reserved ");
    vt__text_uint(&m.text, n_reserved / 1024);
    vt__text_put(&m.text, " KiB memory");
    vt__mi_verbose(&m);
    return 0;
}

VT_EXPORT int mi_reserve_os_memory(size_t size, bool commit, bool allow_large) {
    unsigned number;
    (void)commit, (void)allow_large;
    return vt__mi_reserve(size, /* exclusive */ false, &number);
}

VT_EXPORT int mi_reserve_huge_os_pages_at(size_t pages, int numa_node, size_t timeout_msecs) {
    unsigned number;
    (void)numa_node, (void)timeout_msecs;
    if (pages == 0) return 0;
    if (pages > PTRDIFF_MAX / GiB(1)) return ENOMEM;
    return vt__mi_reserve(pages * GiB(1), /* exclusive */ false, &number);
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
    const struct vt_tract *tract;
    for (unsigned i = 1; (tract = vt__tract(i)) != NULL; i++) {
        size_t n_bytes;
        const void *at = vt__tract_area(tract, &n_bytes);
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
