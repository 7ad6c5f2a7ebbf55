/* jemalloc_nodes.c - the nodes of mallctl that are about options, the calling thread, and single blocks. Climate: host.
 * Owns: nothing.   Locks: none. */
#include <errno.h>
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "heap/class.h"
#include "heap/fast.h"
#include "life/life.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

/* ---- constants ---- */

int vt__je_read_version(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uintptr_t)JEMALLOC_VERSION;
    return 0;
}

int vt__je_read_zero(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = 0;
    return 0;
}

int vt__je_read_constant(const struct vt_je_call *c, uint64_t *out) {
    *out = (uint64_t)c->what;
    return 0;
}

int vt__je_read_no_text(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uintptr_t) "";
    return 0;
}

int vt__je_write_nothing(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return 0;
}

/* ---- options ---- */

int vt__je_read_option(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_je_option_row *row = &vt__je_option_rows[c->what];
    const struct vt_je_value *v = &vt__je_values[c->what];
    *out =
        row->kind >= VT_JE_CHOICE && row->kind != VT_JE_RATIO ? (uintptr_t)v->text : (uint64_t)v->n;
    return 0;
}

int vt__je_read_source(const struct vt_je_call *c, uint64_t *out) {
    *out = (uintptr_t)vt__je_sources[c->what];
    return *out != 0 ? 0 : ENOENT;
}

int vt__je_read_background_thread(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt_opt(purge_thread);
    return 0;
}

/* A thread of ours that runs already stays and sleeps. */
int vt__je_write_background_thread(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    vt_opt(purge_thread) = value != 0;
    if (value != 0) vt__life_helper_begin();
    return 0;
}

int vt__je_read_max_background_threads(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uint64_t)vt_je(max_background_threads);
    return 0;
}

int vt__je_write_max_background_threads(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    if (value == 0 || value > (uint64_t)vt__je_option_rows[VT_JE_OPT_max_background_threads].high)
        return EINVAL;
    vt_je(max_background_threads) = (int64_t)value;
    return 0;
}

int vt__je_read_zero_reallocs(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_zero_reallocs();
    return 0;
}

int vt__je_read_uptime(const struct vt_je_call *c, uint64_t *out) {
    size_t i = c->index[0];
    bool is_made = i > 0 && i < VT_JE_MAX_ARENAS && vt__je_arena_is_there(i);
    uint64_t since_ms = is_made ? vt__je_arena(i)->started_ms : vt__je_started_ms();
    *out = (vt__os_now_ms() - since_ms) * 1000000;
    return 0;
}

/* ---- the calling thread: what it said is in a word of its heap ---- */

#define ARENA_MASK UINT64_C(0xffff)
#define HAS_NO_CACHE (UINT64_C(1) << 16)
#define IS_TELLING (UINT64_C(1) << 17)

int vt__je_read_thread_arena(const struct vt_je_call *c, uint64_t *out) {
    const uint64_t *word = vt__heap_dialect_word();
    (void)c;
    if (word == NULL) return EAGAIN;
    *out = *word & ARENA_MASK;
    return 0;
}

/* Its mallocs take their slow path for as long as they come from another than 0. */
int vt__je_write_thread_arena(const struct vt_je_call *c, uint64_t value) {
    uint64_t *word = vt__heap_dialect_word();
    struct vt_own *heap;
    (void)c;
    if (word == NULL) return EAGAIN;
    if (value >= vt__je_narenas() || !vt__je_arena_heap(value, &heap)) return EFAULT;
    if (heap != NULL) vt__je_be_special();
    /* relaxed: others only count */
    __atomic_store_n(word, (*word & ~ARENA_MASK) | value, __ATOMIC_RELAXED);
    vt__heap_divert(heap != NULL);
    return 0;
}

size_t vt__je_arena_threads(size_t i) { return vt__heap_count_words(ARENA_MASK, i); }

struct vt_own *vt__je_thread_heap(void) {
    struct vt_own *heap;
    const struct heap *h = vt__tls.real; /* NULL: it has just begun, or is ending */
    if (h == NULL || !h->is_diverted || vt__je_is_in_hook()) return NULL;
    return vt__je_arena_heap(h->dialect_word & ARENA_MASK, &heap) ? heap : NULL;
}

