/* mimalloc_typed.h - functions whose types differ between v2 and v3 but whose text does not. Part of mimalloc_v2.c and of
 * mimalloc_v3.c, which say which header they mean before they include it. */
#ifndef VT_DIALECT_MIMALLOC_TYPED_H
#define VT_DIALECT_MIMALLOC_TYPED_H

#include <errno.h>

#include "dialect/mimalloc_impl.h"

/* ---- arenas: an id is a number, 0 is none ---- */

VT_EXPORT int mi_reserve_os_memory_ex(size_t size, bool commit, bool allow_large, bool exclusive,
                                      mi_arena_id_t *arena_id) {
    unsigned number = 0;
    (void)commit, (void)allow_large;
    int err = vt__mi_reserve(size, exclusive, &number);
    if (arena_id != NULL) *arena_id = (mi_arena_id_t)(intptr_t)(err == 0 ? number : 0);
    return err;
}

VT_EXPORT int mi_reserve_huge_os_pages_at_ex(size_t pages, int numa_node, size_t timeout_msecs,
                                             bool exclusive, mi_arena_id_t *arena_id) {
    (void)numa_node, (void)timeout_msecs;
    if (pages > PTRDIFF_MAX / GiB(1)) return ENOMEM;
    return mi_reserve_os_memory_ex(pages * GiB(1), true, true, exclusive, arena_id);
}

VT_EXPORT bool mi_manage_os_memory_ex(void *start, size_t size, bool is_committed, bool is_large,
                                      bool is_zero, int numa_node, bool exclusive,
                                      mi_arena_id_t *arena_id) {
    unsigned number = 0;
    (void)is_large, (void)numa_node, (void)exclusive;
    bool is_done = vt__mi_manage(start, size, is_committed, is_zero, &number);
    if (arena_id != NULL) *arena_id = (mi_arena_id_t)(intptr_t)(is_done ? number : 0);
    return is_done;
}

/* The program's function makes all of it accessible at once; it is never asked to take that back. */
VT_EXPORT bool mi_manage_memory(void *start, size_t size, bool is_committed, bool is_pinned,
                                bool is_zero, int numa_node, bool exclusive,
                                mi_commit_fun_t *commit_fun, void *commit_fun_arg,
                                mi_arena_id_t *arena_id) {
    if (arena_id != NULL) *arena_id = (mi_arena_id_t)0;
    if (!is_committed && commit_fun != NULL) {
        bool is_cleared = false;
        if (!commit_fun(/* commit */ true, start, size, &is_cleared, commit_fun_arg)) return false;
        is_committed = true;
        is_zero |= is_cleared;
    }
    return mi_manage_os_memory_ex(start, size, is_committed, is_pinned, is_zero, numa_node,
                                  exclusive, arena_id);
}

VT_EXPORT void *mi_arena_area(mi_arena_id_t arena_id, size_t *size) {
    struct vt_mi_arena a;
    (void)vt__mi_arena((intptr_t)arena_id, &a);
    if (size != NULL) *size = a.n_bytes;
    return a.at;
}

VT_EXPORT bool mi_arena_contains(mi_arena_id_t arena_id, const void *p) {
    size_t n_bytes;
    const char *at = mi_arena_area(arena_id, &n_bytes);
    return at != NULL && (const char *)p >= at && (const char *)p < at + n_bytes;
}

VT_EXPORT mi_heap_t *mi_heap_new_in_arena(mi_arena_id_t arena_id) {
    struct vt_mi_arena a;
    if ((intptr_t)arena_id == 0) return mi_heap_new(); /* in any */
    if (!vt__mi_arena((intptr_t)arena_id, &a)) return NULL;
    return (mi_heap_t *)(a.tract != NULL ? vt__own_new_in(a.tract) : vt__own_new_on(a.estate));
}

VT_EXPORT mi_heap_t *mi_heap_new_ex(int heap_tag, bool allow_destroy, mi_arena_id_t arena_id) {
    (void)heap_tag, (void)allow_destroy;
    return mi_heap_new_in_arena(arena_id);
}

/* ---- statistics ---- */

static const struct vt_mi_field fields[] = {
#define MI_STAT_COUNT(name) {#name, VT_MI_F_##name, false, offsetof(mi_stats_t, name)},
#define MI_STAT_COUNTER(name) {#name, VT_MI_F_##name, true, offsetof(mi_stats_t, name)},
    MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
};

VT_EXPORT char *mi_stats_get_json(size_t buf_size, char *buf) {
    return vt__mi_json(NULL, fields, vt_countof(fields), MI_STAT_VERSION, buf_size, buf);
}

VT_EXPORT bool mi_stats_get(mi_stats_t *stats) {
    if (stats == NULL || stats->size != sizeof(*stats) || stats->version != MI_STAT_VERSION)
        return false;
    *stats = (mi_stats_t){.size = sizeof(*stats), .version = MI_STAT_VERSION};
    vt__mi_fill(stats, fields, vt_countof(fields));
    struct vt_mi_figures f;
    vt__mi_figures(&f);
    __builtin_memcpy(stats->malloc_bins, f.malloc_bins, sizeof(stats->malloc_bins));
    __builtin_memcpy(stats->page_bins, f.page_bins, sizeof(stats->page_bins));
    return true;
}

#endif
