/* jemalloc_snapshot.c - the heap's figures in jemalloc's words, taken when somebody writes `epoch`.
 *
 *   allocated   in blocks the program holds          active     the same, and what is free beside them in their pages
 *   mapped      address space in use, with our own   retained   address space that is ours and in no use
 *
 * nmalloc and ndalloc: malloc and free count nothing. What is in use is known; what was freed is estimated from the samples, and
 * the sum of both is what was allocated.
 *
 * Climate: host.   Owns: the snapshot. Two threads that refresh it at once write the same to within a moment.
 */
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "dump/stats.h"
#include "heap/class.h"
#include "probe/probe.h"
#include "vitrine.h"

struct vt_je_snapshot vt__je_snapshot = {.epoch = 1};

/* Which of jemalloc's sizes holds so many bytes. */
static size_t large_of(size_t n_bytes) {
    if (n_bytes <= VT_MEDIUM_MAX) return 0;
    size_t n = n_bytes - 1;
    unsigned top = vt_log2(n);
    return vt_min((top - 16) * 4u + (n >> (top - 2) & 3), VT_JE_LARGE - 1);
}

static void count_large(void *arg, size_t n_bytes) {
    struct vt_je_snapshot *out = arg;
    out->large[large_of(n_bytes)][VT_JE_BIN_CURREGS]++;
}

static void take_bins(struct vt_je_snapshot *out, const struct vt_class_stats *classes) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        out->bin[c][VT_JE_BIN_CURREGS] = classes[c].n_live;
        out->bin[c][VT_JE_BIN_CURSLABS] = classes[c].n_slabs;
        out->bin[c][VT_JE_BIN_NONFULL] =
            classes[c].n_slabs - vt_min(classes[c].n_full, classes[c].n_slabs);
    }
    vt__heap_each_large(count_large, out);
}

static void estimate_frees(struct vt_je_snapshot *out) {
    struct vt_site site;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &site);) {
        uint64_t n = (uint64_t)(site.freed.objects + 0.5);
        if (site.block_bytes <= VT_MEDIUM_MAX)
            out->bin[vt__class_of(site.block_bytes)][VT_JE_BIN_NDALLOC] += n;
        else
            out->large[large_of(site.block_bytes)][VT_JE_BIN_NDALLOC] += n;
    }
}

static void add_up(uint64_t bin[VT_JE_BIN_STATS], uint64_t *nmalloc, uint64_t *ndalloc) {
    bin[VT_JE_BIN_NMALLOC] = bin[VT_JE_BIN_CURREGS] + bin[VT_JE_BIN_NDALLOC];
    *nmalloc += bin[VT_JE_BIN_NMALLOC];
    *ndalloc += bin[VT_JE_BIN_NDALLOC];
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
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        add_up(out->bin[c], &n[VT_JE_SMALL_NMALLOC], &n[VT_JE_SMALL_NDALLOC]);
    for (unsigned i = 0; i < VT_JE_LARGE; i++)
        add_up(out->large[i], &n[VT_JE_LARGE_NMALLOC], &n[VT_JE_LARGE_NDALLOC]);
}

void vt__je_refresh(void) {
    static _Atomic uint64_t epoch = 1;
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats stats;
    struct vt_je_snapshot now = {
        .epoch = atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed) + 1};
    vt__stats_take(&stats, classes);
    take_bins(&now, classes);
    estimate_frees(&now);
    take_stats(&now, &stats);
    uint64_t *to = (uint64_t *)&vt__je_snapshot;
    const uint64_t *from = (const uint64_t *)&now;
    /* relaxed: each word is a figure by itself */
    for (size_t i = 0; i < sizeof(now) / sizeof(*to); i++)
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static uint64_t word(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

/* Who never writes `epoch` sees what was when it first asked. */
static uint64_t figure(const uint64_t *at) {
    if (word(&vt__je_snapshot.epoch) == 1) vt__je_refresh();
    return word(at);
}

/* All memory is in the first arena; those made by the program have none of their own. */
static bool has_memory(const struct vt_je_call *c) {
    size_t i = c->index[0];
    return i == 0 || i == VT_JE_ALL_ARENAS || i == vt__je_narenas();
}

int vt__je_read_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = figure(&vt__je_snapshot.stat[c->what]);
    return 0;
}

int vt__je_read_arena_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = has_memory(c) ? figure(&vt__je_snapshot.stat[c->what]) : 0;
    return 0;
}

int vt__je_read_bin_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = has_memory(c) ? figure(&vt__je_snapshot.bin[c->index[1]][c->what]) : 0;
    return 0;
}

int vt__je_read_large_stat(const struct vt_je_call *c, uint64_t *out) {
    *out = has_memory(c) ? figure(&vt__je_snapshot.large[c->index[1]][c->what]) : 0;
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