bool vt__je_is_telling(void) {
    const uint64_t *word = vt__heap_dialect_word();
    return word == NULL || (*word & IS_TELLING) != 0;
}

bool vt__je_begin_telling(void) {
    if (vt__je_is_telling()) return false;
    *vt__heap_dialect_word() |= IS_TELLING;
    return true;
}

void vt__je_end_telling(void) {
    uint64_t *word = vt__heap_dialect_word();
    if (word != NULL) *word &= ~IS_TELLING;
}

int vt__je_read_thread_tcache(const struct vt_je_call *c, uint64_t *out) {
    const uint64_t *word = vt__heap_dialect_word();
    (void)c;
    *out = word != NULL && (*word & HAS_NO_CACHE) == 0 && vt_je(tcache);
    return 0;
}

/* The lists are what malloc is made of: switched off, they are emptied once. */
int vt__je_write_thread_tcache(const struct vt_je_call *c, uint64_t value) {
    uint64_t *word = vt__heap_dialect_word();
    (void)c;
    if (word == NULL) return EAGAIN;
    *word = value != 0 ? *word & ~HAS_NO_CACHE : *word | HAS_NO_CACHE;
    if (value == 0) vt__heap_drop_thread_cache();
    return 0;
}

int vt__je_read_tcache_max(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uint64_t)vt_je(tcache_max);
    return 0;
}

int vt__je_write_tcache_max(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    vt_je(tcache_max) = (int64_t)vt_min(value, MiB(8));
    return 0;
}

/* Of thread.tcache.flush and, `what` 1, thread.idle, which is content without a cache, and then gives free memory back. As that is
 * common, it does for all. */
int vt__je_write_thread_flush(const struct vt_je_call *c, uint64_t value) {
    const uint64_t *word = vt__heap_dialect_word();
    (void)value;
    if (word != NULL && (*word & HAS_NO_CACHE) != 0 && c->what == 0) return EFAULT;
    vt__heap_drop_thread_cache();
    if (c->what == 1) (void)vt__heap_release_all();
    return 0;
}

/* How many blocks of this size a thread keeps at hand. */
int vt__je_write_ncached_max(const struct vt_je_call *c, uint64_t value) {
    size_t n_bytes, n;
    (void)value;
    if (!c->has_new || c->newlen != sizeof(n_bytes)) return EINVAL;
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp != sizeof(n)) return EINVAL;
    __builtin_memcpy(&n_bytes, c->newp, sizeof(n_bytes));
    if (n_bytes == 0 || n_bytes > VT_MEDIUM_MAX) return EINVAL;
    const struct vt_class *k = &vt__classes[vt__class_of(n_bytes)];
    n = n_bytes <= VT_SMALL_MAX ? k->list_goal : k->shelf_max;
    __builtin_memcpy(c->oldp, &n, sizeof(n));
    return 0;
}

int vt__je_read_thread_bytes(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_thread_bytes *bytes =
        vt__heap_thread_bytes(c->what == 0 ? VT_BYTES_ALLOCATED : VT_BYTES_BOTH);
    if (bytes == NULL) return EAGAIN;
    *out = c->what == 0 ? bytes->allocated : bytes->freed;
    return 0;
}

int vt__je_read_thread_bytes_at(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_thread_bytes *bytes = vt__heap_thread_bytes(VT_BYTES_TO_WATCH);
    if (bytes == NULL) return EAGAIN;
    *out = (uintptr_t)(c->what == 0 ? &bytes->allocated : &bytes->freed);
    return 0;
}

int vt__je_read_thread_peak(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    return vt__heap_peak(out) ? 0 : EAGAIN;
}

int vt__je_write_thread_peak_reset(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return vt__heap_reset_peak() ? 0 : EAGAIN;
}

/* ---- single blocks ---- */

struct utilization {
    void *slabcur;
    size_t nfree, nregs, size, bin_nfree, bin_nregs;
};

/* As in the original, the size is the slab's, or what a large block has for itself. A block that a thread keeps ready counts as in
 * use. */
static struct utilization utilization_of_slab(const struct vt_slab_use *slab) {
    return (struct utilization){.slabcur = (void *)slab->current,
                                .nfree = slab->n_blocks - vt_min(slab->n_blocks, slab->n_out),
                                .nregs = slab->n_blocks,
                                .size = slab->n_bytes};
}

