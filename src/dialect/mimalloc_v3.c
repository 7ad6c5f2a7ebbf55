/* mimalloc_v3.c - libmimalloc.so.3: where v3 differs from v2. */
#define VITRINE_MIMALLOC 3
#include "dialect/mimalloc_typed.h"
#include "heap/class.h"
#include "os/os.h"

/* ---- parts of a process: there is one ---- */

VT_EXPORT mi_subproc_id_t mi_subproc_main(void) { return (mi_subproc_id_t){NULL}; }
VT_EXPORT mi_subproc_id_t mi_subproc_current(void) { return (mi_subproc_id_t){NULL}; }
VT_EXPORT mi_subproc_id_t mi_subproc_new(void) { return (mi_subproc_id_t){NULL}; }
VT_EXPORT void mi_subproc_destroy(mi_subproc_id_t subproc) { (void)subproc; }
VT_EXPORT void mi_subproc_add_current_thread(mi_subproc_id_t subproc) { (void)subproc; }
VT_EXPORT bool mi_subproc_visit_heaps(mi_subproc_id_t subproc, mi_heap_visit_fun *visitor,
                                      void *arg) {
    (void)subproc;
    if (!visitor(mi_heap_main(), arg)) return false;
    for (struct vt_own *o = NULL, *next = vt__own_next(NULL); (o = next) != NULL;) {
        next = vt__own_next(o); /* the visitor may destroy o */
        if (!visitor((mi_heap_t *)o, arg)) return false;
    }
    return true;
}

/* ---- statistics ---- */

static void figures_of(const mi_stats_t *stats, struct vt_mi_figures *f) {
    *f = (struct vt_mi_figures){0};
    for (size_t i = 0; i < vt_countof(fields); i++)
        __builtin_memcpy(&f->at[fields[i].figure], (const char *)stats + fields[i].offset,
                         fields[i].is_counter ? sizeof(mi_stat_counter_t)
                                              : sizeof(mi_stat_count_t));
    __builtin_memcpy(f->malloc_bins, stats->malloc_bins, sizeof(f->malloc_bins));
    __builtin_memcpy(f->page_bins, stats->page_bins, sizeof(f->page_bins));
}

static void add(mi_stat_count_t *to, size_t n) {
    to->current += (int64_t)n;
    to->total = to->peak = to->current;
}

/* Of one heap only what it holds now is known; the rest is 0. */
VT_EXPORT bool mi_heap_stats_get(mi_heap_t *heap, mi_stats_t *stats) {
    struct vt_own_area a;
    if (!mi_stats_get(stats)) return false;
    if (heap == NULL || heap == mi_heap_main()) return true;
    *stats = (mi_stats_t){.size = sizeof(*stats), .version = MI_STAT_VERSION};
    for (size_t n = 0; vt__own_area((struct vt_own *)heap, n, &a); n++) {
        bool is_huge = a.block_bytes > VT_MEDIUM_MAX;
        add(&stats->pages, 1);
        add(is_huge ? &stats->malloc_huge : &stats->malloc_normal, a.n_used * a.block_bytes);
        add(&stats->page_committed, a.n_carved * a.block_bytes);
    }
    return true;
}

VT_EXPORT char *mi_heap_stats_get_json(mi_heap_t *heap, size_t buf_size, char *buf) {
    mi_stats_t stats = {.size = sizeof(stats), .version = MI_STAT_VERSION};
    return mi_heap_stats_get(heap, &stats) ? mi_stats_as_json(&stats, buf_size, buf) : NULL;
}
VT_EXPORT void mi_heap_stats_merge_to_subproc(mi_heap_t *heap) { (void)heap; }
VT_EXPORT bool mi_subproc_stats_get(mi_subproc_id_t subproc, mi_stats_t *stats) {
    (void)subproc;
    return mi_stats_get(stats);
}
VT_EXPORT bool mi_subproc_stats_get_exclusive(mi_subproc_id_t subproc, mi_stats_t *stats) {
    (void)subproc;
    return mi_stats_get(stats);
}
VT_EXPORT char *mi_subproc_stats_get_json(mi_subproc_id_t subproc, size_t buf_size, char *buf) {
    (void)subproc;
    return mi_stats_get_json(buf_size, buf);
}
VT_EXPORT void mi_subproc_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out, void *arg) {
    (void)subproc;
    mi_stats_print_out(out, arg);
}
VT_EXPORT void mi_subproc_heap_stats_print_out(mi_subproc_id_t subproc, mi_output_fun *out,
                                               void *arg) {
    (void)subproc;
    mi_stats_print_out(out, arg);
}
VT_EXPORT char *mi_stats_as_json(mi_stats_t *stats, size_t buf_size, char *buf) {
    if (stats == NULL || stats->size != sizeof(*stats) || stats->version != MI_STAT_VERSION)
        return NULL;
    struct vt_mi_figures f;
    figures_of(stats, &f);
    return vt__mi_json(&f, fields, vt_countof(fields), MI_STAT_VERSION, buf_size, buf);
}

