/* mimalloc_v2.c - libmimalloc.so.2: where v2 differs from v3. The table of statistics is that of 2.0, which Debian has. */
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

/* Rows of the table: columns of 11, a number with four blanks behind it or bytes with their unit. */
enum shape { BYTES, COUNT, COUNTER };
static const struct row {
    const char *label;
    enum vt_mi_figure figure;
    enum shape shape;
    bool is_open; /* no word at the end */
} rows[] = {
    {"  reserved", VT_MI_F_reserved, BYTES, true},
    {" committed", VT_MI_F_committed, BYTES, true},
    {"     reset", VT_MI_F_reset, BYTES, false},
    {"   touched", VT_MI_F_page_committed, BYTES, false},
    {"  segments", VT_MI_F_segments, COUNT, false},
    {"-abandoned", VT_MI_F_segments_abandoned, COUNT, false},
    {"   -cached", VT_MI_F_segments_cache, COUNT, false},
    {"     pages", VT_MI_F_pages, COUNT, false},
    {"-abandoned", VT_MI_F_pages_abandoned, COUNT, false},
    {" -extended", VT_MI_F_pages_extended, COUNTER, true},
    {" -noretire", VT_MI_F_pages_retire, COUNTER, true},
    {"     mmaps", VT_MI_F_mmap_calls, COUNTER, true},
    {"   commits", VT_MI_F_commit_calls, COUNTER, true},
    {"   threads", VT_MI_F_threads, COUNT, false},
};

static void put_column(struct vt_text *t, int64_t n, enum shape shape) {
    uint64_t amount = n < 0 ? 0 : (uint64_t)n;
    if (shape == BYTES && amount >= KiB(1)) {
        vt__text_bytes(t, amount, 11);
        return;
    }
    vt__text_uint_wide(t, amount, 7);
    vt__text_put(t, shape == BYTES && amount > 0 ? " B  " : "    ");
}

static void put_row(struct vt_text *t, const struct row *r, const struct vt_mi_count *c) {
    vt__text_put(t, r->label);
    vt__text_char(t, ':');
    if (r->shape == COUNTER) {
        put_column(t, c->total, COUNT);
        vt__text_char(t, '\n');
        return;
    }
    const int64_t columns[] = {c->peak, c->total, c->total - c->current, c->current};
    for (unsigned i = 0; i < vt_countof(columns); i++) put_column(t, columns[i], r->shape);
    vt__text_pad(t, ' ', 24);
    if (!r->is_open) vt__text_put(t, c->current == 0 ? "ok" : "not all freed!");
    vt__text_char(t, '\n');
}

static void print_stats(struct vt_text *t) {
    struct vt_mi_figures f;
    struct vt_mi_process p;
    vt__mi_figures(&f);
    vt__mi_process(&p);
    vt__text_put(t,
                 "heap stats:    peak      total      freed    current       unit      count   \n");
    for (unsigned i = 0; i < vt_countof(rows); i++) put_row(t, &rows[i], &f.at[rows[i].figure]);
    vt__text_put(t, "  searches:     0.0 avg\nnuma nodes:");
    vt__text_uint_wide(t, vt__os_n_nodes(), 8);
    vt__text_put(t, "\n   elapsed:       ");
    vt__mi_put_ms(t, p.elapsed_ms);
    vt__text_put(t, " s\n   ");
    vt__mi_put_process(t, &p);
    vt__text_put(t, ", rss: ");
    vt__text_bytes(t, p.peak_rss, 0);
    vt__text_put(t, ", commit: ");
    vt__text_bytes(t, p.commit, 0);
    vt__text_char(t, '\n');
}

const struct vt_mi_line vt__mi_line = {.line = VT_MI_V2,
                                       .version = MI_MALLOC_VERSION,
                                       .version_text = "v2.4.1",
                                       .options_have_prefix = true,
                                       .print_stats = print_stats};
