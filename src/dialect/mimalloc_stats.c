/* mimalloc_stats.c - the heap's figures by mimalloc's names: as text, as structure, as JSON.
 *
 * malloc and free count nothing, so there are no sums over time: `total` is what is there now, and `peak` the most that anybody
 * asked about. Figures that have no counterpart are 0. docs/dialects.md has the list.
 *
 * Climate: host, no malloc but for a JSON text that the caller wants in memory of its own.
 */
#include "dialect/mimalloc_impl.h"
#include "dump/stats.h"
#include "heap/class.h"
#include "os/os.h"

static struct {
    _Atomic uint64_t start_ms;
    _Atomic int64_t peak[VT_MI_N_FIGURES];
    _Atomic size_t peak_commit;
} seen;

__attribute__((constructor)) static void note_start(void) {
    atomic_store_explicit(&seen.start_ms, vt__os_now_ms(), memory_order_relaxed);
}

/* ---- sizes of bins ---- */

/* In words of 8 bytes: 1 to 8, then four to each doubling. */
static size_t bin_words(size_t bin) {
    if (bin <= 8) return bin;
    size_t doubling = (bin - 9) / 4, step = (bin - 9) % 4;
    return (5 + step) << (doubling + 1);
}

VT_EXPORT size_t mi_stats_get_bin_size(size_t bin) {
    return bin < VT_MI_N_BINS - 1 ? bin_words(bin) * 8 : 0;
}

static size_t bin_of(size_t n_bytes) {
    size_t bin = 1;
    while (bin < VT_MI_N_BINS - 1 && bin_words(bin) * 8 < n_bytes) bin++;
    return bin;
}

/* ---- figures ---- */

static void put(struct vt_mi_figures *f, enum vt_mi_figure i, uint64_t now) {
    int64_t n = (int64_t)now;
    int64_t peak = atomic_load_explicit(&seen.peak[i], memory_order_relaxed);
    if (n > peak) { /* approximate: another thread may have seen more meanwhile */
        atomic_store_explicit(&seen.peak[i], n, memory_order_relaxed);
        peak = n;
    }
    f->at[i] = (struct vt_mi_count){n, peak, n};
}

static void add_to_bin(struct vt_mi_count *bin, uint64_t n) {
    bin->total += (int64_t)n;
    bin->current += (int64_t)n;
    bin->peak = bin->current;
}

void vt__mi_figures(struct vt_mi_figures *f) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats s;
    uint64_t n_pages = 0, n_blocks = 0;
    *f = (struct vt_mi_figures){0};
    if (!vt__mi_started()) return;
    vt__stats_take(&s, classes);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        size_t bin = bin_of(classes[c].block_bytes);
        n_pages += classes[c].n_slabs;
        n_blocks += classes[c].n_live;
        add_to_bin(&f->malloc_bins[bin], classes[c].n_live);
        add_to_bin(&f->page_bins[bin], classes[c].n_slabs);
    }
    add_to_bin(&f->malloc_bins[VT_MI_N_BINS - 1], s.n_large);
    add_to_bin(&f->page_bins[VT_MI_N_BINS - 1], s.n_large);
    put(f, VT_MI_F_pages, n_pages + s.n_large);
    put(f, VT_MI_F_reserved, s.mapped);
    put(f, VT_MI_F_committed, s.active + s.retained);
    put(f, VT_MI_F_page_committed, s.active);
    put(f, VT_MI_F_purged, s.purged);
    put(f, VT_MI_F_purge_calls, s.n_purges);
    put(f, VT_MI_F_threads, s.n_threads);
    put(f, VT_MI_F_malloc_normal, s.allocated - vt_min(s.allocated, s.large));
    put(f, VT_MI_F_malloc_huge, s.large);
    put(f, VT_MI_F_malloc_requested, s.allocated);
    put(f, VT_MI_F_malloc_normal_count, n_blocks);
    put(f, VT_MI_F_malloc_huge_count, s.n_large);
    put(f, VT_MI_F_arena_count, 1);
    put(f, VT_MI_F_theaps, s.n_heaps);
    put(f, VT_MI_F_heaps, 1);
}

void vt__mi_process(struct vt_mi_process *out) {
    struct vt_mi_figures f;
    struct vt_usage u;
    vt__mi_figures(&f);
    vt__os_usage(&u);
    uint64_t start_ms = atomic_load_explicit(&seen.start_ms, memory_order_relaxed);
    *out = (struct vt_mi_process){
        .elapsed_ms = vt__os_now_ms() - start_ms,
        .user_ms = u.user_ms,
        .system_ms = u.system_ms,
        .rss = (size_t)f.at[VT_MI_F_committed].current,
        .peak_rss = u.peak_resident_bytes,
        .commit = (size_t)f.at[VT_MI_F_committed].current,
        .peak_commit = (size_t)f.at[VT_MI_F_committed].peak,
        .faults = u.n_major_faults,
    };
}

