/* mimalloc_stats.c - the heap's figures by mimalloc's names: as text, as structure, as JSON.
 *
 * malloc and free count nothing. What is in use is known; what was freed is estimated from the samples, and the sum of both is the
 * `total`; so is the `peak` of what was allocated. Other peaks are the most that anybody asked about. Figures that have no
 * counterpart are 0. docs/dialects.md has the list.
 *
 * Climate: host, no malloc but for a JSON text that the caller wants in memory of its own.
 */
#include "dialect/mimalloc_impl.h"
#include "dump/stats.h"
#include "heap/class.h"
#include "os/os.h"
#include "probe/probe.h"

static struct {
    _Atomic uint64_t start_ms;
    _Atomic int64_t peak[VT_MI_N_FIGURES];
    _Atomic int64_t before[VT_MI_N_FIGURES]; /* of the totals: what went before the last reset */
    _Atomic int64_t estimated_before;        /* estimated peaks up to here were before it, too */
} seen;

void vt__mi_note_start(void) {
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

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* `gone`: so much was there, and is no more; `most`: so much there was at some time. */
static void put_over_time(struct vt_mi_figures *f, enum vt_mi_figure i, uint64_t now, double gone,
                          double most) {
    int64_t n = (int64_t)now;
    int64_t peak = atomic_load_explicit(&seen.peak[i], memory_order_relaxed);
    int64_t before = atomic_load_explicit(&seen.before[i], memory_order_relaxed);
    int64_t more = larger(n, (int64_t)most);
    if (more > peak) { /* approximate: others may have seen more meanwhile */
        peak = more;
        atomic_store_explicit(&seen.peak[i], peak, memory_order_relaxed);
    }
    f->at[i] = (struct vt_mi_count){larger(n + (int64_t)gone - before, n), peak, n};
}

static void put(struct vt_mi_figures *f, enum vt_mi_figure i, uint64_t now) {
    put_over_time(f, i, now, 0, 0);
}

static void put_sum(struct vt_mi_figures *f, enum vt_mi_figure i, uint64_t sum) {
    put_over_time(f, i, 0, (double)sum, 0);
}

static void add_to_bin(struct vt_mi_count *bin, uint64_t n) {
    bin->total += (int64_t)n;
    bin->current += (int64_t)n;
    bin->peak = bin->current;
}

/* What the samples tell of blocks, by bin and in two groups: those of classes, and larger ones. */
enum { NORMAL, HUGE_BLOCKS, N_GROUPS };
struct estimate {
    double freed_bytes[N_GROUPS], n_freed[N_GROUPS], peak_bytes[N_GROUPS];
    double n_freed_of_bin[VT_MI_N_BINS];
};

static void estimate(struct estimate *e) {
    struct vt_site site;
    *e = (struct estimate){0};
    vt__sample_settle_peak();
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &site);) {
        bool is_huge = site.block_bytes > VT_MEDIUM_MAX;
        unsigned group = is_huge ? HUGE_BLOCKS : NORMAL;
        e->freed_bytes[group] += site.freed.bytes;
        e->n_freed[group] += site.freed.objects;
        e->peak_bytes[group] += site.peak.bytes;
        e->n_freed_of_bin[is_huge ? VT_MI_N_BINS - 1 : bin_of(site.block_bytes)] +=
            site.freed.objects;
    }
}

static void put_blocks(struct vt_mi_figures *f, const struct vt_stats *s, uint64_t n_blocks) {
    struct estimate e;
    estimate(&e);
    double freed = e.freed_bytes[NORMAL] + e.freed_bytes[HUGE_BLOCKS];
    double most = e.peak_bytes[NORMAL] + e.peak_bytes[HUGE_BLOCKS];
    /* estimates never sink: after a reset they tell nothing new until they have risen */
    if (most <= (double)atomic_load_explicit(&seen.estimated_before, memory_order_relaxed))
        most = e.peak_bytes[NORMAL] = e.peak_bytes[HUGE_BLOCKS] = 0;
    put_over_time(f, VT_MI_F_malloc_normal, s->allocated - vt_min(s->allocated, s->large),
                  e.freed_bytes[NORMAL], e.peak_bytes[NORMAL]);
    put_over_time(f, VT_MI_F_malloc_huge, s->large, e.freed_bytes[HUGE_BLOCKS],
                  e.peak_bytes[HUGE_BLOCKS]);
    put_over_time(f, VT_MI_F_malloc_requested, s->allocated, freed, most);
    put_over_time(f, VT_MI_F_malloc_normal_count, n_blocks, e.n_freed[NORMAL], 0);
    put_over_time(f, VT_MI_F_malloc_huge_count, s->n_large, e.n_freed[HUGE_BLOCKS], 0);
    for (unsigned i = 0; i < VT_MI_N_BINS; i++)
        f->malloc_bins[i].total += (int64_t)e.n_freed_of_bin[i];
}

