/* stats_gperftools.c - see stats_gperftools.h.
 *
 *   Bytes in use by application       allocated               Bytes in malloc metadata    metadata
 *   Bytes in page heap freelist       retained                Bytes released to OS        what is mapped and none of these
 *   Bytes in central cache freelist   the rest of slabs       Spans in use                slabs and large blocks
 *   Bytes in transfer cache freelist  0: there is none        Tcmalloc page size          a slice
 *   Bytes in thread cache freelists   cached
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/stats_gperftools.h"

#include "dump/stats.h"
#include "heap/heap.h"

/* Slabs and runs that are looked at for each question; gperftools takes some 7,500 instructions for its size classes. */
#define SHORT_WALK 256
#define N_RUNS 128 /* free runs of this many pages and more are one line */

static size_t less(size_t a, size_t b) { return a - vt_min(a, b); }

/* A page that a slab or a large block has is in use, touched or not, as it is in a span. */
static void put_figures(struct vt_gperftools_stats *out, const struct vt_stats *s) {
    size_t used = vt_max(s->active, s->allocated + s->cached);
    *out = (struct vt_gperftools_stats){.in_use = s->allocated,
                                        .page_heap_free = s->retained,
                                        .central_free = used - s->allocated - s->cached,
                                        .thread_free = s->cached,
                                        .metadata = s->metadata,
                                        .unmapped = less(s->mapped, used + s->retained),
                                        .physical = used + s->retained + s->metadata,
                                        .n_spans = s->n_large,
                                        .n_threads = s->n_threads,
                                        .page_bytes = vt__heap_range_step(),
                                        .n_purges = s->n_purges,
                                        .purged = s->purged};
    out->virtual_bytes = out->physical + out->unmapped;
    out->heap = out->virtual_bytes - out->metadata;
}

void vt__gperftools_stats(struct vt_gperftools_stats *out, enum vt_gperftools_wanted wanted) {
    struct vt_stats s = {.size = sizeof(s)};
    if (wanted == VT_GPERFTOOLS_BLOCKS) {
        vt__heap_sums(&s, SHORT_WALK);
    } else {
        vt__heap_pages(&s);
        if (wanted == VT_GPERFTOOLS_TABLES) vt__heap_tables(&s);
    }
    put_figures(out, &s);
}

static void take(struct vt_gperftools_stats *out, struct vt_class_stats *classes) {
    struct vt_stats s;
    vt__stats_take(&s, classes);
    put_figures(out, &s);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) out->n_spans += classes[c].n_slabs;
}

/* As %*.*f prints mebibytes. */
static void put_mib(struct vt_text *t, uint64_t n_bytes, unsigned width, unsigned n_decimals) {
    char buf[40];
    struct vt_text number = VT_TEXT(buf);
    uint64_t scale = n_decimals == 3 ? 1000 : 10;
    uint64_t tenths = (uint64_t)((double)n_bytes * (double)scale / (double)MiB(1) + 0.5);
    uint64_t rest = tenths % scale;
    vt__text_uint(&number, tenths / scale);
    vt__text_char(&number, '.');
    for (uint64_t limit = scale / 10; limit > 1 && rest < limit; limit /= 10)
        vt__text_char(&number, '0');
    vt__text_uint(&number, rest);
    vt__text_pad(t, ' ', (unsigned)less(width, number.len));
    vt__text_put_n(t, buf, number.len);
}

static void put_rule(struct vt_text *t) {
    vt__text_pad(t, '-', 48);
    vt__text_char(t, '\n');
}

static void put_bytes(struct vt_text *t, char sign, uint64_t n_bytes, const char *words) {
    vt__text_put(t, "MALLOC: ");
    vt__text_char(t, sign);
    vt__text_char(t, ' ');
    vt__text_uint_wide(t, n_bytes, 12);
    vt__text_put(t, " (");
    put_mib(t, n_bytes, 7, 1);
    vt__text_put(t, " MiB) ");
    vt__text_put(t, words);
    vt__text_char(t, '\n');
}

static void put_count(struct vt_text *t, uint64_t n, const char *words) {
    vt__text_put(t, "MALLOC:   ");
    vt__text_uint_wide(t, n, 12);
    vt__text_pad(t, ' ', 14);
    vt__text_put(t, words);
    vt__text_char(t, '\n');
}

static void put_summary(struct vt_text *t, const struct vt_gperftools_stats *s) {
    put_rule(t);
    put_bytes(t, ' ', s->in_use, "Bytes in use by application");
    put_bytes(t, '+', s->page_heap_free, "Bytes in page heap freelist");
    put_bytes(t, '+', s->central_free, "Bytes in central cache freelist");
    put_bytes(t, '+', s->transfer_free, "Bytes in transfer cache freelist");
    put_bytes(t, '+', s->thread_free, "Bytes in thread cache freelists");
    put_bytes(t, '+', s->metadata, "Bytes in malloc metadata");
    vt__text_put(t, "MALLOC:   ------------\n");
    put_bytes(t, '=', s->physical, "Actual memory used (physical + swap)");
    put_bytes(t, '+', s->unmapped, "Bytes released to OS (aka unmapped)");
    vt__text_put(t, "MALLOC:   ------------\n");
    put_bytes(t, '=', s->virtual_bytes, "Virtual address space used");
    vt__text_put(t, "MALLOC:\n");
    put_count(t, s->n_spans, "Spans in use");
    put_count(t, s->n_threads, "Thread heaps in use");
    put_count(t, s->page_bytes, "Tcmalloc page size");
    put_rule(t);
    vt__text_put(
        t, "Call ReleaseFreeMemory() to release freelist memory to the OS (via madvise()).\n"
           "Bytes released to the OS take up virtual address space but no physical memory.\n");
}

