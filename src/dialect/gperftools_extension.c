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
#define MIN_CACHE_BYTES KiB(512) /* as there, unless it is set */
#define LONG_WALK 4096           /* slabs */

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

/* What a thread keeps cannot be set: no value is taken. */
static uint64_t get_min_cache(void) { return MIN_CACHE_BYTES; }

static uint64_t get_aggressive(void) { return vt__gperftools.is_aggressive; }
static bool set_aggressive(uint64_t n) {
    uint64_t dflt_ms = vt__option_rows[VT_OPT_purge_delay].dflt;
    vt__gperftools.is_aggressive = n != 0;
    vt_opt(retain) = vt__gperftools_retain();
    if (vt_opt(purge_delay) == 0 || vt_opt(purge_delay) == dflt_ms)
        vt_opt(purge_delay) = n != 0 ? 0 : dflt_ms;
    vt__heap_retain_changed();
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
    vt__heap_drop_thread_cache();
    vt__sample_set_period(n);
    return true;
}

static uint64_t get_allocated(void) {
    struct vt_gperftools_stats s;
    size_t n_queued = vt__debug_queued_bytes();
    vt__gperftools_stats(&s, VT_GPERFTOOLS_BLOCKS);
    return s.in_use - vt_min(s.in_use, n_queued);
}

static uint64_t get_growths(void) { return vt__growth_count(); }

static struct vt_gperftools_stats pages(void) {
    struct vt_gperftools_stats s;
    vt__gperftools_stats(&s, VT_GPERFTOOLS_PAGES);
    return s;
}

static uint64_t get_slack(void) {
    struct vt_gperftools_stats s = pages();
    return s.page_heap_free + s.unmapped;
}

static uint64_t get_committed(void) {
    struct vt_gperftools_stats s = pages();
    return s.heap - s.unmapped;
}

static uint64_t get_total_commit(void) {
    struct vt_gperftools_stats s = pages();
    return s.heap - s.unmapped + s.purged;
}

#define NAME(text) text, sizeof(text) - 1
#define FIELD(wanted, name) VT_GPERFTOOLS_##wanted, offsetof(struct vt_gperftools_stats, name)
#define NO_FIELD VT_GPERFTOOLS_PAGES, 0
/* clang-format off */
static const struct {
    const char *name;
    size_t len;
    uint64_t (*get)(void);       /* NULL: the field */
    enum vt_gperftools_wanted wanted;
    size_t field;
    bool (*set)(uint64_t value); /* NULL: it cannot be written */
} properties[] = {
    {NAME("generic.current_allocated_bytes"),           get_allocated, NO_FIELD, NULL},
    {NAME("generic.heap_size"),                         NULL, FIELD(PAGES, heap), NULL},
    {NAME("generic.total_physical_bytes"),              NULL, FIELD(TABLES, physical), NULL},
    {NAME("tcmalloc.max_total_thread_cache_bytes"),     get_max_cache, NO_FIELD, set_max_cache},
    {NAME("tcmalloc.min_per_thread_cache_bytes"),       get_min_cache, NO_FIELD, NULL},
    {NAME("tcmalloc.current_total_thread_cache_bytes"), NULL, FIELD(BLOCKS, thread_free), NULL},
    {NAME("tcmalloc.thread_cache_free_bytes"),          NULL, FIELD(BLOCKS, thread_free), NULL},
    {NAME("tcmalloc.central_cache_free_bytes"),         NULL, FIELD(BLOCKS, central_free), NULL},
    {NAME("tcmalloc.transfer_cache_free_bytes"),        NULL, FIELD(PAGES, transfer_free), NULL},
    {NAME("tcmalloc.pageheap_free_bytes"),              NULL, FIELD(PAGES, page_heap_free), NULL},
    {NAME("tcmalloc.pageheap_unmapped_bytes"),          NULL, FIELD(PAGES, unmapped), NULL},
    {NAME("tcmalloc.slack_bytes"),                      get_slack, NO_FIELD, NULL},
    {NAME("tcmalloc.pageheap_committed_bytes"),         get_committed, NO_FIELD, NULL},
    {NAME("tcmalloc.pageheap_scavenge_count"),          NULL, FIELD(PAGES, n_purges), NULL},
    {NAME("tcmalloc.pageheap_commit_count"),            get_growths, NO_FIELD, NULL},
    {NAME("tcmalloc.pageheap_total_commit_bytes"),      get_total_commit, NO_FIELD, NULL},
    {NAME("tcmalloc.pageheap_decommit_count"),          NULL, FIELD(PAGES, n_purges), NULL},
    {NAME("tcmalloc.pageheap_total_decommit_bytes"),    NULL, FIELD(PAGES, purged), NULL},
    {NAME("tcmalloc.pageheap_reserve_count"),           get_growths, NO_FIELD, NULL},
    {NAME("tcmalloc.pageheap_total_reserve_bytes"),     NULL, FIELD(PAGES, heap), NULL},
    {NAME("tcmalloc.aggressive_memory_decommit"),       get_aggressive, NO_FIELD, set_aggressive},
    {NAME("tcmalloc.heap_limit_mb"),                    get_limit_mb, NO_FIELD, set_limit_mb},
    {NAME("tcmalloc.sample_parameter"),                 get_sample, NO_FIELD, set_sample},
    {NAME("tcmalloc.impl.thread_cache_count"),          NULL, FIELD(TABLES, n_threads), NULL},
};
/* clang-format on */

