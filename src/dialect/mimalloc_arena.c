/* mimalloc_arena.c - mi_reserve_... and mi_manage_...: ranges of memory that a heap can be tied to, docs/decisions/arenas.md.
 *
 *   reserved   a part of the window, a tract of heap/tract.c: reserving makes more of it accessible, so that later allocations find
 *              it ready
 *   managed    memory that the program brought, an estate of heap/estate.c
 *
 * mimalloc_v2.c and _v3.c have the forms with an arena's id.
 *
 * Climate: host.   Owns: the managed ones.   Locks: none. */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/mimalloc_impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

int vt__mi_reserve(size_t n_bytes, bool is_exclusive, unsigned *number) {
    size_t n_reserved;
    /* the environment first: it may have a limit, which the next line moves */
    if (vt__life_start() != 0) return ENOMEM;
    vt__mi_limit_more(vt_min(n_bytes, TiB(64)));
    int err = vt__tract_new(n_bytes, is_exclusive, number);
    vt__mi_limit_more(0); /* it is there now, or it is not */
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

/* ---- memory that the program brings ---- */

#define MIN_ALIGN KiB(64) /* what v3 asks for; 2.0 took less than 32 MiB, and could not use it */
#define MIN_BYTES MiB(32)
#define MANAGED_MAX 64
#define MANAGED_FROM 1024u /* their numbers come behind those of tracts */

static struct {
    _Atomic uint8_t state; /* 0 unused, 1 it comes, 2 it is there */
    struct vt_mi_arena arena;
} managed[MANAGED_MAX];

static bool refuse(size_t n_bytes, const char *why) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: warning: ");
    vt__text_put(&m.text, "cannot manage OS memory of the program's own (size ");
    vt__text_uint(&m.text, n_bytes);
    vt__text_put(&m.text, "): ");
    vt__text_put(&m.text, why);
    vt__mi_warn(&m);
    return false;
}

/* The range becomes all there is of an estate. */
static bool bring(struct vt_mi_arena *a, bool is_zero) {
    if (a->estate == NULL) a->estate = vt__estate_new(/* source */ NULL, NULL);
    return a->estate != NULL && vt__estate_add(a->estate, a->at, a->n_bytes, is_zero) == 0;
}

static bool manage_as(unsigned i, char *at, size_t n_bytes, bool is_zero) {
    managed[i].arena.at = at;
    managed[i].arena.n_bytes = n_bytes;
    bool is_done = bring(&managed[i].arena, is_zero);
    /* release: what it is; pairs with vt__mi_arena */
    atomic_store_explicit(&managed[i].state, is_done ? 2 : 0, memory_order_release);
    return is_done || refuse(n_bytes, "it is in use already, or there is no memory");
}

bool vt__mi_manage(void *start, size_t size, bool is_committed, bool is_zero, unsigned *number) {
    uintptr_t at = vt_round_up((uintptr_t)start, MIN_ALIGN);
    size_t before = at - (uintptr_t)start;
    size_t n_bytes = size > before ? vt_round_down(size - before, MIN_ALIGN) : 0;
    if (start == NULL || n_bytes < MIN_BYTES) return refuse(size, "32 MiB is the least");
    if (!is_committed && vt__os_commit((void *)at, n_bytes) != 0)
        return refuse(size, "it cannot be made accessible");
    for (unsigned i = 0; i < MANAGED_MAX; i++) {
        uint8_t unused = 0;
        if (!atomic_compare_exchange_strong(&managed[i].state, &unused, 1)) continue;
        *number = MANAGED_FROM + i;
        return manage_as(i, (char *)at, n_bytes, is_zero);
    }
    return refuse(size, "there are 64 already");
}

VT_EXPORT bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_large,
                                   bool is_zero, int numa_node) {
    unsigned number;
    (void)is_large, (void)numa_node;
    return vt__mi_manage(start, size, is_committed, is_zero, &number);
}

/* ---- asking ---- */

bool vt__mi_arena(intptr_t id, struct vt_mi_arena *out) {
    *out = (struct vt_mi_arena){.at = NULL};
    if (id >= MANAGED_FROM && id < MANAGED_FROM + MANAGED_MAX) {
        bool is_there =
            atomic_load_explicit(&managed[id - MANAGED_FROM].state, memory_order_acquire) == 2;
        if (is_there) *out = managed[id - MANAGED_FROM].arena;
        return is_there;
    }
    if (id <= 0 || id >= MANAGED_FROM) return false;
    out->tract = vt__tract((unsigned)id);
    if (out->tract != NULL) out->at = vt__tract_area(out->tract, &out->n_bytes);
    return out->tract != NULL;
}

/* As they were made, tracts first; *id is 0 before the first. */
bool vt__mi_next_arena(intptr_t *id, struct vt_mi_arena *out) {
    if (*id < MANAGED_FROM) {
        if (vt__mi_arena(++*id, out)) return true;
        *id = MANAGED_FROM - 1;
    }
    while (++*id < MANAGED_FROM + MANAGED_MAX)
        if (vt__mi_arena(*id, out)) return true;
    return false;
}

VT_EXPORT size_t mi_arena_min_alignment(void) { return MIN_ALIGN; }
VT_EXPORT size_t mi_arena_min_size(void) { return MIN_BYTES; }

VT_EXPORT void mi_arenas_print(void) {
    struct vt_mi_printer p;
    struct vt_text *t = vt__mi_print_begin(&p, NULL, NULL);
    struct vt_mi_arena a;
    for (intptr_t id = 0; vt__mi_next_arena(&id, &a);) {
        vt__text_put(t, "arena ");
        vt__text_uint(t, (uint64_t)id);
        vt__text_put(t, " at ");
        vt__text_hex(t, (uintptr_t)a.at);
        vt__text_put(t, ": ");
        vt__text_uint(t, a.n_bytes / 1024);
        vt__text_put(t, " KiB\n");
    }
    vt__text_flush(t);
}
VT_EXPORT void mi_debug_show_arenas(void) { mi_arenas_print(); }