static uint64_t n_heaps(void) {
    uint64_t n = 1; /* the main one */
    for (const struct vt_own *o = NULL; (o = vt__own_next(o)) != NULL;) n++;
    return n;
}

static uint64_t n_arenas(void) {
    struct vt_mi_arena a;
    uint64_t n = 1; /* what nobody asked for */
    for (intptr_t id = 0; vt__mi_next_arena(&id, &a);) n++;
    return n;
}

static void put_committed(struct vt_mi_figures *f, const struct vt_stats *s) {
    put_over_time(f, VT_MI_F_committed, s->active + s->retained, (double)s->purged, 0);
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
    put_committed(f, &s);
    put(f, VT_MI_F_page_committed, s.active);
    put_sum(f, VT_MI_F_purged, s.purged);
    put_sum(f, VT_MI_F_purge_calls, s.n_purges);
    put(f, VT_MI_F_threads, s.n_threads);
    put_sum(f, VT_MI_F_commit_calls, vt__growth_count());
    put_blocks(f, &s, n_blocks);
    put(f, VT_MI_F_arena_count, n_arenas());
    put(f, VT_MI_F_theaps, s.n_heaps);
    put(f, VT_MI_F_heaps, n_heaps());
}

void vt__mi_process(struct vt_mi_process *out) {
    struct vt_mi_figures f;
    struct vt_usage u;
    struct vt_stats s = {.size = sizeof(s)};
    if (vt__mi_started()) vt__heap_pages(&s); /* the first call of all may be this one */
    put_committed(&f, &s);
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

/* Totals and peaks begin anew, with what there is now; in v3 the call only merges threads' figures, and there is nothing to. */
VT_EXPORT void mi_stats_reset(void) {
    struct vt_mi_figures f;
    struct estimate e;
    if (vt__mi_line.line == VT_MI_V3 || !vt__mi_started()) return;
    vt__mi_figures(&f);
    estimate(&e);
    atomic_store_explicit(&seen.estimated_before,
                          (int64_t)(e.peak_bytes[NORMAL] + e.peak_bytes[HUGE_BLOCKS]) + 1,
                          memory_order_relaxed);
    for (unsigned i = 0; i < VT_MI_N_FIGURES; i++) {
        atomic_fetch_add_explicit(&seen.before[i], f.at[i].total - f.at[i].current,
                                  memory_order_relaxed);
        atomic_store_explicit(&seen.peak[i], f.at[i].current, memory_order_relaxed);
    }
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

static void put_json(struct vt_text *t, const struct vt_mi_figures *f,
                     const struct vt_mi_field *fields, size_t n, size_t stat_version) {
    vt__text_put(t, "{\n  \"stat_version\": ");
    vt__text_uint(t, stat_version);
    vt__text_put(t, ",\n  \"mimalloc_version\": ");
    vt__text_int(t, vt__mi_line.version);
    vt__text_put(t, ",\n");
    put_process_json(t);
    for (size_t i = 0; i < n; i++) {
        put_key(t, "  ", fields[i].name);
        if (fields[i].is_counter) {
            vt__text_int(t, f->at[fields[i].figure].total);
        } else {
            put_count(t, &f->at[fields[i].figure]);
            vt__text_put(t, " }");
        }
        vt__text_put(t, ",\n");
    }
    put_bins(t, "malloc_bins", f->malloc_bins);
    vt__text_put(t, ",\n");
    put_bins(t, "page_bins", f->page_bins);
    if (vt__mi_line.line == VT_MI_V3) put_chunk_bins(t);
    vt__text_put(t, "\n}\n");
}

char *vt__mi_json(const struct vt_mi_figures *f, const struct vt_mi_field *fields, size_t n,
                  size_t stat_version, size_t buf_bytes, char *buf) {
    size_t cap = buf != NULL ? buf_bytes : KiB(64);
    char *to = buf != NULL ? buf : vt__malloc(cap);
    if (to == NULL || cap == 0) return NULL;
    struct vt_text t = {to, cap - 1, 0, false, NULL, NULL};
    struct vt_mi_figures now;
    if (f == NULL) vt__mi_figures(&now);
    put_json(&t, f != NULL ? f : &now, fields, n, stat_version);
    if (t.is_cut) {
        if (buf == NULL) vt__free(to);
        return NULL;
    }
    to[t.len] = '\0';
    return to;
}
