/* gperftools_extension.c - malloc_extension_c.h: statistics, properties, tuning. The C++ object of gperftools_extension_cxx.c calls
 * the same.
 *
 * Translation, no logic.   Climate: host.
 */
#include "compat/gperftools/malloc_extension_c.h"

#include <stdatomic.h>

#include "compat/gperftools/nallocx.h"
#include "conf/options.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "dump/stats_gperftools.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "probe/probe.h"

#define LEVEL_2_BYTES 10000 /* a buffer as long as this gets the long text */
#define MAX_LG_ALIGN 63

/* ---- the debug libraries check; the others have nothing to find ---- */

VT_EXPORT int MallocExtension_VerifyAllMemory(void) { return vt__debug_verify_all(); }

VT_EXPORT int MallocExtension_VerifyNewMemory(const void *p) {
    return vt__debug_verify(p, VT_MADE_BY_NEW);
}

VT_EXPORT int MallocExtension_VerifyArrayNewMemory(const void *p) {
    return vt__debug_verify(p, VT_MADE_BY_NEW_ARRAY);
}

VT_EXPORT int MallocExtension_VerifyMallocMemory(const void *p) {
    return vt__debug_verify(p, VT_MADE_BY_MALLOC);
}

VT_EXPORT int MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
                                                int histogram[kMallocExtensionHistogramSize]) {
    struct vt_debug_counts c;
    vt__debug_count(&c);
    *blocks = c.n_blocks;
    *total = c.n_bytes;
    __builtin_memcpy(histogram, c.histogram, sizeof(c.histogram));
    return 1;
}

/* ---- statistics ---- */

VT_EXPORT void MallocExtension_GetStats(char *buffer, int buffer_length) {
    if (buffer_length <= 0) return;
    struct vt_text t = {buffer, (size_t)buffer_length - 1, 0, false, NULL, NULL};
    if (vt__life_start() == 0)
        vt__gperftools_stats_write(&t, buffer_length >= LEVEL_2_BYTES ? 2 : 1);
    buffer[t.len] = '\0';
}

/* ---- properties ---- */

static uint64_t get_max_cache(void) { return vt__gperftools.max_total_thread_cache_bytes; }
static bool set_max_cache(uint64_t n) {
    vt__gperftools.max_total_thread_cache_bytes = vt__gperftools_clip_cache(n);
    return true;
}

static uint64_t get_min_cache(void) { return vt__gperftools.min_per_thread_cache_bytes; }
static bool set_min_cache(uint64_t n) {
    vt__gperftools.min_per_thread_cache_bytes = n;
    return true;
}

static uint64_t get_aggressive(void) { return vt__gperftools.is_aggressive; }
static bool set_aggressive(uint64_t n) {
    vt__gperftools.is_aggressive = n != 0;
    vt_opt(retain) = vt__gperftools_retain();
    if (n != 0) vt__heap_release_all();
    return true;
}

static uint64_t get_limit_mb(void) { return vt_opt(limit) >> 20; }
static bool set_limit_mb(uint64_t n) {
    vt_opt(limit) = vt_min(n, TiB(128) >> 20) << 20;
    return true;
}

static uint64_t get_sample(void) { return vt__sample_period(); }
static bool set_sample(uint64_t n) {
    if (!vt__gperftools.has_sampler) return false;
    vt__sample_set_period(n);
    return true;
}

static uint64_t get_slack(void) {
    struct vt_gperftools_stats s;
    vt__gperftools_stats(&s);
    return s.page_heap_free + s.unmapped;
}

static uint64_t get_committed(void) {
    struct vt_gperftools_stats s;
    vt__gperftools_stats(&s);
    return s.heap - s.unmapped;
}

static uint64_t get_total_commit(void) {
    struct vt_gperftools_stats s;
    vt__gperftools_stats(&s);
    return s.heap - s.unmapped + s.purged;
}

