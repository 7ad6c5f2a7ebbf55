/* mimalloc-stats.h - what mimalloc's statistics are called, as a structure and as JSON. docs/dialects.md says which of them are
 * figures here, and which are always 0. */
#ifndef MIMALLOC_STATS_H
#define MIMALLOC_STATS_H

#include "mimalloc.h"
#include <stdint.h>

#if VITRINE_MIMALLOC == 2
#define MI_STAT_VERSION 4
#else
#define MI_STAT_VERSION 5
#endif

typedef struct mi_stat_count_s {
    int64_t total, peak, current;
} mi_stat_count_t;

typedef struct mi_stat_counter_s {
    int64_t total;
} mi_stat_counter_t;

/* clang-format off */
#define MI_STAT_FIELDS_OF_ALL()                                                                    \
    MI_STAT_COUNT(pages) MI_STAT_COUNT(reserved) MI_STAT_COUNT(committed)                          \
    MI_STAT_COUNTER(reset) MI_STAT_COUNTER(purged)                                                 \
    MI_STAT_COUNT(page_committed) MI_STAT_COUNT(pages_abandoned) MI_STAT_COUNT(threads)            \
    MI_STAT_COUNT(malloc_normal) MI_STAT_COUNT(malloc_huge) MI_STAT_COUNT(malloc_requested)        \
    MI_STAT_COUNTER(mmap_calls) MI_STAT_COUNTER(commit_calls) MI_STAT_COUNTER(reset_calls)         \
    MI_STAT_COUNTER(purge_calls) MI_STAT_COUNTER(arena_count)                                      \
    MI_STAT_COUNTER(malloc_normal_count) MI_STAT_COUNTER(malloc_huge_count)                        \
    MI_STAT_COUNTER(malloc_guarded_count) MI_STAT_COUNTER(arena_rollback_count)                    \
    MI_STAT_COUNTER(arena_purges) MI_STAT_COUNTER(pages_extended) MI_STAT_COUNTER(pages_retire)    \
    MI_STAT_COUNTER(page_searches) MI_STAT_COUNTER(page_searches_count)                            \
    MI_STAT_COUNT(segments) MI_STAT_COUNT(segments_abandoned) MI_STAT_COUNT(segments_cache)        \
    MI_STAT_COUNT(_segments_reserved)
#define MI_STAT_FIELDS_OF_V3()                                                                     \
    MI_STAT_COUNT(heaps) MI_STAT_COUNT(theaps)                                                     \
    MI_STAT_COUNTER(pages_reclaim_on_alloc) MI_STAT_COUNTER(pages_reclaim_on_free)                 \
    MI_STAT_COUNTER(pages_reabandon_full) MI_STAT_COUNTER(pages_unabandon_busy_wait)               \
    MI_STAT_COUNTER(heaps_delete_wait)
/* clang-format on */
#if VITRINE_MIMALLOC == 2
#define MI_STAT_FIELDS() MI_STAT_FIELDS_OF_ALL()
#else
#define MI_STAT_FIELDS() MI_STAT_FIELDS_OF_ALL() MI_STAT_FIELDS_OF_V3()
#endif

#define MI_BIN_HUGE 73
#define MI_CBIN_COUNT 6

typedef struct mi_stats_s {
    size_t size;    /* set by the caller to sizeof(mi_stats_t) */
    size_t version; /* and MI_STAT_VERSION */
#define MI_STAT_COUNT(name) mi_stat_count_t name;
#define MI_STAT_COUNTER(name) mi_stat_counter_t name;
    MI_STAT_FIELDS()
#undef MI_STAT_COUNT
#undef MI_STAT_COUNTER
    mi_stat_count_t _stat_reserved[4];
    mi_stat_counter_t _stat_counter_reserved[4];
    mi_stat_count_t malloc_bins[MI_BIN_HUGE + 1];
    mi_stat_count_t page_bins[MI_BIN_HUGE + 1];
#if VITRINE_MIMALLOC != 2
    mi_stat_count_t chunk_bins[MI_CBIN_COUNT];
#endif
} mi_stats_t;

#ifdef __cplusplus
extern "C" {
#endif

/* False when size or version is not what this library knows. */
mi_decl_export bool mi_stats_get(mi_stats_t *stats) mi_attr_noexcept;
/* The same as text: in buf, or for NULL in memory to be freed by mi_free. NULL: the buffer is too small, or no memory. */
mi_decl_export char *mi_stats_get_json(size_t buf_size, char *buf) mi_attr_noexcept;
mi_decl_export size_t mi_stats_get_bin_size(size_t bin) mi_attr_noexcept;
#if VITRINE_MIMALLOC != 2
mi_decl_export bool mi_heap_stats_get(mi_heap_t *heap, mi_stats_t *stats) mi_attr_noexcept;
mi_decl_export char *mi_heap_stats_get_json(mi_heap_t *heap, size_t buf_size,
                                            char *buf) mi_attr_noexcept;
mi_decl_export void mi_heap_stats_merge_to_subproc(mi_heap_t *heap) mi_attr_noexcept;
mi_decl_export bool mi_subproc_stats_get(mi_subproc_id_t subproc,
                                         mi_stats_t *stats) mi_attr_noexcept;
mi_decl_export bool mi_subproc_stats_get_exclusive(mi_subproc_id_t subproc,
                                                   mi_stats_t *stats) mi_attr_noexcept;
mi_decl_export char *mi_subproc_stats_get_json(mi_subproc_id_t subproc, size_t buf_size,
                                               char *buf) mi_attr_noexcept;
mi_decl_export void mi_subproc_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out,
                                               void *arg) mi_attr_noexcept;
mi_decl_export void mi_subproc_heap_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out,
                                                    void *arg) mi_attr_noexcept;
mi_decl_export char *mi_stats_as_json(mi_stats_t *stats, size_t buf_size,
                                      char *buf) mi_attr_noexcept;
#endif

#ifdef __cplusplus
}
#endif

#endif
