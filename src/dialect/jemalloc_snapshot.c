/* jemalloc_snapshot.c - the heap's figures in jemalloc's words, taken when somebody writes `epoch`.
 *
 *   allocated   in blocks the program holds          active     the same, and what is free beside them in their pages
 *   mapped      address space in use, with our own   retained   address space that is ours and in no use
 *
 * nmalloc and ndalloc: malloc and free count nothing. What is in use is known; what was freed is estimated from the samples, and
 * the sum of both is what was allocated.
 *
 * Arenas that have a heap of their own are counted there, blocks that came and went too; what they do not have is arena 0's.
 *
 * Climate: host.   Owns: the snapshots. Two threads that refresh it at once write the same to within a moment.
 */
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "dump/stats.h"
#include "heap/class.h"
#include "probe/probe.h"
#include "vitrine.h"

#define SHORT_WALK 4096 /* slabs: a program of up to 128 MiB */

struct vt_je_snapshot vt__je_snapshot = {.epoch = 1};
static struct vt_je_snapshot of_threads; /* arena 0: all but what others have */
static struct vt_je_snapshot of_destroyed;

size_t vt__je_large_of(size_t n_bytes) {
    if (n_bytes <= VT_MEDIUM_MAX) return 0;
    size_t n = n_bytes - 1;
    unsigned top = vt_log2(n);
    return vt_min((top - 16) * 4u + (n >> (top - 2) & 3), VT_JE_LARGE - 1);
}

static void count_large(void *arg, size_t n_bytes) {
    struct vt_je_snapshot *out = arg;
    out->large[vt__je_large_of(n_bytes)][VT_JE_BIN_CURREGS]++;
}

static void take_bins(struct vt_je_snapshot *out, const struct vt_class_stats *classes) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        out->bin[c][VT_JE_BIN_CURREGS] = classes[c].n_live;
        out->bin[c][VT_JE_BIN_CURSLABS] = classes[c].n_slabs;
        out->bin[c][VT_JE_BIN_NONFULL] =
            classes[c].n_slabs - vt_min(classes[c].n_full, classes[c].n_slabs);
    }
}

static void estimate_frees(struct vt_je_snapshot *out) {
    struct vt_site site;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &site);) {
        uint64_t n = (uint64_t)(site.freed.objects + 0.5);
        if (site.block_bytes <= VT_MEDIUM_MAX)
            out->bin[vt__class_of(site.block_bytes)][VT_JE_BIN_NDALLOC] += n;
        else
            out->large[vt__je_large_of(site.block_bytes)][VT_JE_BIN_NDALLOC] += n;
    }
}

static void add_up(uint64_t bin[VT_JE_BIN_STATS], uint64_t *nmalloc, uint64_t *ndalloc) {
    bin[VT_JE_BIN_NMALLOC] = bin[VT_JE_BIN_CURREGS] + bin[VT_JE_BIN_NDALLOC];
    *nmalloc += bin[VT_JE_BIN_NMALLOC];
    *ndalloc += bin[VT_JE_BIN_NDALLOC];
}

static void add_all_up(struct vt_je_snapshot *out) {
    uint64_t *n = out->stat;
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        add_up(out->bin[c], &n[VT_JE_SMALL_NMALLOC], &n[VT_JE_SMALL_NDALLOC]);
    for (unsigned i = 0; i < VT_JE_LARGE; i++)
        add_up(out->large[i], &n[VT_JE_LARGE_NMALLOC], &n[VT_JE_LARGE_NDALLOC]);
}

static void take_stats(struct vt_je_snapshot *out, const struct vt_stats *s) {
    uint64_t *n = out->stat;
    uint64_t used = s->allocated + s->cached + s->fragmented;
    n[VT_JE_ALLOCATED] = s->allocated;
    n[VT_JE_ACTIVE] = used;
    n[VT_JE_METADATA] = s->metadata;
    n[VT_JE_RESIDENT] = s->resident;
    n[VT_JE_MAPPED] = vt_max(s->active, used) + s->retained + s->metadata;
    n[VT_JE_RETAINED] = s->mapped - vt_min(s->mapped, s->active + s->retained);
    n[VT_JE_CACHED] = s->cached;
    n[VT_JE_THREADS] = s->n_threads;
    n[VT_JE_ACTIVE_PAGES] = used / VT_OS_PAGE;
    n[VT_JE_DIRTY_PAGES] = s->retained / VT_OS_PAGE;
    n[VT_JE_PURGES] = s->n_purges;
    n[VT_JE_PURGED_PAGES] = s->purged / VT_OS_PAGE;
    n[VT_JE_LARGE_BYTES] = s->large;
    n[VT_JE_SMALL] = s->allocated - vt_min(s->allocated, s->large);
    add_all_up(out);
}