/* The tables: a label of 10 behind two blanks, columns of 12. */
enum shape { BYTES, COUNT, COUNTER };
struct row {
    const char *label;
    enum vt_mi_figure figure;
    enum shape shape;
};
/* clang-format off */
static const struct row of_blocks[] = {
    {"binned", VT_MI_F_malloc_normal, BYTES}, {"huge", VT_MI_F_malloc_huge, BYTES},
    {"total", VT_MI_F_malloc_requested, BYTES},
};
static const struct row of_pages[] = {
    {"touched", VT_MI_F_page_committed, BYTES}, {"pages", VT_MI_F_pages, COUNT},
    {"abandoned", VT_MI_F_pages_abandoned, COUNT}, {"reclaima", VT_MI_F_pages_reclaim_on_alloc, COUNTER},
    {"reclaimf", VT_MI_F_pages_reclaim_on_free, COUNTER}, {"reabandon", VT_MI_F_pages_reabandon_full, COUNTER},
    {"waits", VT_MI_F_pages_unabandon_busy_wait, COUNTER}, {"extended", VT_MI_F_pages_extended, COUNTER},
    {"retire", VT_MI_F_pages_retire, COUNTER},
};
static const struct row of_arenas[] = {
    {"reserved", VT_MI_F_reserved, BYTES}, {"committed", VT_MI_F_committed, BYTES},
    {"reset", VT_MI_F_reset, BYTES}, {"purged", VT_MI_F_purged, BYTES},
    {"arenas", VT_MI_F_arena_count, COUNTER}, {"rollback", VT_MI_F_arena_rollback_count, COUNTER},
    {"mmaps", VT_MI_F_mmap_calls, COUNTER}, {"commits", VT_MI_F_commit_calls, COUNTER},
    {"resets", VT_MI_F_reset_calls, COUNTER}, {"purges", VT_MI_F_purge_calls, COUNTER},
    {"guarded", VT_MI_F_malloc_guarded_count, COUNTER}, {"theaps", VT_MI_F_theaps, COUNT},
    {"heaps", VT_MI_F_heaps, COUNT}, {"heap waits", VT_MI_F_heaps_delete_wait, COUNTER},
};
/* clang-format on */

static void put_label(struct vt_text *t, const char *label) {
    vt__text_put(t, "  ");
    vt__text_put(t, label);
    vt__text_pad(t, ' ', (unsigned)(10 - vt_min(vt__str_len(label), 10)));
}

static void put_right(struct vt_text *t, const char *s) {
    vt__text_pad(t, ' ', (unsigned)(12 - vt_min(vt__str_len(s), 12)));
    vt__text_put(t, s);
}

static void put_amount(struct vt_text *t, int64_t n, enum shape shape) {
    uint64_t amount = n < 0 ? 0 : (uint64_t)n;
    if (shape == BYTES && amount >= KiB(1)) {
        vt__text_bytes(t, amount, 12);
    } else {
        vt__text_uint_wide(t, amount, 8);
        vt__text_put(t, shape == BYTES ? "   B" : "    ");
    }
}

static void put_block(struct vt_text *t, const char *title, const struct row *rows, size_t n,
                      const struct vt_mi_figures *f) {
    static const char *const columns[] = {"peak", "total", "current", "block", "total#"};
    vt__text_put(t, " ");
    vt__text_put(t, title);
    vt__text_pad(t, ' ', (unsigned)(11 - vt__str_len(title)));
    for (unsigned i = 0; i < vt_countof(columns); i++) put_right(t, columns[i]);
    vt__text_char(t, '\n');
    for (size_t i = 0; i < n; i++) {
        const struct vt_mi_count *c = &f->at[rows[i].figure];
        put_label(t, rows[i].label);
        if (rows[i].shape != COUNTER) put_amount(t, c->peak, rows[i].shape);
        put_amount(t, c->total, rows[i].shape);
        if (rows[i].shape != COUNTER) put_amount(t, c->current, rows[i].shape);
        vt__text_char(t, '\n');
    }
}

static void print_stats(struct vt_text *t) {
    struct vt_mi_figures f;
    struct vt_mi_process p;
    vt__mi_figures(&f);
    vt__mi_process(&p);
    vt__text_put(t, "subproc 0\n");
    put_block(t, "blocks", of_blocks, vt_countof(of_blocks), &f);
    put_block(t, "pages", of_pages, vt_countof(of_pages), &f);
    put_label(t, "searches");
    vt__text_put(t, "     0.0 avg\n");
    put_block(t, "arenas", of_arenas, vt_countof(of_arenas), &f);
    vt__text_put(t, " process\n");
    put_label(t, "threads");
    put_amount(t, f.at[VT_MI_F_threads].current, COUNT);
    vt__text_char(t, '\n');
    put_label(t, "numa nodes");
    vt__text_uint_wide(t, vt__os_n_nodes(), 8);
    vt__text_char(t, '\n');
    put_label(t, "elapsed");
    vt__text_put(t, "   ");
    vt__mi_put_ms(t, p.elapsed_ms);
    vt__text_put(t, " s\n");
    vt__mi_put_peaks(t, &p);
}

const struct vt_mi_line vt__mi_line = {.line = VT_MI_V3,
                                       .version = MI_MALLOC_VERSION,
                                       .version_text = "v3.4.3",
                                       .options_have_prefix = false,
                                       .print_stats = print_stats};