static size_t find(const char *name) {
    size_t i = 0, len = __builtin_strlen(name); /* libc's: a loop takes a third of the question */
    while (i < vt_countof(properties) &&
           !(properties[i].len == len && __builtin_memcmp(properties[i].name, name, len) == 0))
        i++;
    return i;
}

VT_EXPORT int MallocExtension_GetNumericProperty(const char *property, size_t *value) {
    struct vt_gperftools_stats s;
    size_t i = find(property);
    if (i == vt_countof(properties) || vt__life_start() != 0) return 0;
    if (properties[i].get != NULL) {
        *value = properties[i].get();
    } else {
        vt__gperftools_stats(&s, properties[i].wanted);
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

/* Who asks then what threads keep sees that, up to 128 MiB of slabs; more would be too long a walk for each call. */
static void drop_cache(void) {
    vt__heap_drop_thread_cache();
    vt__heap_sums_forget(LONG_WALK);
}

VT_EXPORT void MallocExtension_MarkThreadIdle(void) { drop_cache(); }

VT_EXPORT void MallocExtension_MarkThreadBusy(void) {} /* the next malloc does what it takes */

VT_EXPORT void MallocExtension_MarkThreadTemporarilyIdle(void) { drop_cache(); }

/* Memory goes in pieces of up to 2 MiB. What goes beyond num_bytes is put to the account of the next call, so that somebody who
 * asks for a little again and again gets what he asks for. */
static _Atomic size_t n_ahead;

VT_EXPORT void MallocExtension_ReleaseToSystem(size_t num_bytes) {
    size_t credit = atomic_exchange(&n_ahead, 0);
    size_t n_given = num_bytes > credit ? vt__heap_release_some(num_bytes - credit) : 0;
    size_t n_gone = credit + n_given;
    if (n_gone > num_bytes) atomic_fetch_add(&n_ahead, n_gone - num_bytes);
}

/* All that is free was asked for: nothing is ahead of it. */
VT_EXPORT void MallocExtension_ReleaseFreeMemory(void) {
    atomic_store(&n_ahead, 0);
    vt__heap_release_all();
}

VT_EXPORT void MallocExtension_SetMemoryReleaseRate(double rate) {
    if (vt__life_start() != 0) return;
    vt__gperftools.release_rate = rate;
    vt_opt(retain) = vt__gperftools_retain();
    vt__heap_retain_changed();
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