static struct utilization utilization_of_large(const void *p) {
    struct vt_heap_block b;
    struct vt_brought brought;
    if (vt__brought_find(p, &brought) && brought.is_block)
        return (struct utilization){.nregs = 1, .size = brought.n_bytes};
    if (!vt__heap_owns(p) || !vt__heap_block(p, &b)) return (struct utilization){0};
    return (struct utilization){.nregs = 1, .size = vt_round_up(b.n_bytes, VT_OS_PAGE)};
}

static void ignore_run(void *arg, size_t n_bytes) { (void)arg, (void)n_bytes; }

/* All slabs of its size in the same arena. */
static void add_bin(const void *p, const struct vt_slab_use *slab, struct utilization *u) {
    struct vt_stats all = {0};
    struct vt_own_stats of_arena;
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_own *heap = vt__own_of(p);
    if (heap != NULL)
        vt__own_stats(heap, &of_arena, ignore_run, NULL);
    else
        vt__heap_stats(&all, classes);
    const struct vt_class_stats *k =
        &(heap != NULL ? of_arena.classes : classes)[vt__class_of(slab->block_bytes)];
    u->bin_nregs = k->n_slabs * u->nregs;
    u->bin_nfree = u->bin_nregs - vt_min(u->bin_nregs, k->n_live + k->n_cached);
}

static struct utilization utilization_of(const void *p, bool has_bin) {
    struct vt_slab_use slab;
    if (!vt__heap_slab_use(p, &slab)) return utilization_of_large(p);
    struct utilization u = utilization_of_slab(&slab);
    if (has_bin) add_bin(p, &slab, &u);
    return u;
}

int vt__je_write_utilization(const struct vt_je_call *c, uint64_t value) {
    const void *p;
    (void)value;
    bool is_batch = c->what == 1;
    size_t n = c->newlen / sizeof(p);
    size_t wanted = is_batch ? n * 3 * sizeof(size_t) : sizeof(struct utilization);
    if (c->oldp == NULL || c->oldlenp == NULL || c->newp == NULL) return EINVAL;
    if (c->newlen % sizeof(p) != 0 || n == 0 || (!is_batch && n != 1) || *c->oldlenp != wanted)
        return EINVAL;
    for (size_t i = 0; i < n; i++) {
        __builtin_memcpy(&p, (const char *)c->newp + i * sizeof(p), sizeof(p));
        struct utilization u = utilization_of(p, /* has_bin */ !is_batch);
        size_t three[3] = {u.nfree, u.nregs, u.size};
        if (is_batch)
            __builtin_memcpy((char *)c->oldp + i * sizeof(three), three, sizeof(three));
        else
            __builtin_memcpy(c->oldp, &u, sizeof(u));
    }
    return 0;
}

int vt__je_write_batch_alloc(const struct vt_je_call *c, uint64_t value) {
    struct {
        void **ptrs;
        size_t num, size;
        int flags;
    } wish;
    size_t n = 0;
    (void)value;
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp != sizeof(n)) return EINVAL;
    if (c->newp == NULL || c->newlen != sizeof(wish)) return EINVAL;
    __builtin_memcpy(&wish, c->newp, sizeof(wish));
    for (; n < wish.num; n++)
        if ((wish.ptrs[n] = mallocx(wish.size, wish.flags)) == NULL) break;
    __builtin_memcpy(c->oldp, &n, sizeof(n));
    return 0;
}

int vt__je_read_active_now(const struct vt_je_call *c, uint64_t *out) {
    uint64_t slice_bytes;
    (void)c;
    const _Atomic size_t *n = vt__heap_used_slices(&slice_bytes);
    *out = atomic_load_explicit(n, memory_order_relaxed) * slice_bytes;
    return 0;
}

/* The word is brought up to date by each epoch. */
int vt__je_read_active_at(const struct vt_je_call *c, uint64_t *out) {
    if (c->has_new || c->oldp == NULL || c->oldlenp == NULL) return EINVAL;
    *out = (uintptr_t)&vt__je_figures(c->index[0])->stat[VT_JE_ACTIVE_PAGES];
    return 0;
}