static void tell(size_t *out, size_t n) {
    if (out != NULL) *out = n;
}

VT_EXPORT void mi_process_info(size_t *elapsed_msecs, size_t *user_msecs, size_t *system_msecs,
                               size_t *current_rss, size_t *peak_rss, size_t *current_commit,
                               size_t *peak_commit, size_t *page_faults) {
    struct vt_mi_process p;
    vt__mi_process(&p);
    tell(elapsed_msecs, p.elapsed_ms);
    tell(user_msecs, p.user_ms);
    tell(system_msecs, p.system_ms);
    tell(current_rss, p.rss);
    tell(peak_rss, p.peak_rss);
    tell(current_commit, p.commit);
    tell(peak_commit, p.peak_commit);
    tell(page_faults, p.faults);
}

void vt__mi_put_ms(struct vt_text *t, size_t ms) {
    vt__text_uint(t, ms / 1000);
    vt__text_char(t, '.');
    vt__text_char(t, (char)('0' + ms / 100 % 10));
    vt__text_char(t, (char)('0' + ms / 10 % 10));
    vt__text_char(t, (char)('0' + ms % 10));
}

/* ---- as text ---- */

VT_EXPORT void mi_stats_print_out(mi_output_fun *out, void *arg) {
    struct vt_mi_printer p;
    struct vt_text *t = vt__mi_print_begin(&p, out, arg);
    (void)vt__mi_started();
    vt__mi_line.print_stats(t);
    vt__text_flush(t);
}

VT_EXPORT void mi_stats_print(void *ignored) {
    (void)ignored;
    mi_stats_print_out(NULL, NULL);
}

VT_EXPORT void mi_thread_stats_print_out(mi_output_fun *out, void *arg) {
    mi_stats_print_out(out, arg);
}

/* What one of the program's heaps holds. */
VT_EXPORT void mi_heap_stats_print_out(mi_heap_t *heap, mi_output_fun *out, void *arg) {
    struct vt_mi_printer p;
    struct vt_own_area a;
    size_t n_areas = 0, n_blocks = 0, n_bytes = 0;
    if (heap == NULL || heap == mi_heap_main()) {
        mi_stats_print_out(out, arg);
        return;
    }
    struct vt_own *o = (struct vt_own *)heap;
    for (; vt__own_area(o, n_areas, &a); n_areas++) {
        n_blocks += a.n_used;
        n_bytes += a.n_used * a.block_bytes;
    }
    struct vt_text *t = vt__mi_print_begin(&p, out, arg);
    vt__text_put(t, "heap ");
    vt__text_uint(t, vt__own_number(o));
    vt__text_put(t, "\n  pages: ");
    vt__text_uint(t, n_areas);
    vt__text_put(t, ", blocks: ");
    vt__text_uint(t, n_blocks);
    vt__text_put(t, ", in use: ");
    vt__text_bytes(t, n_bytes, 0);
    vt__text_put(t, "\n");
    vt__text_flush(t);
}

void vt__mi_put_process(struct vt_text *t, const struct vt_mi_process *p) {
    vt__text_put(t, "process: user: ");
    vt__mi_put_ms(t, p->user_ms);
    vt__text_put(t, " s, system: ");
    vt__mi_put_ms(t, p->system_ms);
    vt__text_put(t, " s, faults: ");
    vt__text_uint(t, p->faults);
}

void vt__mi_put_peaks(struct vt_text *t, const struct vt_mi_process *p) {
    vt__text_put(t, "  ");
    vt__mi_put_process(t, p);
    vt__text_put(t, ", peak rss: ");
    vt__text_bytes(t, p->peak_rss, 0);
    vt__text_put(t, ", peak commit: ");
    vt__text_bytes(t, p->peak_commit, 0);
    vt__text_put(t, "\n");
}

VT_EXPORT void mi_process_info_print_out(mi_output_fun *out, void *arg) {
    struct vt_mi_printer p;
    struct vt_mi_process now;
    struct vt_text *t = vt__mi_print_begin(&p, out, arg);
    vt__mi_process(&now);
    vt__mi_put_peaks(t, &now);
    vt__text_flush(t);
}

VT_EXPORT void mi_process_info_print(void) { mi_process_info_print_out(NULL, NULL); }

/* Peaks begin anew. */
VT_EXPORT void mi_stats_reset(void) {
    for (unsigned i = 0; i < VT_MI_N_FIGURES; i++)
        atomic_store_explicit(&seen.peak[i], 0, memory_order_relaxed);
}

VT_EXPORT void mi_stats_merge(void) {}

/* ---- as structure ---- */

void vt__mi_fill(void *stats, const struct vt_mi_field *fields, size_t n) {
    struct vt_mi_figures f;
    vt__mi_figures(&f);
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)stats + fields[i].offset;
        const struct vt_mi_count *c = &f.at[fields[i].figure];
        if (fields[i].is_counter)
            __builtin_memcpy(at, &c->total, sizeof(c->total));
        else
            __builtin_memcpy(at, c, sizeof(*c));
    }
}