/* ---- single arenas ---- */

static void take_run(void *arg, size_t n_bytes) {
    struct vt_je_snapshot *out = arg;
    count_large(out, n_bytes);
    out->stat[VT_JE_LARGE_BYTES] += n_bytes;
}

/* What a heap beside the threads' has, and did; its large blocks were counted in `out`. Of those that are gone the sizes are not
 * known. */
static void take_heap_stats(const struct vt_own_stats *s, struct vt_je_snapshot *out) {
    uint64_t *n = out->stat;
    take_bins(out, s->classes);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class_stats *k = &s->classes[c];
        out->bin[c][VT_JE_BIN_NDALLOC] = s->n_taken[c] - vt_min(s->n_taken[c], k->n_live);
        n[VT_JE_SMALL] += k->n_live * vt__class_bytes(c);
        n[VT_JE_ACTIVE] += k->resident_bytes;
        n[VT_JE_MAPPED] += k->slab_bytes;
    }
    add_all_up(out);
    n[VT_JE_LARGE_NDALLOC] = s->n_runs_taken - vt_min(s->n_runs_taken, n[VT_JE_LARGE_NMALLOC]);
    n[VT_JE_LARGE_NMALLOC] = s->n_runs_taken;
    n[VT_JE_ALLOCATED] = n[VT_JE_SMALL] + n[VT_JE_LARGE_BYTES];
    n[VT_JE_ACTIVE] += n[VT_JE_LARGE_BYTES];
    n[VT_JE_MAPPED] += n[VT_JE_LARGE_BYTES];
    n[VT_JE_RESIDENT] = n[VT_JE_ACTIVE];
    n[VT_JE_ACTIVE_PAGES] = n[VT_JE_ACTIVE] / VT_OS_PAGE;
}

static void take_heap(struct vt_own *heap, struct vt_je_snapshot *out) {
    struct vt_own_stats s;
    vt__own_stats(heap, &s, take_run, out);
    take_heap_stats(&s, out);
}

/* Of what hooks brought, memory that no block is in is the arena's, too. */
static void add_free(struct vt_je_arena *a, struct vt_je_snapshot *out) {
    size_t n_free = 0;
    if (a->estate != NULL) (void)vt__estate_bytes(a->estate, &n_free);
    out->stat[VT_JE_MAPPED] += n_free;
    out->stat[VT_JE_DIRTY_PAGES] += n_free / VT_OS_PAGE;
}

#define WORDS (sizeof(struct vt_je_snapshot) / sizeof(uint64_t))

static void publish(const struct vt_je_snapshot *now, struct vt_je_snapshot *out) {
    uint64_t *to = (uint64_t *)out;
    const uint64_t *from = (const uint64_t *)now;
    /* relaxed: each word is a figure by itself */
    for (size_t i = 0; i < WORDS; i++) __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static void subtract(struct vt_je_snapshot *from, const struct vt_je_snapshot *part) {
    uint64_t *a = (uint64_t *)from;
    const uint64_t *b = (const uint64_t *)part;
    for (size_t i = 0; i < WORDS; i++) a[i] -= vt_min(a[i], b[i]);
}

/* The heap's figures know nothing of what hooks brought. */
static void add_brought(struct vt_je_snapshot *to) {
    uint64_t *sum = (uint64_t *)to;
    for (size_t i = 1; i < vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS); i++) {
        struct vt_je_arena *a = vt__je_arena(i);
        struct vt_je_snapshot part = {.epoch = 0};
        struct vt_own_stats s;
        if (!vt__je_arena_is_there(i) || a->estate == NULL) continue;
        vt__own_brought_stats(a->heap, &s, take_run, &part);
        take_heap_stats(&s, &part);
        add_free(a, &part);
        for (size_t k = 0; k < WORDS; k++) sum[k] += ((const uint64_t *)&part)[k];
    }
}