#define FIELD(name) offsetof(struct vt_gperftools_stats, name)
/* clang-format off */
static const struct {
    const char *name;
    uint64_t (*get)(void);       /* NULL: the field */
    size_t field;
    bool (*set)(uint64_t value); /* NULL: it cannot be written */
} properties[] = {
    {"generic.current_allocated_bytes",           NULL, FIELD(in_use), NULL},
    {"generic.heap_size",                         NULL, FIELD(heap), NULL},
    {"generic.total_physical_bytes",              NULL, FIELD(physical), NULL},
    {"tcmalloc.max_total_thread_cache_bytes",     get_max_cache, 0, set_max_cache},
    {"tcmalloc.min_per_thread_cache_bytes",       get_min_cache, 0, set_min_cache},
    {"tcmalloc.current_total_thread_cache_bytes", NULL, FIELD(thread_free), NULL},
    {"tcmalloc.thread_cache_free_bytes",          NULL, FIELD(thread_free), NULL},
    {"tcmalloc.central_cache_free_bytes",         NULL, FIELD(central_free), NULL},
    {"tcmalloc.transfer_cache_free_bytes",        NULL, FIELD(transfer_free), NULL},
    {"tcmalloc.pageheap_free_bytes",              NULL, FIELD(page_heap_free), NULL},
    {"tcmalloc.pageheap_unmapped_bytes",          NULL, FIELD(unmapped), NULL},
    {"tcmalloc.slack_bytes",                      get_slack, 0, NULL},
    {"tcmalloc.pageheap_committed_bytes",         get_committed, 0, NULL},
    {"tcmalloc.pageheap_scavenge_count",          NULL, FIELD(n_purges), NULL},
    {"tcmalloc.pageheap_commit_count",            NULL, FIELD(n_growths), NULL},
    {"tcmalloc.pageheap_total_commit_bytes",      get_total_commit, 0, NULL},
    {"tcmalloc.pageheap_decommit_count",          NULL, FIELD(n_purges), NULL},
    {"tcmalloc.pageheap_total_decommit_bytes",    NULL, FIELD(purged), NULL},
    {"tcmalloc.pageheap_reserve_count",           NULL, FIELD(n_growths), NULL},
    {"tcmalloc.pageheap_total_reserve_bytes",     NULL, FIELD(heap), NULL},
    {"tcmalloc.aggressive_memory_decommit",       get_aggressive, 0, set_aggressive},
    {"tcmalloc.heap_limit_mb",                    get_limit_mb, 0, set_limit_mb},
    {"tcmalloc.sample_parameter",                 get_sample, 0, set_sample},
    {"tcmalloc.impl.thread_cache_count",          NULL, FIELD(n_threads), NULL},
};
/* clang-format on */

static size_t find(const char *name) {
    size_t i = 0;
    while (i < vt_countof(properties) && !vt__str_equal(properties[i].name, name)) i++;
    return i;
}

VT_EXPORT int MallocExtension_GetNumericProperty(const char *property, size_t *value) {
    struct vt_gperftools_stats s;
    size_t i = find(property);
    if (i == vt_countof(properties) || vt__life_start() != 0) return 0;
    if (properties[i].get != NULL) {
        *value = properties[i].get();
    } else {
        vt__gperftools_stats(&s);
        *value = *(const size_t *)((const char *)&s + properties[i].field);
    }
    return 1;
}

VT_EXPORT int MallocExtension_SetNumericProperty(const char *property, size_t value) {
    size_t i = find(property);
    if (i == vt_countof(properties) || properties[i].set == NULL || vt__life_start() != 0) return 0;
    return properties[i].set(value);
}

/* ---- memory ---- */

VT_EXPORT void MallocExtension_MarkThreadIdle(void) { vt__heap_drop_thread_cache(); }

VT_EXPORT void MallocExtension_MarkThreadBusy(void) {} /* the next malloc does what it takes */

VT_EXPORT void MallocExtension_MarkThreadTemporarilyIdle(void) { vt__heap_drop_thread_cache(); }

/* Memory goes in pieces of up to 2 MiB. What goes beyond num_bytes is put to the account of the next call, so that somebody who
 * asks for a little again and again gets what he asks for. */
VT_EXPORT void MallocExtension_ReleaseToSystem(size_t num_bytes) {
    static _Atomic size_t n_ahead;
    size_t credit = atomic_exchange(&n_ahead, 0);
    size_t n_given = num_bytes > credit ? vt__heap_release_some(num_bytes - credit) : 0;
    size_t n_gone = credit + n_given;
    if (n_gone > num_bytes) atomic_fetch_add(&n_ahead, n_gone - num_bytes);
}

VT_EXPORT void MallocExtension_ReleaseFreeMemory(void) { vt__heap_release_all(); }

VT_EXPORT void MallocExtension_SetMemoryReleaseRate(double rate) {
    if (vt__life_start() != 0) return;
    vt__gperftools.release_rate = rate;
    vt_opt(retain) = vt__gperftools_retain();
}

VT_EXPORT double MallocExtension_GetMemoryReleaseRate(void) { return vt__gperftools.release_rate; }

VT_EXPORT size_t nallocx(size_t n_bytes, int flags) {
    unsigned lg_align = (unsigned)flags & MAX_LG_ALIGN;
    if (vt__life_start() != 0) return 0;
    return vt__good_size((size_t)1 << lg_align, n_bytes);
}

VT_EXPORT size_t MallocExtension_GetEstimatedAllocatedSize(size_t size) {
    return vt__debug_estimate(nallocx(size, 0), size);
}

VT_EXPORT size_t MallocExtension_GetAllocatedSize(const void *p) { return vt__debug_size(p); }

VT_EXPORT size_t MallocExtension_GetThreadCacheSize(void) { return vt__heap_thread_cached_bytes(); }

VT_EXPORT MallocExtension_Ownership MallocExtension_GetOwnership(const void *p) {
    return p != NULL && vt__heap_owns(p) ? MallocExtension_kOwned : MallocExtension_kNotOwned;
}
