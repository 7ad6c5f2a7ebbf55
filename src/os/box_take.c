/* box_take.c - memory for tables that the box leads to. See box.h.
 *
 * A table for which a black box has no room is in memory: the process goes on with it, and who reads the box misses it.
 *
 * Climate: malloc.   Owns: how much is taken.   Locks: none.
 */
#include "os/box.h"

#define FROM_ARENA KiB(8) /* below this memory shares an OS page with others' */

static struct {
    struct vt_region region;
    _Atomic size_t n_taken;
} tables = {.region = VT_BOXED_REGION(VT_BOX_TABLES, MiB(256), KiB(64))};

static void *take_from_file(size_t n_bytes, size_t align) {
    size_t n = vt_round_up(n_bytes, vt_max(align, sizeof(uint64_t)));
    size_t at = atomic_load_explicit(&tables.n_taken, memory_order_relaxed), start;
    do {
        start = vt_round_up(at, align);
        if (!vt__region_ready(&tables.region, start + n)) {
            vt__box_span.lose(n);
            return NULL;
        }
        /* relaxed: only the room is shared */
    } while (!atomic_compare_exchange_weak_explicit(&tables.n_taken, &at, start + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    return vt__region_base(&tables.region) + start;
}

void *vt__box_take(size_t n_bytes, size_t align) {
    void *at = NULL;
    if (vt__box_has_file()) at = take_from_file(n_bytes, align);
    if (at != NULL) return at;
    if (n_bytes < FROM_ARENA) return vt__arena_take(n_bytes, align);
    return vt__os_map(vt_round_up(n_bytes, VT_OS_PAGE), &at) == 0 ? at : NULL;
}
