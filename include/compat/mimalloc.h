/* mimalloc.h - memory by the names mimalloc gave it. Link with -lmimalloc; malloc, free and operator new are replaced as well.
 *
 * The two lines of mimalloc differ in option numbers, in the type of an arena's id and in a few macros. This header is that of
 * v3 and libmimalloc.so.3; with VITRINE_MIMALLOC defined as 2 it is that of v2 and libmimalloc.so.2. What does not conflict is
 * declared, and is in the libraries, in both.
 *
 * Sizes come before alignments. Functions return NULL when there is no memory. What has a meaning here and what is only stored:
 * docs/dialects.md.
 */
#ifndef MIMALLOC_H
#define MIMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef VITRINE_MIMALLOC
#define VITRINE_MIMALLOC 3
#endif
#if VITRINE_MIMALLOC == 2
#define MI_MALLOC_VERSION 20401 /* major * 10000 + minor * 100 + patch */
#else
#define MI_MALLOC_VERSION 30403
#endif

#ifdef __cplusplus
#define mi_attr_noexcept noexcept
#else
#define mi_attr_noexcept
#endif
#define mi_cdecl
#define mi_decl_export __attribute__((visibility("default")))
#if defined(__cplusplus) && __cplusplus >= 201703L
#define mi_decl_nodiscard [[nodiscard]]
#else
#define mi_decl_nodiscard __attribute__((warn_unused_result))
#endif
#define mi_decl_restrict
#define mi_decl_align(a) __attribute__((aligned(a)))
#define mi_attr_malloc __attribute__((malloc))
#define mi_attr_alloc_size(i) __attribute__((alloc_size(i)))
#define mi_attr_alloc_size2(i, j) __attribute__((alloc_size(i, j)))
#define mi_attr_alloc_align(i) __attribute__((alloc_align(i)))

/* A function that returns a fresh block; one that returns an old block with another size; any other. */
#define MI_FRESH mi_decl_nodiscard mi_decl_export
#define MI_AGAIN mi_decl_nodiscard mi_decl_export
#define MI_CALL mi_decl_export

#define MI_SMALL_WSIZE_MAX 128
#define MI_SMALL_SIZE_MAX (MI_SMALL_WSIZE_MAX * sizeof(void *))
#define MI_ALIGNMENT_MAX (1024 * 1024UL)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- blocks ---- */