static void put_class(struct vt_text *t, unsigned number, const struct vt_class_stats *k,
                      uint64_t *sum, uint64_t *overhead_sum) {
    uint64_t n = k->n_cached + k->n_free;
    uint64_t overhead = less(k->resident_bytes, (k->n_live + n) * k->block_bytes);
    *sum += n * k->block_bytes;
    *overhead_sum += overhead;
    vt__text_put(t, "class ");
    vt__text_uint_wide(t, number, 3);
    vt__text_put(t, " [ ");
    vt__text_uint_wide(t, k->block_bytes, 8);
    vt__text_put(t, " bytes ] : ");
    vt__text_uint_wide(t, n, 8);
    vt__text_put(t, " objs; ");
    put_mib(t, n * k->block_bytes, 5, 1);
    vt__text_put(t, " MiB; ");
    put_mib(t, *sum, 5, 1);
    vt__text_put(t, " cum MiB; ");
    put_mib(t, overhead, 8, 3);
    vt__text_put(t, " overhead MiB; ");
    put_mib(t, *overhead_sum, 8, 3);
    vt__text_put(t, " cum overhead MiB\n");
}

static void put_classes(struct vt_text *t, const struct vt_class_stats *classes) {
    uint64_t sum = 0, overhead_sum = 0;
    put_rule(t);
    vt__text_put(t, "Total size of freelists for per-thread caches,\n"
                    "transfer cache, and central cache, by size class\n");
    put_rule(t);
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        if (classes[c].n_cached + classes[c].n_free != 0)
            put_class(t, c + 1, &classes[c], &sum, &overhead_sum);
}

/* Free runs by their length in pages; the last: all that are longer. */
struct runs {
    uint64_t n[N_RUNS + 1], free_bytes[N_RUNS + 1], clean_bytes[N_RUNS + 1];
};

static void count_runs(struct runs *r, size_t page_bytes) {
    struct vt_heap_range range;
    for (size_t cursor = 0; vt__heap_next_range(&cursor, &range);) {
        if (range.kind != VT_RANGE_FREE && range.kind != VT_RANGE_CLEAN) continue;
        size_t i = vt_min(range.n_bytes / page_bytes, N_RUNS);
        r->n[i]++;
        *(range.kind == VT_RANGE_FREE ? &r->free_bytes[i] : &r->clean_bytes[i]) += range.n_bytes;
    }
}

static void put_run(struct vt_text *t, const struct runs *r, size_t i, uint64_t *sum,
                    uint64_t *clean_sum) {
    *sum += r->free_bytes[i] + r->clean_bytes[i];
    *clean_sum += r->clean_bytes[i];
    if (i < N_RUNS) {
        vt__text_uint_wide(t, i, 6);
        vt__text_put(t, " pages * ");
    } else {
        vt__text_put(t, ">128   large * ");
    }
    vt__text_uint_wide(t, r->n[i], 6);
    vt__text_put(t, " spans ~ ");
    put_mib(t, r->free_bytes[i] + r->clean_bytes[i], 6, 1);
    vt__text_put(t, " MiB; ");
    put_mib(t, *sum, 6, 1);
    vt__text_put(t, " MiB cum; unmapped: ");
    put_mib(t, r->clean_bytes[i], 6, 1);
    vt__text_put(t, " MiB; ");
    put_mib(t, *clean_sum, 6, 1);
    vt__text_put(t, " MiB cum\n");
}

static void put_page_heap(struct vt_text *t, size_t page_bytes) {
    struct runs r = {0};
    uint64_t n_sizes = 0, free_bytes = 0, clean_bytes = 0, sum = 0, clean_sum = 0;
    count_runs(&r, page_bytes);
    for (size_t i = 0; i <= N_RUNS; i++) {
        n_sizes += i < N_RUNS && r.n[i] != 0;
        free_bytes += r.free_bytes[i];
        clean_bytes += r.clean_bytes[i];
    }
    put_rule(t);
    vt__text_put(t, "PageHeap: ");
    vt__text_uint(t, n_sizes);
    vt__text_put(t, " sizes; ");
    put_mib(t, free_bytes, 6, 1);
    vt__text_put(t, " MiB free; ");
    put_mib(t, clean_bytes, 6, 1);
    vt__text_put(t, " MiB unmapped\n");
    put_rule(t);
    for (size_t i = 0; i <= N_RUNS; i++)
        if (r.n[i] != 0 || i == N_RUNS) put_run(t, &r, i, &sum, &clean_sum);
}

void vt__gperftools_stats_write(struct vt_text *t, int level) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_gperftools_stats s;
    take(&s, classes);
    put_summary(t, &s);
    if (level < 2) return;
    put_classes(t, classes);
    put_page_heap(t, s.page_bytes);
}