static void take_arenas(struct vt_je_snapshot *rest) {
    for (size_t i = 1; i < vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS); i++) {
        struct vt_je_arena *a = vt__je_arena(i);
        struct vt_je_snapshot now = {.epoch = 0};
        if (!vt__je_arena_is_there(i)) continue;
        take_heap(a->heap, &now);
        add_free(a, &now);
        now.stat[VT_JE_THREADS] = vt__je_arena_threads(i);
        subtract(rest, &now);
        publish(&now, a->figures);
    }
}

/* Two that are destroyed at once may count one of them only. */
void vt__je_count_destroyed(struct vt_own *heap) {
    struct vt_je_snapshot last = {.epoch = 0};
    static const enum vt_je_stat sums[] = {VT_JE_SMALL_NMALLOC, VT_JE_LARGE_NMALLOC};
    take_heap(heap, &last);
    for (size_t i = 0; i < vt_countof(sums); i++)
        for (int k = 0; k < 2; k++) /* nmalloc and, behind it, ndalloc: all are freed */
            of_destroyed.stat[sums[i] + k] += last.stat[sums[i]];
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        for (int k = 0; k < 2; k++)
            of_destroyed.bin[c][VT_JE_BIN_NMALLOC + k] += last.bin[c][VT_JE_BIN_NMALLOC];
}

void vt__je_refresh(void) {
    static _Atomic uint64_t epoch = 1;
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats stats;
    struct vt_je_snapshot now = {
        .epoch = atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed) + 1};
    if (now.epoch > 2 && !vt__heap_stats_are_due(SHORT_WALK)) {
        __atomic_store_n(&vt__je_snapshot.epoch, now.epoch, __ATOMIC_RELAXED);
        return;
    }
    vt__stats_take(&stats, classes);
    take_bins(&now, classes);
    vt__heap_each_large(count_large, &now);
    estimate_frees(&now);
    take_stats(&now, &stats);
    add_brought(&now);
    struct vt_je_snapshot rest = now;
    take_arenas(&rest);
    publish(&rest, &of_threads);
    publish(&now, &vt__je_snapshot);
}

static uint64_t word(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

/* Who never writes `epoch` sees what was when it first asked. */
static uint64_t figure(const uint64_t *at) {
    if (word(&vt__je_snapshot.epoch) == 1) vt__je_refresh();
    return word(at);
}

const struct vt_je_snapshot *vt__je_figures(size_t arena) {
    static const struct vt_je_snapshot none;
    if (vt__je_arena_is_all(arena)) return &vt__je_snapshot;
    if (arena == 0) return &of_threads;
    if (arena == VT_JE_DESTROYED_ARENAS) return &of_destroyed;
    return arena < VT_JE_MAX_ARENAS && vt__je_arena_is_there(arena) ? vt__je_arena(arena)->figures
                                                                    : &none;
}

int vt__je_read_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = figure(&vt__je_snapshot.stat[c->what]);
    return 0;
}

int vt__je_read_arena_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = figure(&vt__je_figures(c->index[0])->stat[c->what]);
    return 0;
}

int vt__je_read_bin_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = figure(&vt__je_figures(c->index[0])->bin[c->index[1]][c->what]);
    return 0;
}

int vt__je_read_large_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = figure(&vt__je_figures(c->index[0])->large[c->index[1]][c->what]);
    return 0;
}

int vt__je_read_epoch(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = word(&vt__je_snapshot.epoch);
    return 0;
}

int vt__je_write_epoch(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    vt__je_refresh();
    return 0;
}

int vt__je_read_bin_shape(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_class *k = &vt__classes[c->index[0]];
    uint64_t slice_bytes;
    (void)vt__heap_used_slices(&slice_bytes);
    *out = c->what == VT_JE_BIN_BYTES    ? k->block_bytes
           : c->what == VT_JE_BIN_BLOCKS ? k->capacity
                                         : k->n_slices * slice_bytes;
    return 0;
}

int vt__je_read_large_bytes(const struct vt_je_call *c, uint64_t *out) {
    size_t k = c->index[0] + 1;
    *out = (uint64_t)(4 + k % 4) << (k / 4 + 14);
    return 0;
}
