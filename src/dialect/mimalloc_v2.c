/* mimalloc_v2.c - libmimalloc.so.2: where v2 differs from v3. The table of statistics is that of 2.4. */
#define VITRINE_MIMALLOC 2
#include "dialect/mimalloc_typed.h"
#include "os/os.h"

/* ---- parts of a process: there is one ---- */

VT_EXPORT mi_subproc_id_t mi_subproc_main(void) { return NULL; }
VT_EXPORT mi_subproc_id_t mi_subproc_new(void) { return NULL; }
VT_EXPORT void mi_subproc_delete(mi_subproc_id_t subproc) { (void)subproc; }
VT_EXPORT void mi_subproc_add_current_thread(mi_subproc_id_t subproc) { (void)subproc; }
VT_EXPORT bool mi_abandoned_visit_blocks(mi_subproc_id_t subproc, int heap_tag, bool visit_blocks,
                                         mi_block_visit_fun *visitor, void *arg) {
    (void)subproc, (void)heap_tag;
    return mi_heap_visit_abandoned_blocks(NULL, visit_blocks, visitor, arg);
}

/* ---- statistics ---- */

/* Rows of the table: a label of 10, columns of 12. PEAK: only the most there was; OPEN: no word at the end of the row. */
enum shape { BYTES, OPEN, PEAK, COUNT, COUNTER };
static const struct row {
    const char *label;
    enum vt_mi_figure figure;
    enum shape shape;
} rows[] = {
    {"  reserved", VT_MI_F_reserved, OPEN},
    {" committed", VT_MI_F_committed, OPEN},
    {"     reset", VT_MI_F_reset, PEAK},
    {"    purged", VT_MI_F_purged, PEAK},
    {"   touched", VT_MI_F_page_committed, OPEN},
    {"  segments", VT_MI_F_segments, COUNT},
    {"-abandoned", VT_MI_F_segments_abandoned, COUNT},
    {"   -cached", VT_MI_F_segments_cache, COUNT},
    {"     pages", VT_MI_F_pages, COUNT},
    {"-abandoned", VT_MI_F_pages_abandoned, COUNT},
    {" -extended", VT_MI_F_pages_extended, COUNTER},
    {"   -retire", VT_MI_F_pages_retire, COUNTER},
    {"    arenas", VT_MI_F_arena_count, COUNTER},
    {" -rollback", VT_MI_F_arena_rollback_count, COUNTER},
    {"     mmaps", VT_MI_F_mmap_calls, COUNTER},
    {"   commits", VT_MI_F_commit_calls, COUNTER},
    {"    resets", VT_MI_F_reset_calls, COUNTER},
    {"    purges", VT_MI_F_purge_calls, COUNTER},
    {"   guarded", VT_MI_F_malloc_guarded_count, COUNTER},
    {"   threads", VT_MI_F_threads, COUNT},
};

/* In steps of 1024, as bytes are, but for the letter. */
static void put_count(struct vt_text *t, uint64_t n) {
    static const char *const units[] = {" Ki ", " Mi ", " Gi "};
    unsigned unit = 0;
    uint64_t scale = 1024;
    while (unit + 1 < vt_countof(units) && n / scale >= 1024) unit++, scale *= 1024;
    vt__text_uint_wide(t, n / scale, 6);
    vt__text_char(t, '.');
    vt__text_uint(t, n % scale * 10 / scale);
    vt__text_put(t, units[unit]);
}

static void put_column(struct vt_text *t, int64_t n, enum shape shape) {
    uint64_t amount = n < 0 ? 0 : (uint64_t)n;
    bool is_bytes = shape < COUNT;
    if (amount >= KiB(1) && is_bytes) {
        vt__text_bytes(t, amount, 12);
    } else if (amount >= KiB(1)) {
        put_count(t, amount);
    } else {
        vt__text_uint_wide(t, amount, 6);
        vt__text_put(t, is_bytes && amount > 0 ? "   B  " : "      ");
    }
}

static void put_row(struct vt_text *t, const struct row *r, const struct vt_mi_count *c) {
    vt__text_put(t, r->label);
    vt__text_char(t, ':');
    if (r->shape == COUNTER || r->shape == PEAK) {
        put_column(t, r->shape == PEAK ? c->peak : c->total, r->shape);
        vt__text_char(t, '\n');
        return;
    }
    const int64_t columns[] = {c->peak, c->total, c->current};
    for (unsigned i = 0; i < vt_countof(columns); i++) put_column(t, columns[i], r->shape);
    vt__text_pad(t, ' ', 26);
    vt__text_put(t, c->current == 0 ? "ok\n" : r->shape == OPEN ? "\n" : "not all freed\n");
}

static void print_stats(struct vt_text *t) {
    struct vt_mi_figures f;
    struct vt_mi_process p;
    vt__mi_figures(&f);
    vt__mi_process(&p);
    vt__text_put(t, "heap stats:     peak       total     current       block      total#   \n");
    for (unsigned i = 0; i < vt_countof(rows); i++) put_row(t, &rows[i], &f.at[rows[i].figure]);
    vt__text_put(t, "  searches:     0.0 avg\nnuma nodes: ");
    vt__text_uint_wide(t, vt__os_n_nodes(), 5);
    vt__text_put(t, "\n   elapsed: ");
    vt__text_pad(t, ' ', p.elapsed_ms < 10000 ? 4 : p.elapsed_ms < 100000 ? 3 : 2);
    vt__mi_put_ms(t, p.elapsed_ms);
    vt__text_put(t, " s\n   ");
    vt__mi_put_process(t, &p);
    vt__text_put(t, ", rss: ");
    vt__text_bytes(t, p.peak_rss, 0);
    vt__text_put(t, ", commit: ");
    vt__text_bytes(t, p.peak_commit, 0);
    vt__text_char(t, '\n');
}

const struct vt_mi_line vt__mi_line = {.line = VT_MI_V2,
                                       .version = MI_MALLOC_VERSION,
                                       .version_text = "v2.4.1",
                                       .options_have_prefix = true,
                                       .print_stats = print_stats};