MI_FRESH void *mi_malloc(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_calloc(size_t count, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2); /* clears all of the block, not only what was asked for */
MI_FRESH void *mi_zalloc(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_mallocn(size_t count, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
MI_FRESH void *mi_malloc_small(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_zalloc_small(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_AGAIN void *mi_realloc(void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(2); /* to 0: a smallest block, never NULL */
MI_AGAIN void *mi_reallocn(void *p, size_t count, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);
MI_AGAIN void *mi_reallocf(void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(2); /* frees p when it fails */
MI_CALL void *mi_expand(void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(2); /* in place, or NULL */
MI_CALL void mi_free(void *p) mi_attr_noexcept;
MI_CALL void mi_free_small(void *p) mi_attr_noexcept;
MI_FRESH char *mi_strdup(const char *s) mi_attr_noexcept mi_attr_malloc;
MI_FRESH char *mi_strndup(const char *s, size_t n) mi_attr_noexcept mi_attr_malloc;
MI_FRESH char *mi_realpath(const char *fname, char *resolved_name) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL size_t mi_usable_size(const void *p) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL size_t mi_good_size(size_t size) mi_attr_noexcept;

/* Blocks that were allocated zeroed stay zeroed where they grow. */
MI_AGAIN void *mi_rezalloc(void *p, size_t newsize) mi_attr_noexcept mi_attr_alloc_size(2);
MI_AGAIN void *mi_recalloc(void *p, size_t newcount, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);
MI_AGAIN void *mi_rezalloc_aligned(void *p, size_t newsize, size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
MI_AGAIN void *mi_rezalloc_aligned_at(void *p, size_t newsize, size_t alignment,
                                      size_t offset) mi_attr_noexcept mi_attr_alloc_size(2);
MI_AGAIN void *mi_recalloc_aligned(void *p, size_t newcount, size_t size,
                                   size_t alignment) mi_attr_noexcept mi_attr_alloc_size2(2, 3)
    mi_attr_alloc_align(4);
MI_AGAIN void *mi_recalloc_aligned_at(void *p, size_t newcount, size_t size, size_t alignment,
                                      size_t offset) mi_attr_noexcept mi_attr_alloc_size2(2, 3);

/* Aligned; with _at, the address `offset` bytes into the block is. */
MI_FRESH void *mi_malloc_aligned(size_t size, size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_FRESH void *mi_malloc_aligned_at(size_t size, size_t alignment,
                                    size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
MI_FRESH void *mi_zalloc_aligned(size_t size, size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_FRESH void *mi_zalloc_aligned_at(size_t size, size_t alignment,
                                    size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
MI_FRESH void *mi_calloc_aligned(size_t count, size_t size,
                                 size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2) mi_attr_alloc_align(3);
MI_FRESH void *mi_calloc_aligned_at(size_t count, size_t size, size_t alignment,
                                    size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
MI_AGAIN void *mi_realloc_aligned(void *p, size_t newsize, size_t alignment) mi_attr_noexcept
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
MI_AGAIN void *mi_realloc_aligned_at(void *p, size_t newsize, size_t alignment,
                                     size_t offset) mi_attr_noexcept mi_attr_alloc_size(2);

/* With the size of the block they give or take. Each pointer may be NULL. */
MI_FRESH void *mi_umalloc(size_t size, size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
MI_FRESH void *mi_ucalloc(size_t count, size_t size,
                          size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(1, 2);
MI_AGAIN void *mi_urealloc(void *p, size_t newsize, size_t *block_size_pre,
                           size_t *block_size_post) mi_attr_noexcept mi_attr_alloc_size(2);
MI_CALL void mi_ufree(void *p, size_t *block_size) mi_attr_noexcept;
MI_FRESH void *mi_umalloc_aligned(size_t size, size_t alignment,
                                  size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_FRESH void *mi_uzalloc_aligned(size_t size, size_t alignment,
                                  size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_FRESH void *mi_umalloc_small(size_t size, size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);
MI_FRESH void *mi_uzalloc_small(size_t size, size_t *block_size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1);

/* ---- what C, POSIX and others call them ---- */

MI_CALL void mi_cfree(void *p) mi_attr_noexcept; /* nothing, if p is not ours */
MI_CALL void *mi__expand(void *p, size_t newsize) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL size_t mi_malloc_size(const void *p) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL size_t mi_malloc_good_size(size_t size) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL size_t mi_malloc_usable_size(const void *p) mi_attr_noexcept;
MI_CALL int mi_posix_memalign(void **p, size_t alignment, size_t size) mi_attr_noexcept;
MI_FRESH void *mi_memalign(size_t alignment, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(1);
MI_FRESH void *mi_aligned_alloc(size_t alignment, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(1);
MI_FRESH void *mi_valloc(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_pvalloc(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_AGAIN void *mi_reallocarray(void *p, size_t count, size_t size) mi_attr_noexcept
    mi_attr_alloc_size2(2, 3);
mi_decl_nodiscard MI_CALL int mi_reallocarr(void *p, size_t count, size_t size) mi_attr_noexcept;
MI_AGAIN void *mi_aligned_recalloc(void *p, size_t newcount, size_t size,
                                   size_t alignment) mi_attr_noexcept;
MI_AGAIN void *mi_aligned_offset_recalloc(void *p, size_t newcount, size_t size, size_t alignment,
                                          size_t offset) mi_attr_noexcept;
MI_CALL void mi_free_size(void *p, size_t size) mi_attr_noexcept;
MI_CALL void mi_free_size_aligned(void *p, size_t size, size_t alignment) mi_attr_noexcept;
MI_CALL void mi_free_aligned(void *p, size_t alignment) mi_attr_noexcept;
MI_FRESH unsigned short *mi_wcsdup(const unsigned short *s) mi_attr_noexcept mi_attr_malloc;
MI_FRESH unsigned char *mi_mbsdup(const unsigned char *s) mi_attr_noexcept mi_attr_malloc;
MI_CALL int mi_dupenv_s(char **buf, size_t *size, const char *name) mi_attr_noexcept;
MI_CALL int mi_wdupenv_s(unsigned short **buf, size_t *size,
                         const unsigned short *name) mi_attr_noexcept;

/* operator new: call the new-handler as long as there is one, then throw std::bad_alloc. */
MI_FRESH void *mi_new(size_t size) mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_new_aligned(size_t size, size_t alignment) mi_attr_malloc mi_attr_alloc_size(1)
    mi_attr_alloc_align(2);
MI_FRESH void *mi_new_nothrow(size_t size) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1);
MI_FRESH void *mi_new_aligned_nothrow(size_t size, size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_FRESH void *mi_new_n(size_t count, size_t size) mi_attr_malloc mi_attr_alloc_size2(1, 2);
MI_AGAIN void *mi_new_realloc(void *p, size_t newsize) mi_attr_alloc_size(2);
MI_AGAIN void *mi_new_reallocn(void *p, size_t newcount, size_t size) mi_attr_alloc_size2(2, 3);

/* ---- heaps ---- */

typedef struct mi_heap_s mi_heap_t;
typedef struct mi_theap_s mi_theap_t;

/* Any thread may allocate from a heap and free its blocks. */
mi_decl_nodiscard MI_CALL mi_heap_t *mi_heap_new(void);
MI_CALL void mi_heap_delete(mi_heap_t *heap);  /* blocks in use stay */
MI_CALL void mi_heap_destroy(mi_heap_t *heap); /* blocks in use are freed */
MI_CALL void mi_heap_collect(mi_heap_t *heap, bool force) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL mi_heap_t *mi_heap_main(void);
mi_decl_nodiscard MI_CALL mi_heap_t *mi_heap_of(const void *p);
MI_CALL void mi_heap_set_numa_affinity(mi_heap_t *heap, int numa_node);

/* What the calling thread allocates from: by mi_malloc, malloc, operator new. */
MI_CALL mi_heap_t *mi_heap_set_default(mi_heap_t *heap); /* answers the one before */
MI_CALL mi_heap_t *mi_heap_get_default(void);
MI_CALL mi_heap_t *mi_heap_get_backing(void);
MI_CALL mi_theap_t *mi_theap_set_default(mi_theap_t *theap);
MI_CALL mi_theap_t *mi_theap_get_default(void);
MI_CALL mi_theap_t *mi_heap_theap(mi_heap_t *heap);

MI_FRESH void *mi_heap_malloc(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_zalloc(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_calloc(mi_heap_t *heap, size_t count,
                              size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
MI_FRESH void *mi_heap_mallocn(mi_heap_t *heap, size_t count,
                               size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
MI_FRESH void *mi_heap_malloc_small(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_zalloc_small(mi_heap_t *heap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_AGAIN void *mi_heap_realloc(mi_heap_t *heap, void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_AGAIN void *mi_heap_reallocn(mi_heap_t *heap, void *p, size_t count,
                                size_t size) mi_attr_noexcept mi_attr_alloc_size2(3, 4);
MI_AGAIN void *mi_heap_reallocf(mi_heap_t *heap, void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_AGAIN void *mi_heap_rezalloc(mi_heap_t *heap, void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_AGAIN void *mi_heap_recalloc(mi_heap_t *heap, void *p, size_t newcount,
                                size_t size) mi_attr_noexcept mi_attr_alloc_size2(3, 4);
MI_FRESH char *mi_heap_strdup(mi_heap_t *heap, const char *s) mi_attr_noexcept mi_attr_malloc;
MI_FRESH char *mi_heap_strndup(mi_heap_t *heap, const char *s,
                               size_t n) mi_attr_noexcept mi_attr_malloc;
MI_FRESH char *mi_heap_realpath(mi_heap_t *heap, const char *fname,
                                char *resolved_name) mi_attr_noexcept;
MI_FRESH void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t size,
                                      size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
MI_FRESH void *mi_heap_malloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
                                         size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_zalloc_aligned(mi_heap_t *heap, size_t size,
                                      size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
MI_FRESH void *mi_heap_zalloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
                                         size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_calloc_aligned(mi_heap_t *heap, size_t count, size_t size,
                                      size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3) mi_attr_alloc_align(4);
MI_FRESH void *mi_heap_calloc_aligned_at(mi_heap_t *heap, size_t count, size_t size,
                                         size_t alignment,
                                         size_t offset) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
MI_AGAIN void *mi_heap_realloc_aligned(mi_heap_t *heap, void *p, size_t newsize,
                                       size_t alignment) mi_attr_noexcept mi_attr_alloc_size(3)
    mi_attr_alloc_align(4);
MI_AGAIN void *mi_heap_realloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize,
                                          size_t alignment, size_t offset) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_AGAIN void *mi_heap_rezalloc_aligned(mi_heap_t *heap, void *p, size_t newsize,
                                        size_t alignment) mi_attr_noexcept mi_attr_alloc_size(3)
    mi_attr_alloc_align(4);
MI_AGAIN void *mi_heap_rezalloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize,
                                           size_t alignment, size_t offset) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_AGAIN void *mi_heap_recalloc_aligned(mi_heap_t *heap, void *p, size_t newcount, size_t size,
                                        size_t alignment) mi_attr_noexcept mi_attr_alloc_size2(3, 4)
    mi_attr_alloc_align(5);
MI_AGAIN void *mi_heap_recalloc_aligned_at(mi_heap_t *heap, void *p, size_t newcount, size_t size,
                                           size_t alignment, size_t offset) mi_attr_noexcept
    mi_attr_alloc_size2(3, 4);
MI_FRESH void *mi_heap_alloc_new(mi_heap_t *heap, size_t size) mi_attr_malloc mi_attr_alloc_size(2);
MI_FRESH void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t count, size_t size) mi_attr_malloc
    mi_attr_alloc_size2(2, 3);

MI_FRESH void *mi_theap_malloc(mi_theap_t *theap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_theap_zalloc(mi_theap_t *theap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_theap_calloc(mi_theap_t *theap, size_t count,
                               size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size2(2, 3);
MI_FRESH void *mi_theap_malloc_small(mi_theap_t *theap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_theap_zalloc_small(mi_theap_t *theap, size_t size) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2);
MI_FRESH void *mi_theap_malloc_aligned(mi_theap_t *theap, size_t size,
                                       size_t alignment) mi_attr_noexcept mi_attr_malloc
    mi_attr_alloc_size(2) mi_attr_alloc_align(3);
MI_AGAIN void *mi_theap_realloc(mi_theap_t *theap, void *p, size_t newsize) mi_attr_noexcept
    mi_attr_alloc_size(3);
MI_CALL void mi_theap_collect(mi_theap_t *theap, bool force) mi_attr_noexcept;

/* Whose is it? p may be any address. */
MI_CALL bool mi_heap_contains_block(mi_heap_t *heap, const void *p);
MI_CALL bool mi_heap_check_owned(mi_heap_t *heap, const void *p);
MI_CALL bool mi_check_owned(const void *p); /* by the default heap */
MI_CALL bool mi_heap_contains(const mi_heap_t *heap, const void *p);
MI_CALL bool mi_any_heap_contains(const void *p);

/* An area holds blocks of one size. */
typedef struct mi_heap_area_s {
    void *blocks;
    size_t reserved, committed; /* bytes */
    size_t used;                /* blocks */
    size_t block_size, full_block_size;
#if VITRINE_MIMALLOC == 2
    int heap_tag;
#else
    void *reserved1;
#endif
} mi_heap_area_t;

/* Called for each area, with block NULL, and if visit_blocks for each block in use; false ends it. */
typedef bool(mi_cdecl mi_block_visit_fun)(const mi_heap_t *heap, const mi_heap_area_t *area,
                                          void *block, size_t block_size, void *arg);
MI_CALL bool mi_heap_visit_blocks(const mi_heap_t *heap, bool visit_blocks,
                                  mi_block_visit_fun *visitor, void *arg);
MI_CALL bool mi_theap_visit_blocks(const mi_theap_t *theap, bool visit_blocks,
                                   mi_block_visit_fun *visitor, void *arg);
MI_CALL bool mi_heap_visit_abandoned_blocks(mi_heap_t *heap, bool visit_blocks,
                                            mi_block_visit_fun *visitor, void *arg);
MI_CALL bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p,
                                                   size_t perc_threshold) mi_attr_noexcept;

/* ---- the process ---- */

MI_CALL void mi_collect(bool force) mi_attr_noexcept;
MI_CALL void mi_collect_reduce(size_t target_thread_owned) mi_attr_noexcept;
MI_CALL int mi_version(void) mi_attr_noexcept;
MI_CALL void mi_process_init(void) mi_attr_noexcept;
MI_CALL void mi_process_done(void) mi_attr_noexcept;
MI_CALL void mi_thread_init(void) mi_attr_noexcept;
MI_CALL void mi_thread_done(void) mi_attr_noexcept;
MI_CALL void mi_thread_set_in_threadpool(void) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL bool mi_is_in_heap_region(const void *p) mi_attr_noexcept;
mi_decl_nodiscard MI_CALL bool mi_is_redirected(void) mi_attr_noexcept;
/* Each pointer may be NULL. Times in ms; current_rss is what is committed, as it always was. */
MI_CALL void mi_process_info(size_t *elapsed_msecs, size_t *user_msecs, size_t *system_msecs,
                             size_t *current_rss, size_t *peak_rss, size_t *current_commit,
                             size_t *peak_commit, size_t *page_faults) mi_attr_noexcept;

/* Called by us: now and then before memory is taken from the system; with every message; with every error's number. */
typedef void(mi_cdecl mi_deferred_free_fun)(bool force, unsigned long long heartbeat, void *arg);
MI_CALL void mi_register_deferred_free(mi_deferred_free_fun *deferred_free,
                                       void *arg) mi_attr_noexcept;
typedef void(mi_cdecl mi_output_fun)(const char *msg, void *arg);
MI_CALL void mi_register_output(mi_output_fun *out, void *arg) mi_attr_noexcept;
typedef void(mi_cdecl mi_error_fun)(int err, void *arg);
MI_CALL void mi_register_error(mi_error_fun *fun, void *arg);

MI_CALL void mi_stats_reset(void) mi_attr_noexcept;
MI_CALL void mi_stats_merge(void) mi_attr_noexcept;
MI_CALL void mi_stats_print(void *ignored) mi_attr_noexcept;
MI_CALL void mi_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
MI_CALL void mi_thread_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
MI_CALL void mi_heap_stats_print_out(mi_heap_t *heap, mi_output_fun *out,
                                     void *arg) mi_attr_noexcept;
MI_CALL void mi_process_info_print(void) mi_attr_noexcept;
MI_CALL void mi_process_info_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
MI_CALL void mi_options_print(void) mi_attr_noexcept;
MI_CALL void mi_options_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;

/* ---- memory to allocate from ---- */

#if VITRINE_MIMALLOC == 2
typedef int mi_arena_id_t;
#else
typedef void *mi_arena_id_t;
#endif

/* 0 or an errno. What is reserved is everybody's until a heap is made in it; if it is exclusive, such heaps' alone from the start. */
MI_CALL int mi_reserve_os_memory(size_t size, bool commit, bool allow_large) mi_attr_noexcept;
MI_CALL int mi_reserve_os_memory_ex(size_t size, bool commit, bool allow_large, bool exclusive,
                                    mi_arena_id_t *arena_id) mi_attr_noexcept;
MI_CALL int mi_reserve_huge_os_pages_at(size_t pages, int numa_node,
                                        size_t timeout_msecs) mi_attr_noexcept;
MI_CALL int mi_reserve_huge_os_pages_at_ex(size_t pages, int numa_node, size_t timeout_msecs,
                                           bool exclusive,
                                           mi_arena_id_t *arena_id) mi_attr_noexcept;
MI_CALL int mi_reserve_huge_os_pages_interleave(size_t pages, size_t numa_nodes,
                                                size_t timeout_msecs) mi_attr_noexcept;
MI_CALL int mi_reserve_huge_os_pages(size_t pages, double max_secs,
                                     size_t *pages_reserved) mi_attr_noexcept;
/* Memory that the program mapped becomes an arena, for the heaps made in it alone: whole units of 64 KiB, 32 MiB at least. False: it
 * is too small, or part of it was given before. It must stay mapped. is_zero: it reads as zero. */
MI_CALL bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_large,
                                 bool is_zero, int numa_node) mi_attr_noexcept;
MI_CALL bool mi_manage_os_memory_ex(void *start, size_t size, bool is_committed, bool is_large,
                                    bool is_zero, int numa_node, bool exclusive,
                                    mi_arena_id_t *arena_id) mi_attr_noexcept;
/* The same; commit_fun, if it is not committed and there is one, makes it accessible. */
typedef bool(mi_cdecl mi_commit_fun_t)(bool commit, void *start, size_t size, bool *is_zero,
                                       void *user_arg);
MI_CALL bool mi_manage_memory(void *start, size_t size, bool is_committed, bool is_pinned,
                              bool is_zero, int numa_node, bool exclusive,
                              mi_commit_fun_t *commit_fun, void *commit_fun_arg,
                              mi_arena_id_t *arena_id) mi_attr_noexcept;
MI_CALL void *mi_arena_area(mi_arena_id_t arena_id, size_t *size) mi_attr_noexcept;
MI_CALL bool mi_arena_contains(mi_arena_id_t arena_id, const void *p) mi_attr_noexcept;
MI_CALL size_t mi_arena_min_alignment(void) mi_attr_noexcept;
MI_CALL size_t mi_arena_min_size(void) mi_attr_noexcept;
MI_CALL void mi_arenas_print(void) mi_attr_noexcept;
MI_CALL void mi_debug_show_arenas(void) mi_attr_noexcept;
/* Its blocks come from this arena and from nowhere else; NULL when there is none of this id. */
mi_decl_nodiscard MI_CALL mi_heap_t *mi_heap_new_in_arena(mi_arena_id_t arena_id);
mi_decl_nodiscard MI_CALL mi_heap_t *mi_heap_new_ex(int heap_tag, bool allow_destroy,
                                                    mi_arena_id_t arena_id);

/* ---- parts of a process ---- */

#if VITRINE_MIMALLOC == 2
typedef void *mi_subproc_id_t;
MI_CALL void mi_subproc_delete(mi_subproc_id_t subproc);
MI_CALL bool mi_abandoned_visit_blocks(mi_subproc_id_t subproc, int heap_tag, bool visit_blocks,
                                       mi_block_visit_fun *visitor, void *arg);
#else
typedef struct mi_subproc_id_s {
    void *_mi_subproc_id;
} mi_subproc_id_t;
typedef bool(mi_cdecl mi_heap_visit_fun)(mi_heap_t *heap, void *arg);
MI_CALL void mi_subproc_destroy(mi_subproc_id_t subproc);
MI_CALL mi_subproc_id_t mi_subproc_current(void);
MI_CALL bool mi_subproc_visit_heaps(mi_subproc_id_t subproc, mi_heap_visit_fun *visitor, void *arg);
#endif
MI_CALL mi_subproc_id_t mi_subproc_main(void);
MI_CALL mi_subproc_id_t mi_subproc_new(void);
MI_CALL void mi_subproc_add_current_thread(mi_subproc_id_t subproc);

/* ---- options ---- */

typedef enum mi_option_e {
    mi_option_show_errors,
    mi_option_show_stats,
    mi_option_verbose,
#if VITRINE_MIMALLOC == 2
    mi_option_eager_commit,
#else
    mi_option_deprecated_eager_commit,
#endif
    mi_option_arena_eager_commit,
    mi_option_purge_decommits,
    mi_option_allow_large_os_pages,
    mi_option_reserve_huge_os_pages,
    mi_option_reserve_huge_os_pages_at,
    mi_option_reserve_os_memory,
    mi_option_deprecated_segment_cache,
    mi_option_deprecated_page_reset,
#if VITRINE_MIMALLOC == 2
    mi_option_abandoned_page_purge,
    mi_option_deprecated_segment_reset,
    mi_option_eager_commit_delay,
#else
    mi_option_deprecated_abandoned_page_purge,
    mi_option_deprecated_segment_reset,
    mi_option_deprecated_eager_commit_delay,
#endif
    mi_option_purge_delay,
    mi_option_use_numa_nodes,
    mi_option_disallow_os_alloc,
    mi_option_os_tag,
    mi_option_max_errors,
    mi_option_max_warnings,
#if VITRINE_MIMALLOC == 2
    mi_option_max_segment_reclaim,
#else
    mi_option_deprecated_max_segment_reclaim,
#endif
    mi_option_destroy_on_exit,
    mi_option_arena_reserve,
    mi_option_arena_purge_mult,
#if VITRINE_MIMALLOC == 2
    mi_option_purge_extend_delay,
    mi_option_abandoned_reclaim_on_free,
#else
    mi_option_deprecated_purge_extend_delay,
#endif
    mi_option_disallow_arena_alloc,
    mi_option_retry_on_oom,
#if VITRINE_MIMALLOC == 2
    mi_option_visit_abandoned,
#else
    mi_option_deprecated_visit_abandoned,
#endif
    mi_option_guarded_min,
    mi_option_guarded_max,
    mi_option_guarded_precise,
    mi_option_guarded_sample_rate,
    mi_option_guarded_sample_seed,
#if VITRINE_MIMALLOC == 2
    mi_option_target_segments_per_thread,
    mi_option_generic_collect,
    mi_option_allow_thp,
#else
    mi_option_generic_collect,
    mi_option_page_reclaim_on_free,
    mi_option_page_full_retain,
    mi_option_page_max_candidates,
    mi_option_max_vabits,
    mi_option_pagemap_commit,
    mi_option_page_commit_on_demand,
    mi_option_page_max_reclaim,
    mi_option_page_cross_thread_max_reclaim,
    mi_option_allow_thp,
    mi_option_minimal_purge_size,
    mi_option_arena_max_object_size,
    mi_option_arena_is_numa_local,
#endif
    _mi_option_last,
    /* older names */
    mi_option_large_os_pages = mi_option_allow_large_os_pages,
    mi_option_eager_region_commit = mi_option_arena_eager_commit,
    mi_option_reset_decommits = mi_option_purge_decommits,
    mi_option_reset_delay = mi_option_purge_delay,
    mi_option_limit_os_alloc = mi_option_disallow_os_alloc
} mi_option_t;

mi_decl_nodiscard MI_CALL bool mi_option_is_enabled(mi_option_t option);
MI_CALL void mi_option_enable(mi_option_t option);
MI_CALL void mi_option_disable(mi_option_t option);
MI_CALL void mi_option_set_enabled(mi_option_t option, bool enable);
MI_CALL void mi_option_set_enabled_default(mi_option_t option, bool enable);
mi_decl_nodiscard MI_CALL long mi_option_get(mi_option_t option);
mi_decl_nodiscard MI_CALL long mi_option_get_clamp(mi_option_t option, long min, long max);
mi_decl_nodiscard MI_CALL size_t mi_option_get_size(mi_option_t option); /* bytes */
MI_CALL void mi_option_set(mi_option_t option, long value);
MI_CALL void mi_option_set_default(mi_option_t option,
                                   long value); /* unless it was set by anybody */

#ifdef __cplusplus
}
#endif

/* ---- by type ---- */

#define mi_malloc_tp(tp) ((tp *)mi_malloc(sizeof(tp)))
#define mi_zalloc_tp(tp) ((tp *)mi_zalloc(sizeof(tp)))
#define mi_calloc_tp(tp, n) ((tp *)mi_calloc(n, sizeof(tp)))
#define mi_mallocn_tp(tp, n) ((tp *)mi_mallocn(n, sizeof(tp)))
#if VITRINE_MIMALLOC == 2
#define mi_reallocn_tp(p, tp, n) ((tp *)mi_reallocn(p, n, sizeof(tp)))
#define mi_recalloc_tp(p, tp, n) ((tp *)mi_recalloc(p, n, sizeof(tp)))
#define mi_heap_malloc_tp(hp, tp) ((tp *)mi_heap_malloc(hp, sizeof(tp)))
#define mi_heap_zalloc_tp(hp, tp) ((tp *)mi_heap_zalloc(hp, sizeof(tp)))
#define mi_heap_calloc_tp(hp, tp, n) ((tp *)mi_heap_calloc(hp, n, sizeof(tp)))
#define mi_heap_mallocn_tp(hp, tp, n) ((tp *)mi_heap_mallocn(hp, n, sizeof(tp)))
#define mi_heap_reallocn_tp(hp, p, tp, n) ((tp *)mi_heap_reallocn(hp, p, n, sizeof(tp)))
#define mi_heap_recalloc_tp(hp, p, tp, n) ((tp *)mi_heap_recalloc(hp, p, n, sizeof(tp)))
#else
#define mi_reallocn_tp(tp, p, n) ((tp *)mi_reallocn(p, n, sizeof(tp)))
#define mi_recalloc_tp(tp, p, n) ((tp *)mi_recalloc(p, n, sizeof(tp)))
#define mi_heap_malloc_tp(tp, hp) ((tp *)mi_heap_malloc(hp, sizeof(tp)))
#define mi_heap_zalloc_tp(tp, hp) ((tp *)mi_heap_zalloc(hp, sizeof(tp)))
#define mi_heap_calloc_tp(tp, hp, n) ((tp *)mi_heap_calloc(hp, n, sizeof(tp)))
#define mi_heap_mallocn_tp(tp, hp, n) ((tp *)mi_heap_mallocn(hp, n, sizeof(tp)))
#define mi_heap_reallocn_tp(tp, hp, p, n) ((tp *)mi_heap_reallocn(hp, p, n, sizeof(tp)))
#define mi_heap_recalloc_tp(tp, hp, p, n) ((tp *)mi_heap_recalloc(hp, p, n, sizeof(tp)))
#endif

/* ---- allocators for containers ---- */

#ifdef __cplusplus
#include <memory>
#include <type_traits>

/* mi_stl_allocator<T>: from the default heap of the thread. */
template <class T> struct mi_stl_allocator {
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::true_type;
    template <class U> struct rebind { using other = mi_stl_allocator<U>; };
    mi_stl_allocator() noexcept = default;
    template <class U> mi_stl_allocator(const mi_stl_allocator<U> &) noexcept {}
    T *allocate(size_t n) { return static_cast<T *>(mi_new_n(n, sizeof(T))); }
    void deallocate(T *p, size_t = 0) noexcept { mi_free(p); }
};
template <class T, class U>
bool operator==(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) noexcept {
    return true;
}
template <class T, class U>
bool operator!=(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) noexcept {
    return false;
}

#define MI_HAS_HEAP_STL_ALLOCATOR 1

/* A heap that copies share. One made here ends with the last of them: deleted, or with `destroys` destroyed. */
template <class T, bool destroys> struct mi_heap_stl_allocator_base {
    using value_type = T;
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;
    mi_heap_stl_allocator_base() : heap(mi_heap_new(), end) {}
    explicit mi_heap_stl_allocator_base(mi_heap_t *given) : heap(given, [](mi_heap_t *) {}) {}
    template <class U>
    mi_heap_stl_allocator_base(const mi_heap_stl_allocator_base<U, destroys> &x) noexcept
        : heap(x.heap) {}
    T *allocate(size_t n) {
        return static_cast<T *>(mi_heap_alloc_new_n(heap.get(), n, sizeof(T)));
    }
    void deallocate(T *p, size_t = 0) noexcept {
        if (!destroys) mi_free(p);
    }
    void collect(bool force) { mi_heap_collect(heap.get(), force); }
    template <class U>
    bool is_equal(const mi_heap_stl_allocator_base<U, destroys> &x) const noexcept {
        return heap == x.heap;
    }

protected:
    std::shared_ptr<mi_heap_t> heap;
    template <class U, bool D> friend struct mi_heap_stl_allocator_base;

private:
    static void end(mi_heap_t *h) {
        if (h == nullptr) return;
        if (destroys)
            mi_heap_destroy(h);
        else
            mi_heap_delete(h);
    }
};

#define MI_HEAP_STL_ALLOCATOR(name, destroys)                                                      \
    template <class T> struct name : mi_heap_stl_allocator_base<T, destroys> {                     \
        template <class U> struct rebind { using other = name<U>; };                               \
        name() = default;                                                                          \
        explicit name(mi_heap_t *h) : mi_heap_stl_allocator_base<T, destroys>(h) {}                \
        template <class U>                                                                         \
        name(const name<U> &x) noexcept : mi_heap_stl_allocator_base<T, destroys>(x) {}            \
        name select_on_container_copy_construction() const { return *this; }                       \
    };                                                                                             \
    template <class T, class U> bool operator==(const name<T> &x, const name<U> &y) noexcept {     \
        return x.is_equal(y);                                                                      \
    }                                                                                              \
    template <class T, class U> bool operator!=(const name<T> &x, const name<U> &y) noexcept {     \
        return !x.is_equal(y);                                                                     \
    }

MI_HEAP_STL_ALLOCATOR(mi_heap_stl_allocator, false)
MI_HEAP_STL_ALLOCATOR(mi_heap_destroy_stl_allocator, true) /* deallocate does nothing */
#undef MI_HEAP_STL_ALLOCATOR
#endif

#endif