/* ---- as JSON ---- */

static void put_key(struct vt_text *t, const char *indent, const char *name) {
    vt__text_put(t, indent);
    vt__text_char(t, '"');
    vt__text_put(t, name);
    vt__text_put(t, "\": ");
}

static void put_count(struct vt_text *t, const struct vt_mi_count *c) {
    vt__text_put(t, "{ \"total\": ");
    vt__text_int(t, c->total);
    vt__text_put(t, ", \"peak\": ");
    vt__text_int(t, c->peak);
    vt__text_put(t, ", \"current\": ");
    vt__text_int(t, c->current);
}

static void put_process_json(struct vt_text *t) {
    struct vt_mi_process p;
    vt__mi_process(&p);
    const struct {
        const char *name;
        size_t n;
    } rows[] = {{"elapsed_msecs", p.elapsed_ms}, {"user_msecs", p.user_ms},
                {"system_msecs", p.system_ms},   {"page_faults", p.faults},
                {"rss_current", p.rss},          {"rss_peak", p.peak_rss},
                {"commit_current", p.commit},    {"commit_peak", p.peak_commit}};
    vt__text_put(t, "  \"process\": {\n");
    for (unsigned i = 0; i < vt_countof(rows); i++) {
        put_key(t, "    ", rows[i].name);
        vt__text_uint(t, rows[i].n);
        vt__text_put(t, i + 1 < vt_countof(rows) ? ",\n" : "\n");
    }
    vt__text_put(t, "  },\n");
}

static void put_bins(struct vt_text *t, const char *name, const struct vt_mi_count *bins) {
    put_key(t, "  ", name);
    vt__text_put(t, "[\n");
    for (size_t i = 0; i < VT_MI_N_BINS; i++) {
        vt__text_put(t, "    ");
        put_count(t, &bins[i]);
        vt__text_put(t, ", \"block_size\": ");
        vt__text_uint(t, mi_stats_get_bin_size(i));
        vt__text_put(t, ", \"page_size\": ");
        vt__text_uint(t, i == 0 || i == VT_MI_N_BINS - 1 ? 0 : KiB(32));
        vt__text_put(t, i + 1 < VT_MI_N_BINS ? " },\n" : " }\n");
    }
    vt__text_put(t, "  ]");
}

static void put_chunk_bins(struct vt_text *t) {
    static const char *const names[] = {"S", "X", "M", "L", "H", " "};
    vt__text_put(t, ",\n  \"chunk_bins\": [\n");
    for (unsigned i = 0; i < vt_countof(names); i++) {
        vt__text_put(t, "    ");
        put_count(t, &(struct vt_mi_count){0, 0, 0});
        vt__text_put(t, ", \"bin\": \"");
        vt__text_put(t, names[i]);
        vt__text_put(t, i + 1 < vt_countof(names) ? "\" },\n" : "\" }\n");
    }
    vt__text_put(t, "  ]");
}

static void put_json(struct vt_text *t, const struct vt_mi_field *fields, size_t n,
                     size_t stat_version, bool has_chunk_bins) {
    struct vt_mi_figures f;
    vt__mi_figures(&f);
    vt__text_put(t, "{\n  \"stat_version\": ");
    vt__text_uint(t, stat_version);
    vt__text_put(t, ",\n  \"mimalloc_version\": ");
    vt__text_int(t, vt__mi_line.version);
    vt__text_put(t, ",\n");
    put_process_json(t);
    for (size_t i = 0; i < n; i++) {
        put_key(t, "  ", fields[i].name);
        if (fields[i].is_counter) {
            vt__text_int(t, f.at[fields[i].figure].total);
        } else {
            put_count(t, &f.at[fields[i].figure]);
            vt__text_put(t, " }");
        }
        vt__text_put(t, ",\n");
    }
    put_bins(t, "malloc_bins", f.malloc_bins);
    vt__text_put(t, ",\n");
    put_bins(t, "page_bins", f.page_bins);
    if (has_chunk_bins) put_chunk_bins(t);
    vt__text_put(t, "\n}\n");
}

char *vt__mi_json(const struct vt_mi_field *fields, size_t n, size_t stat_version,
                  bool has_chunk_bins, size_t buf_bytes, char *buf) {
    size_t cap = buf != NULL ? buf_bytes : KiB(64);
    char *to = buf != NULL ? buf : vt__malloc(cap);
    if (to == NULL || cap == 0) return NULL;
    struct vt_text t = {to, cap - 1, 0, false, NULL, NULL};
    put_json(&t, fields, n, stat_version, has_chunk_bins);
    if (t.is_cut) {
        if (buf == NULL) vt__free(to);
        return NULL;
    }
    to[t.len] = '\0';
    return to;
}
