/* jemalloc_extents.c - arena.N.extent_hooks: an arena whose hooks the program set takes its memory by calling them; it is an estate of
 * heap/estate.c, and the hooks its source.
 *
 * While a thread is in a hook its blocks come from arena 0, as in the original: hooks may allocate. Arena 0 itself is the threads'
 * window; its hooks are kept, and not called. docs/decisions/extents.md
 *
 * Climate: host, but for what the source's functions do (malloc).   Owns: the default hooks.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

/* ---- the default ones: programs copy them, replace a member and write the copy back. Those call them. ---- */

static void *map_extent(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                        bool *commit, unsigned arena) {
    void *p = NULL;
    (void)hooks, (void)arena;
    size_t n_bytes = size + (align > VT_OS_PAGE ? align : 0);
    if (at != NULL || n_bytes < size || vt__os_map(n_bytes, &p) != 0) return NULL;
    uintptr_t from = vt_round_up((uintptr_t)p, vt_max(align, VT_OS_PAGE));
    size_t before = from - (uintptr_t)p;
    if (before != 0) (void)vt__os_unmap(p, before);
    if (n_bytes - before > size) (void)vt__os_unmap((char *)from + size, n_bytes - before - size);
    *zero = *commit = true;
    return (void *)from;
}
static bool unmap_extent(extent_hooks_t *hooks, void *at, size_t size, bool committed,
                         unsigned arena) {
    (void)hooks, (void)committed, (void)arena;
    return vt_je(retain) || vt__os_unmap(at, size) != 0;
}
static void destroy_extent(extent_hooks_t *hooks, void *at, size_t size, bool committed,
                           unsigned arena) {
    (void)hooks, (void)committed, (void)arena;
    (void)vt__os_unmap(at, size);
}
static bool commit_extent(extent_hooks_t *hooks, void *at, size_t size, size_t offset,
                          size_t length, unsigned arena) {
    (void)hooks, (void)at, (void)size, (void)offset, (void)length, (void)arena;
    return true; /* there is nothing to commit: refused, as by the original where memory is overcommitted */
}
static bool purge_extent(extent_hooks_t *hooks, void *at, size_t size, size_t offset, size_t length,
                         unsigned arena) {
    (void)hooks, (void)size, (void)arena;
    return vt__os_purge((char *)at + offset, length) != 0;
}
static bool split_extent(extent_hooks_t *hooks, void *at, size_t size, size_t size_a, size_t size_b,
                         bool committed, unsigned arena) {
    (void)hooks, (void)at, (void)size, (void)size_a, (void)size_b, (void)committed, (void)arena;
    return false;
}
static bool merge_extents(extent_hooks_t *hooks, void *a, size_t size_a, void *b, size_t size_b,
                          bool committed, unsigned arena) {
    (void)hooks, (void)a, (void)size_a, (void)b, (void)size_b, (void)committed, (void)arena;
    return false;
}
static extent_hooks_t default_hooks = {map_extent,    unmap_extent,  destroy_extent,
                                       commit_extent, commit_extent, purge_extent,
                                       purge_extent,  split_extent,  merge_extents};

static extent_hooks_t *hooks_of(const struct vt_je_arena *a) {
    extent_hooks_t *hooks = atomic_load_explicit(&a->hooks, memory_order_acquire);
    return hooks != NULL ? hooks : &default_hooks;
}

/* ---- calling them ---- */

static __thread unsigned depth __attribute__((tls_model("initial-exec")));

bool vt__je_is_in_hook(void) { return depth > 0; }

static unsigned number_of(const struct vt_je_arena *a) { return (unsigned)(a - vt__je_arena(0)); }

static bool give(void *arg, void *at, size_t n_bytes, bool is_committed) {
    extent_hooks_t *hooks = hooks_of(arg);
    depth++;
    bool is_gone =
        hooks->dalloc != NULL && !hooks->dalloc(hooks, at, n_bytes, is_committed, number_of(arg));
    depth--;
    return is_gone;
}

static bool commit(void *arg, void *at, size_t n_bytes) {
    extent_hooks_t *hooks = hooks_of(arg);
    depth++;
    bool is_done =
        hooks->commit != NULL && !hooks->commit(hooks, at, n_bytes, 0, n_bytes, number_of(arg));
    depth--;
    return is_done;
}

static void *take(void *arg, size_t n_bytes, size_t align, bool *is_zero) {
    extent_hooks_t *hooks = hooks_of(arg);
    bool zero = false, is_committed = true;
    unsigned number = number_of(arg);
    if (hooks->alloc == NULL) return NULL;
    depth++;
    void *p = hooks->alloc(hooks, NULL, n_bytes, align, &zero, &is_committed, number);
    depth--;
    *is_zero = zero;
    /* cppcheck-suppress returnDanglingLifetime ; a hook returns memory, none of its arguments */
    if (p == NULL || is_committed || commit(arg, p, n_bytes)) return p;
    (void)give(arg, p, n_bytes, /* is_committed */ false);
    return NULL;
}

static void drop(void *arg, void *at, size_t n_bytes, bool is_committed) {
    extent_hooks_t *hooks = hooks_of(arg);
    if (hooks->destroy == NULL) {
        (void)give(arg, at, n_bytes, is_committed);
        return;
    }
    depth++;
    hooks->destroy(hooks, at, n_bytes, is_committed, number_of(arg));
    depth--;
}

static bool split(void *arg, void *at, size_t n_bytes, size_t n_first, bool is_committed) {
    extent_hooks_t *hooks = hooks_of(arg);
    depth++;
    bool is_done =
        hooks->split != NULL &&
        !hooks->split(hooks, at, n_bytes, n_first, n_bytes - n_first, is_committed, number_of(arg));
    depth--;
    return is_done;
}

static bool merge(void *arg, void *at, size_t n_first, size_t n_second, bool is_committed) {
    extent_hooks_t *hooks = hooks_of(arg);
    depth++;
    bool is_done = hooks->merge != NULL && !hooks->merge(hooks, at, n_first, (char *)at + n_first,
                                                         n_second, is_committed, number_of(arg));
    depth--;
    return is_done;
}

/* The first that works, as in the original: decommit, purge_forced, purge_lazy. After the last it may read as anything. */
static enum vt_purged purge(void *arg, void *at, size_t n_bytes) {
    extent_hooks_t *hooks = hooks_of(arg);
    unsigned number = number_of(arg);
    enum vt_purged how = VT_PURGED_NOT;
    depth++;
    if (hooks->decommit != NULL && !hooks->decommit(hooks, at, n_bytes, 0, n_bytes, number))
        how = VT_PURGED_UNCOMMITTED;
    else if (hooks->purge_forced != NULL &&
             !hooks->purge_forced(hooks, at, n_bytes, 0, n_bytes, number))
        how = VT_PURGED_ZERO;
    else if (hooks->purge_lazy != NULL)
        (void)hooks->purge_lazy(hooks, at, n_bytes, 0, n_bytes, number);
    depth--;
    return how;
}

static size_t grow_max(void *arg) {
    const struct vt_je_arena *a = arg;
    return a->retain_grow_limit != 0 ? a->retain_grow_limit : SIZE_MAX;
}

static bool is_eager(void *arg) { return vt__je_dirty_decay_ms(arg) == 0; }

static const struct vt_source source = {take,  give,   drop,     split,   merge,
                                        purge, commit, grow_max, is_eager};

/* ---- nodes ---- */

/* From now on its heap asks the hooks, or no longer does. Who allocates meanwhile meets those it had, which give as good memory. */
static bool use_hooks(struct vt_je_arena *a, bool is_default) {
    if (is_default) return vt__own_use(a->heap, NULL);
    if (a->estate == NULL) a->estate = vt__estate_new(&source, a);
    return a->estate != NULL && vt__own_use(a->heap, a->estate);
}

/* One that fails leaves the arena as it was: hooks that the program was refused are never called. */
int vt__je_set_hooks(struct vt_je_arena *a, void *hooks) {
    bool is_default = hooks == NULL || hooks == &default_hooks;
    if (a->heap != NULL /* arena 0 has none */ && !use_hooks(a, is_default)) return EAGAIN;
    /* release: what they are; pairs with hooks_of */
    atomic_store_explicit(&a->hooks, is_default ? NULL : hooks, memory_order_release);
    return 0;
}

int vt__je_read_extent_hooks(const struct vt_je_call *c, uint64_t *out) {
    if (c->index[0] >= vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS)) return EFAULT;
    *out = (uintptr_t)hooks_of(vt__je_arena(c->index[0]));
    return 0;
}

int vt__je_write_extent_hooks(const struct vt_je_call *c, uint64_t value) {
    struct vt_own *heap; /* an automatic arena is made by the way */
    if (!vt__je_arena_heap(c->index[0], &heap)) return EFAULT;
    return vt__je_set_hooks(vt__je_arena(c->index[0]), (void *)(uintptr_t)value);
}
