/* jemalloc_print.c - malloc_stats_print: all that mallctl knows, as text in jemalloc's columns or as JSON with its keys.
 *
 * The letters of `opts`: J JSON; the others leave out: g general, m merged, d destroyed, a each arena, b bins, l large, x mutexes,
 * e extents, h huge pages.
 *
 * Climate: host. The callback is the program's and may do as it likes; it is called when the text is complete, or 256 KiB are full.
 * Owns: a buffer for the time of the call.
 */
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "heap/class.h"
#include "heap/upcalls.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

#define BUFFER_BYTES KiB(256)

struct print {
    struct vt_text text;
    bool is_json, needs_comma;
    uint32_t left_out; /* bit per letter */
    uint64_t uptime_s;
    void (*write)(void *opaque, const char *s); /* NULL: where messages go */
    void *opaque;
};

static bool has(const struct print *p, char letter) {
    return (p->left_out >> (letter - 'a') & 1) == 0;
}

static void flush(void *arg, const char *data, size_t n_bytes) {
    struct print *p = arg;
    ((char *)data)[n_bytes] = '\0'; /* the buffer has room for it */
    if (p->write != NULL)
        p->write(p->opaque, data);
    else
        vt__je_write(data);
}

/* ---- JSON ---- */

static void key(struct print *p, const char *name) {
    if (p->needs_comma) vt__text_char(&p->text, ',');
    p->needs_comma = true;
    if (name == NULL) return;
    vt__text_char(&p->text, '"');
    vt__text_put(&p->text, name);
    vt__text_put(&p->text, "\":");
}

static void open(struct print *p, const char *name, char bracket) {
    key(p, name);
    vt__text_char(&p->text, bracket);
    p->needs_comma = false;
}

static void shut(struct print *p, char bracket) {
    vt__text_char(&p->text, bracket);
    p->needs_comma = true;
}

static void number(struct print *p, const char *name, uint64_t n) {
    key(p, name);
    vt__text_uint(&p->text, n);
}

static void put_quoted(struct print *p, const char *s) {
    vt__text_char(&p->text, '"');
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\') vt__text_char(&p->text, '\\');
        vt__text_char(&p->text, (unsigned char)*s < ' ' ? ' ' : *s);
    }
    vt__text_char(&p->text, '"');
}

/* ---- text ---- */

static void say(struct print *p, const char *s) { vt__text_put(&p->text, s); }

static void say_number(struct print *p, const char *before, uint64_t n, const char *after) {
    say(p, before);
    vt__text_uint(&p->text, n);
    say(p, after);
}

/* A table's columns: a head, and how wide it is. */
struct column {
    const char *head;
    unsigned width;
};

static void put_right(struct print *p, const char *s, unsigned width) {
    size_t len = vt__str_len(s);
    if (len < width) vt__text_pad(&p->text, ' ', width - (unsigned)len);
    say(p, s);
}

static void put_left(struct print *p, const char *s, unsigned width) {
    size_t len = vt__str_len(s);
    say(p, s);
    if (len < width) vt__text_pad(&p->text, ' ', width - (unsigned)len);
}

/* The first column has the table's title at its left. */
static void put_heads(struct print *p, const char *title, const struct column *columns, size_t n) {
    unsigned width = columns[0].width - (unsigned)vt__str_len(title);
    say(p, title);
    put_right(p, columns[0].head, width);
    for (size_t i = 1; i < n; i++) put_right(p, columns[i].head, columns[i].width);
}

static void put_cell(struct print *p, uint64_t n, unsigned width) {
    vt__text_uint_wide(&p->text, n, width);
}

static void put_rate(struct print *p, uint64_t n, unsigned width) {
    put_cell(p, p->uptime_s != 0 ? n / p->uptime_s : 0, width);
}

#define NAME_COLUMNS 21

/* ---- values of rows that are the same in both forms ---- */

static void put_truth(struct print *p, bool is_so) { say(p, is_so ? "true" : "false"); }

static void value(struct print *p, const struct vt_je_option_row *row,
                  const struct vt_je_value *v) {
    if (row->kind == VT_JE_BOOL)
        put_truth(p, v->n != 0);
    else if (row->kind >= VT_JE_CHOICE)
        put_quoted(p, v->text);
    else
        vt__text_int(&p->text, v->n);
}

static uint64_t read_of(size_t arena, vt_je_reader *read, int what) {
    struct vt_je_call c = {.what = what, .index = {arena}};
    uint64_t n = 0;
    (void)read(&c, &n);
    return n;
}

static uint64_t read_node(vt_je_reader *read, int what) { return read_of(0, read, what); }

/* The beginning of such a row: `  GROUP.NAME: `, or a key. */
static void put_row_name(struct print *p, const char *group, const char *name) {
    if (p->is_json) {
        key(p, name);
        return;
    }
    say(p, "  ");
    say(p, group);
    say(p, ".");
    say(p, name);
    say(p, ": ");
}

/* A group of such rows, `title` as text. */
static void begin_rows(struct print *p, const char *group, const char *title) {
    if (p->is_json)
        open(p, group, '{');
    else
        say(p, title);
}
static void end_row(struct print *p) {
    if (!p->is_json) say(p, "\n");
}
static void end_rows(struct print *p) {
    if (p->is_json) shut(p, '}');
}

/* ---- general ---- */

static const struct {
    const char *name;
    enum { FALSE, TRUE, EMPTY } value;
} config[] = {{"cache_oblivious", FALSE},
              {"debug", FALSE},
              {"fill", TRUE},
              {"lazy_lock", FALSE},
              {"malloc_conf", EMPTY},
              {"opt_safety_checks", TRUE},
              {"prof", TRUE},
              {"prof_libgcc", FALSE},
              {"prof_libunwind", FALSE},
              {"prof_frameptr", FALSE},
              {"stats", TRUE},
              {"utrace", FALSE},
              {"xmalloc", TRUE}};

static void put_config(struct print *p) {
    static const char *const words[] = {"false", "true", "\"\""};
    begin_rows(p, "config", "Build-time option settings\n");
    for (size_t i = 0; i < vt_countof(config); i++) {
        put_row_name(p, "config", config[i].name);
        say(p, words[config[i].value]);
        end_row(p);
    }
    end_rows(p);
}

/* Options whose present value may be another. */
static const struct {
    enum vt_je_option option;
    const char *name;
    vt_je_reader *read;
    bool is_bool;
    int what;
} live[] = {
    {VT_JE_OPT_background_thread, "background_thread", vt__je_read_background_thread, true, 0},
    {VT_JE_OPT_max_background_threads, "max_background_threads", vt__je_read_max_background_threads,
     false, 0},
    {VT_JE_OPT_dirty_decay_ms, "arenas.dirty_decay_ms", vt__je_read_decay_ms, false, 0},
    {VT_JE_OPT_muzzy_decay_ms, "arenas.muzzy_decay_ms", vt__je_read_decay_ms, false, 1},
    {VT_JE_OPT_prof_active, "prof.active", vt__je_read_prof_active, true, 0},
    {VT_JE_OPT_prof_thread_active_init, "prof.thread_active_init",
     vt__je_read_prof_thread_active_init, true, 0},
    {VT_JE_OPT_lg_prof_sample, "prof.lg_sample", vt__je_read_prof_lg_sample, false, 0},
};

static void put_live(struct print *p, int option) {
    for (size_t i = 0; i < vt_countof(live); i++) {
        if ((int)live[i].option != option) continue;
        uint64_t n = read_node(live[i].read, live[i].what);
        say(p, " (");
        say(p, live[i].name);
        say(p, ": ");
        if (live[i].is_bool)
            put_truth(p, n != 0);
        else
            vt__text_int(&p->text, (int64_t)n);
        say(p, ")");
    }
}

static void put_options(struct print *p) {
    begin_rows(p, "opt", "Run-time option settings\n");
    for (int i = 0; i < VT_JE_OPT_COUNT; i++) {
        const struct vt_je_option_row *row = &vt__je_option_rows[i];
        if (!row->has_node) continue;
        put_row_name(p, "opt", row->key);
        value(p, row, &vt__je_values[i]);
        if (!p->is_json) put_live(p, i);
        end_row(p);
    }
    end_rows(p);
}

static void put_prof(struct print *p) {
    static const struct {
        const char *name;
        vt_je_reader *read;
        bool is_bool;
    } rows[] = {{"thread_active_init", vt__je_read_prof_thread_active_init, true},
                {"active", vt__je_read_prof_active, true},
                {"gdump", vt__je_read_prof_gdump, true},
                {"interval", vt__je_read_prof_interval, false},
                {"lg_sample", vt__je_read_prof_lg_sample, false}};
    begin_rows(p, "prof", "Profiling settings\n");
    for (size_t i = 0; i < vt_countof(rows); i++) {
        uint64_t n = read_node(rows[i].read, 0);
        put_row_name(p, "prof", rows[i].name);
        if (rows[i].is_bool)
            put_truth(p, n != 0);
        else
            vt__text_uint(&p->text, n);
        end_row(p);
    }
    end_rows(p);
}

static void put_sizes(struct print *p) {
    open(p, "bin", '[');
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct vt_je_call call = {.what = VT_JE_BIN_SLAB, .index = {c}};
        uint64_t slab = 0;
        (void)vt__je_read_bin_shape(&call, &slab);
        open(p, NULL, '{');
        number(p, "size", vt__class_bytes(c));
        number(p, "nregs", vt__classes[c].capacity);
        number(p, "slab_size", slab);
        number(p, "nshards", 1);
        shut(p, '}');
    }
    shut(p, ']');
    number(p, "nlextents", VT_JE_LARGE);
    open(p, "lextent", '[');
    for (unsigned i = 0; i < VT_JE_LARGE; i++) {
        struct vt_je_call call = {.index = {i}};
        uint64_t bytes = 0;
        (void)vt__je_read_large_bytes(&call, &bytes);
        open(p, NULL, '{');
        number(p, "size", bytes);
        shut(p, '}');
    }
    shut(p, ']');
}

static void put_arenas(struct print *p) {
    if (p->is_json) {
        open(p, "arenas", '{');
        number(p, "narenas", vt__je_narenas());
        key(p, "dirty_decay_ms");
        vt__text_int(&p->text, (int64_t)read_node(vt__je_read_decay_ms, 0));
        key(p, "muzzy_decay_ms");
        vt__text_int(&p->text, (int64_t)read_node(vt__je_read_decay_ms, 1));
        number(p, "quantum", VT_BLOCK_ALIGN);
        number(p, "page", VT_OS_PAGE);
        number(p, "hugepage", MiB(2));
        number(p, "tcache_max", VT_MEDIUM_MAX);
        number(p, "nbins", VT_N_CLASSES);
        number(p, "nhbins", VT_N_CLASSES);
        put_sizes(p);
        shut(p, '}');
        return;
    }
    say_number(p, "Arenas: ", vt__je_narenas(), "\n");
    say_number(p, "Quantum size: ", VT_BLOCK_ALIGN, "\n");
    say_number(p, "Page size: ", VT_OS_PAGE, "\n");
    say_number(p, "Hugepage size: ", MiB(2), "\n");
    say_number(p, "Maximum thread-cached size class: ", VT_MEDIUM_MAX, "\n");
    say_number(p, "Number of bin size classes: ", VT_N_CLASSES, "\n");
    say_number(p, "Number of thread-cache bin size classes: ", VT_N_CLASSES, "\n");
    say_number(p, "Number of large size classes: ", VT_JE_LARGE, "\n");
}

static void put_general(struct print *p) {
    if (p->is_json) {
        key(p, "version");
        put_quoted(p, JEMALLOC_VERSION);
    } else {
        say(p, "Version: \"" JEMALLOC_VERSION "\"\n");
    }
    put_config(p);
    const char *thp = vt__os_hugepages_are_always() ? "always" : "madvise";
    if (p->is_json) {
        open(p, "system", '{');
        key(p, "thp_mode");
        put_quoted(p, thp);
        shut(p, '}');
    } else {
        say(p, "System configuration\n  system.thp_mode: ");
        put_quoted(p, thp);
        say(p, "\n");
    }
    put_options(p);
    put_prof(p);
    put_arenas(p);
}

/* ---- mutexes: we do not count what ours do ---- */

static const char *const global_mutexes[] = {
    "background_thread", "max_per_bg_thd",   "ctl",       "prof", "prof_thds_data", "prof_dump",
    "prof_recent_alloc", "prof_recent_dump", "prof_stats"};
static const char *const arena_mutexes[] = {
    "large",          "extent_avail", "extents_dirty", "extents_muzzy", "extents_retained",
    "decay_dirty",    "decay_muzzy",  "base",          "tcache_list",   "hpa_shard",
    "hpa_shard_grow", "hpa_sec"};
static const struct column mutex_columns[] = {
    {"n_lock_ops", 16},    {"(#/sec)", 8},  {"n_waiting", 16},      {"(#/sec)", 8},
    {"n_spin_acq", 16},    {"(#/sec)", 8},  {"n_owner_switch", 16}, {"(#/sec)", 8},
    {"total_wait_ns", 16}, {"(#/sec)", 10}, {"max_wait_ns", 16},    {"max_n_thds", 12}};

static void put_mutex_json(struct print *p, const char *name) {
    static const char *const keys[] = {"num_ops",          "num_wait",        "num_spin_acq",
                                       "num_owner_switch", "total_wait_time", "max_wait_time",
                                       "max_num_thds"};
    open(p, name, '{');
    for (size_t i = 0; i < vt_countof(keys); i++) number(p, keys[i], 0);
    shut(p, '}');
}

static void put_mutexes(struct print *p, const char *const *names, size_t n) {
    if (!has(p, 'x')) return;
    if (p->is_json) {
        open(p, "mutexes", '{');
        for (size_t i = 0; i < n; i++) put_mutex_json(p, names[i]);
        shut(p, '}');
        return;
    }
    vt__text_pad(&p->text, ' ', NAME_COLUMNS);
    put_heads(p, "", mutex_columns, vt_countof(mutex_columns));
    say(p, "\n");
    for (size_t i = 0; i < n; i++) {
        put_left(p, names[i], NAME_COLUMNS);
        for (size_t k = 0; k < vt_countof(mutex_columns); k++)
            put_cell(p, 0, mutex_columns[k].width);
        say(p, "\n");
    }
}

/* ---- stats ---- */

static void put_stats(struct print *p, const struct vt_je_snapshot *s) {
    uint64_t n_threads = read_node(vt__je_read_background_thread, 0);
    if (p->is_json) {
        open(p, "stats", '{');
        number(p, "allocated", s->stat[VT_JE_ALLOCATED]);
        number(p, "active", s->stat[VT_JE_ACTIVE]);
        number(p, "metadata", s->stat[VT_JE_METADATA]);
        number(p, "metadata_edata", 0);
        number(p, "metadata_rtree", 0);
        number(p, "metadata_thp", 0);
        number(p, "resident", s->stat[VT_JE_RESIDENT]);
        number(p, "mapped", s->stat[VT_JE_MAPPED]);
        number(p, "retained", s->stat[VT_JE_RETAINED]);
        number(p, "zero_reallocs", vt__je_zero_reallocs());
        open(p, "background_thread", '{');
        number(p, "num_threads", n_threads);
        number(p, "num_runs", 0);
        number(p, "run_interval", 0);
        shut(p, '}');
        put_mutexes(p, global_mutexes, vt_countof(global_mutexes));
        shut(p, '}');
        return;
    }
    say_number(p, "Allocated: ", s->stat[VT_JE_ALLOCATED], "");
    say_number(p, ", active: ", s->stat[VT_JE_ACTIVE], "");
    say_number(p, ", metadata: ", s->stat[VT_JE_METADATA], " (n_thp 0, edata 0, rtree 0)");
    say_number(p, ", resident: ", s->stat[VT_JE_RESIDENT], "");
    say_number(p, ", mapped: ", s->stat[VT_JE_MAPPED], "");
    say_number(p, ", retained: ", s->stat[VT_JE_RETAINED], "\n");
    say_number(p, "Count of realloc(non-null-ptr, 0) calls: ", vt__je_zero_reallocs(), "\n");
    say_number(p, "Background threads: ", n_threads, ", num_runs: 0, run_interval: 0 ns\n");
    put_mutexes(p, global_mutexes, vt_countof(global_mutexes));
}

/* ---- one arena ---- */

static void put_sum_json(struct print *p, const char *name, const uint64_t *stat) {
    open(p, name, '{');
    number(p, "allocated", stat[0]);
    number(p, "nmalloc", stat[1]);
    number(p, "ndalloc", stat[2]);
    number(p, "nrequests", stat[1]);
    number(p, "nfills", 0);
    number(p, "nflushes", 0);
    shut(p, '}');
}

static void put_sum(struct print *p, const char *name, const uint64_t *stat) {
    put_left(p, name, NAME_COLUMNS);
    put_cell(p, stat[0], 16);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t n =
            i < 3 ? stat[i == 1 ? 2 : 1] : 0; /* nmalloc, ndalloc, nrequests, nfill, nflush */
        put_cell(p, n, 16);
        put_rate(p, n, 10);
    }
    say(p, "\n");
}

static void put_sums(struct print *p, const uint64_t *small, const uint64_t *large) {
    uint64_t total[3] = {small[0] + large[0], small[1] + large[1], small[2] + large[2]};
    static const struct column columns[] = {{"allocated", 16}, {"nmalloc", 16}, {"(#/sec)", 10},
                                            {"ndalloc", 16},   {"(#/sec)", 10}, {"nrequests", 16},
                                            {"(#/sec)", 10},   {"nfill", 16},   {"(#/sec)", 10},
                                            {"nflush", 16},    {"(#/sec)", 10}};
    vt__text_pad(&p->text, ' ', NAME_COLUMNS);
    put_heads(p, "", columns, vt_countof(columns));
    say(p, "\n");
    put_sum(p, "small:", small);
    put_sum(p, "large:", large);
    put_sum(p, "total:", total);
    vt__text_pad(&p->text, ' ', NAME_COLUMNS + 16);
    say(p, "\n");
}

static void put_arena_figures(struct print *p, const uint64_t *n) {
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"mapped", n[VT_JE_MAPPED]}, {"retained", n[VT_JE_RETAINED]},
                {"base", n[VT_JE_METADATA]}, {"internal", 0},
                {"metadata_edata", 0},       {"metadata_rtree", 0},
                {"metadata_thp", 0},         {"tcache_bytes", n[VT_JE_CACHED]},
                {"tcache_stashed_bytes", 0}, {"resident", n[VT_JE_RESIDENT]},
                {"abandoned_vm", 0},         {"extent_avail", 0}};
    if (!p->is_json) {
        put_left(p, "active:", NAME_COLUMNS);
        put_cell(p, n[VT_JE_ACTIVE], 16);
        say(p, "\n");
    }
    for (size_t i = 0; i < vt_countof(rows); i++) {
        if (p->is_json) {
            number(p, rows[i].name, rows[i].value);
            continue;
        }
        say(p, rows[i].name);
        size_t len = vt__str_len(rows[i].name);
        put_left(p, ":", len < NAME_COLUMNS ? NAME_COLUMNS - (unsigned)len : 1);
        put_cell(p, rows[i].value, 16);
        say(p, "\n");
    }
}

static void put_decays(struct print *p, size_t arena, const uint64_t *n) {
    bool is_merged = arena == VT_JE_ALL_ARENAS;
    int64_t dirty_ms = (int64_t)read_of(arena, vt__je_read_decay_ms, 0);
    int64_t muzzy_ms = (int64_t)read_of(arena, vt__je_read_decay_ms, 1);
    if (p->is_json) {
        key(p, "dirty_decay_ms");
        vt__text_int(&p->text, dirty_ms);
        key(p, "muzzy_decay_ms");
        vt__text_int(&p->text, muzzy_ms);
        number(p, "pactive", n[VT_JE_ACTIVE_PAGES]);
        number(p, "pdirty", n[VT_JE_DIRTY_PAGES]);
        number(p, "pmuzzy", 0);
        number(p, "dirty_npurge", n[VT_JE_PURGES]);
        number(p, "dirty_nmadvise", n[VT_JE_PURGES]);
        number(p, "dirty_purged", n[VT_JE_PURGED_PAGES]);
        number(p, "muzzy_npurge", 0);
        number(p, "muzzy_nmadvise", 0);
        number(p, "muzzy_purged", 0);
        return;
    }
    say(p, "decaying:  time       npages       sweeps     madvises       purged\n");
    for (unsigned i = 0; i < 2; i++) {
        int64_t ms = i == 0 ? dirty_ms : muzzy_ms;
        say(p, i == 0 ? "   dirty:" : "   muzzy:");
        if (ms < 0 || is_merged) /* each arena has its own */
            put_right(p, "N/A", 6);
        else
            put_cell(p, (uint64_t)ms, 6);
        put_cell(p, i == 0 ? n[VT_JE_DIRTY_PAGES] : 0, 13);
        put_cell(p, i == 0 ? n[VT_JE_PURGES] : 0, 13);
        put_cell(p, i == 0 ? n[VT_JE_PURGES] : 0, 13);
        put_cell(p, i == 0 ? n[VT_JE_PURGED_PAGES] : 0, 13);
        say(p, "\n");
    }
}

/* ---- tables by size ---- */

static const char gap[] = "                     ---\n";

static const struct column bin_columns[] = {
    {"size", 20},    {"ind", 4},       {"allocated", 14},     {"nmalloc", 14},  {"(#/sec)", 8},
    {"ndalloc", 14}, {"(#/sec)", 8},   {"nrequests", 15},     {"(#/sec)", 10},  {"nshards", 9},
    {"curregs", 13}, {"curslabs", 13}, {"nonfull_slabs", 15}, {"regs", 5},      {"pgs", 4},
    {"util", 7},     {"nfills", 13},   {"(#/sec)", 8},        {"nflushes", 13}, {"(#/sec)", 8},
    {"nslabs", 13},  {"nreslabs", 13}, {"(#/sec)", 8}};

/* 0.875; 1 when all are in use. */
static void put_share(struct print *p, uint64_t part, uint64_t whole, unsigned width) {
    char text[8];
    uint64_t thousandths = whole != 0 ? part * 1000 / whole : 1000;
    struct vt_text t = VT_TEXT(text);
    if (thousandths >= 1000) {
        vt__text_put(&t, "1");
    } else {
        vt__text_put(&t, thousandths >= 100 ? "0." : thousandths >= 10 ? "0.0" : "0.00");
        vt__text_uint(&t, thousandths);
    }
    vt__text_char(&t, '\0');
    put_right(p, text, width);
}

static void put_bin(struct print *p, unsigned c, const uint64_t *bin) {
    const struct column *w = bin_columns;
    uint64_t slices = vt__classes[c].n_slices;
    struct vt_je_call call = {.what = VT_JE_BIN_SLAB, .index = {c}};
    (void)vt__je_read_bin_shape(&call, &slices);
    put_cell(p, vt__class_bytes(c), w[0].width);
    put_cell(p, c, w[1].width);
    put_cell(p, bin[VT_JE_BIN_CURREGS] * vt__class_bytes(c), w[2].width);
    put_cell(p, bin[VT_JE_BIN_NMALLOC], w[3].width);
    put_rate(p, bin[VT_JE_BIN_NMALLOC], w[4].width);
    put_cell(p, bin[VT_JE_BIN_NDALLOC], w[5].width);
    put_rate(p, bin[VT_JE_BIN_NDALLOC], w[6].width);
    put_cell(p, bin[VT_JE_BIN_NMALLOC], w[7].width);
    put_rate(p, bin[VT_JE_BIN_NMALLOC], w[8].width);
    put_cell(p, 1, w[9].width);
    put_cell(p, bin[VT_JE_BIN_CURREGS], w[10].width);
    put_cell(p, bin[VT_JE_BIN_CURSLABS], w[11].width);
    put_cell(p, bin[VT_JE_BIN_NONFULL], w[12].width);
    put_cell(p, vt__classes[c].capacity, w[13].width);
    put_cell(p, slices / VT_OS_PAGE, w[14].width);
    put_share(p, bin[VT_JE_BIN_CURREGS], bin[VT_JE_BIN_CURSLABS] * vt__classes[c].capacity,
              w[15].width);
    for (unsigned i = 16; i < vt_countof(bin_columns); i++)
        put_cell(p, i == 20 ? bin[VT_JE_BIN_CURSLABS] : 0, w[i].width);
    if (has(p, 'x'))
        for (size_t k = 0; k < vt_countof(mutex_columns); k++)
            put_cell(p, 0, mutex_columns[k].width);
    say(p, "\n");
}

static void put_bin_json(struct print *p, const uint64_t *bin) {
    open(p, NULL, '{');
    number(p, "nmalloc", bin[VT_JE_BIN_NMALLOC]);
    number(p, "ndalloc", bin[VT_JE_BIN_NDALLOC]);
    number(p, "curregs", bin[VT_JE_BIN_CURREGS]);
    number(p, "nrequests", bin[VT_JE_BIN_NMALLOC]);
    number(p, "nfills", 0);
    number(p, "nflushes", 0);
    number(p, "nreslabs", 0);
    number(p, "curslabs", bin[VT_JE_BIN_CURSLABS]);
    number(p, "nonfull_slabs", bin[VT_JE_BIN_NONFULL]);
    if (has(p, 'x')) put_mutex_json(p, "mutex");
    shut(p, '}');
}

static void put_bins(struct print *p, const struct vt_je_snapshot *s) {
    bool in_gap = false;
    if (p->is_json) {
        open(p, "bins", '[');
    } else {
        put_heads(p, "bins:", bin_columns, vt_countof(bin_columns));
        if (has(p, 'x')) put_heads(p, "", mutex_columns, vt_countof(mutex_columns));
        say(p, "\n");
    }
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const uint64_t *bin = s->bin[c];
        if (p->is_json) {
            put_bin_json(p, bin);
            continue;
        }
        bool is_empty = bin[VT_JE_BIN_CURSLABS] == 0 && bin[VT_JE_BIN_NMALLOC] == 0;
        if (is_empty && !in_gap) say(p, gap);
        in_gap = is_empty;
        if (!is_empty) put_bin(p, c, bin);
    }
    if (p->is_json) shut(p, ']');
}

static void put_large(struct print *p, const struct vt_je_snapshot *s) {
    static const struct column columns[] = {
        {"size", 20},    {"ind", 4},     {"allocated", 13}, {"nmalloc", 13}, {"(#/sec)", 8},
        {"ndalloc", 13}, {"(#/sec)", 8}, {"nrequests", 13}, {"(#/sec)", 8},  {"curlextents", 13}};
    bool in_gap = false;
    if (p->is_json) {
        open(p, "lextents", '[');
    } else {
        put_heads(p, "large:", columns, vt_countof(columns));
        say(p, "\n");
    }
    for (unsigned i = 0; i < VT_JE_LARGE; i++) {
        const uint64_t *bin = s->large[i];
        if (p->is_json) {
            open(p, NULL, '{');
            number(p, "curlextents", bin[VT_JE_BIN_CURREGS]);
            shut(p, '}');
            continue;
        }
        bool is_empty = bin[VT_JE_BIN_NMALLOC] == 0;
        if (is_empty && !in_gap) say(p, gap);
        in_gap = is_empty;
        if (is_empty) continue;
        struct vt_je_call call = {.index = {i}};
        uint64_t bytes = 0;
        (void)vt__je_read_large_bytes(&call, &bytes);
        put_cell(p, bytes, 20);
        put_cell(p, VT_N_CLASSES + i, 4);
        put_cell(p, bin[VT_JE_BIN_CURREGS] * bytes, 13);
        for (unsigned k = 0; k < 3; k++) {
            uint64_t n = bin[k == 1 ? VT_JE_BIN_NDALLOC : VT_JE_BIN_NMALLOC];
            put_cell(p, n, 13);
            put_rate(p, n, 8);
        }
        put_cell(p, bin[VT_JE_BIN_CURREGS], 13);
        say(p, "\n");
    }
    if (p->is_json) shut(p, ']');
}

/* Free memory is not kept by size here. */
static void put_extents(struct print *p) {
    static const struct column columns[] = {
        {"size", 20},  {"ind", 4},        {"ndirty", 13},   {"dirty", 13},  {"nmuzzy", 13},
        {"muzzy", 13}, {"nretained", 13}, {"retained", 13}, {"ntotal", 13}, {"total", 13}};
    static const char *const keys[] = {"ndirty",      "nmuzzy",      "nretained",
                                       "dirty_bytes", "muzzy_bytes", "retained_bytes"};
    if (!p->is_json) {
        put_heads(p, "extents:", columns, vt_countof(columns));
        say(p, "\n");
        say(p, gap);
        return;
    }
    open(p, "extents", '[');
    for (unsigned i = 0; i < VT_JE_PAGE_CLASSES; i++) {
        open(p, NULL, '{');
        for (size_t k = 0; k < vt_countof(keys); k++) number(p, keys[k], 0);
        shut(p, '}');
    }
    shut(p, ']');
}

static void put_pageslabs_json(struct print *p, const char *name) {
    static const char *const keys[] = {"npageslabs_huge",    "nactive_huge",    "ndirty_huge",
                                       "npageslabs_nonhuge", "nactive_nonhuge", "ndirty_nonhuge"};
    open(p, name, '{');
    for (size_t i = 0; i < vt_countof(keys); i++) number(p, keys[i], 0);
    shut(p, '}');
}

static const struct column slab_columns[] = {{"size", 20},
                                             {"ind", 4},
                                             {"npageslabs_huge", 16},
                                             {"nactive_huge", 16},
                                             {"ndirty_huge", 16},
                                             {"npageslabs_nonhuge", 20},
                                             {"nactive_nonhuge", 20},
                                             {"ndirty_nonhuge", 20},
                                             {"nretained_nonhuge", 20}};

static void put_no_slabs(struct print *p, const char *which) {
    say(p, "  In ");
    say(p, which);
    say(p, " slabs:\n"
           "      npageslabs: 0 huge, 0 nonhuge\n"
           "      nactive: 0 huge, 0 nonhuge \n"
           "      ndirty: 0 huge, 0 nonhuge \n"
           "      nretained: 0 huge, 0 nonhuge \n");
}

static void put_hpa(struct print *p) {
    static const char *const counts[] = {"npurge_passes", "npurges", "nhugifies", "ndehugifies"};
    if (!p->is_json) {
        say(p, "Bytes in small extent cache: 0\n"
               "HPA shard stats:\n"
               "  Purge passes: 0 (0 / sec)\n"
               "  Purges: 0 (0 / sec)\n"
               "  Hugeifies: 0 (0 / sec)\n"
               "  Dehugifies: 0 (0 / sec)\n"
               "\n");
        put_no_slabs(p, "full");
        put_no_slabs(p, "empty");
        say(p, "\n");
        put_heads(p, "", slab_columns, vt_countof(slab_columns));
        say(p, "\n");
        say(p, gap);
        return;
    }
    number(p, "sec_bytes", 0);
    open(p, "hpa_shard", '{');
    for (size_t i = 0; i < vt_countof(counts); i++) number(p, counts[i], 0);
    put_pageslabs_json(p, "full_slabs");
    put_pageslabs_json(p, "empty_slabs");
    open(p, "nonfull_slabs", '[');
    shut(p, ']');
    shut(p, '}');
}

static void put_arena(struct print *p, const char *name, size_t arena) {
    const struct vt_je_snapshot *s = vt__je_figures(arena);
    const uint64_t *n = s->stat;
    uint64_t uptime_ns = read_of(arena, vt__je_read_uptime, 0);
    const char *dss = (const char *)(uintptr_t)read_of(arena, vt__je_read_dss, 0);
    if (p->is_json) {
        open(p, name, '{');
        number(p, "nthreads", n[VT_JE_THREADS]);
        number(p, "uptime_ns", uptime_ns);
        key(p, "dss");
        put_quoted(p, dss);
    } else {
        say_number(p, "assigned threads: ", n[VT_JE_THREADS], "\n");
        say_number(p, "uptime: ", uptime_ns, "\n");
        say(p, "dss allocation precedence: ");
        put_quoted(p, dss);
        say(p, "\n");
    }
    put_decays(p, arena, n);
    if (p->is_json) {
        put_sum_json(p, "small", &n[VT_JE_SMALL]);
        put_sum_json(p, "large", &n[VT_JE_LARGE_BYTES]);
    } else {
        put_sums(p, &n[VT_JE_SMALL], &n[VT_JE_LARGE_BYTES]);
    }
    put_arena_figures(p, n);
    put_mutexes(p, arena_mutexes, vt_countof(arena_mutexes));
    if (has(p, 'b')) put_bins(p, s);
    if (has(p, 'l')) put_large(p, s);
    if (has(p, 'e')) put_extents(p);
    if (has(p, 'h')) put_hpa(p);
    if (p->is_json) shut(p, '}');
}

static void put_each_arena(struct print *p) {
    char name[24];
    bool is_merged = has(p, 'm') && (vt__je_narenas() > 1 || !has(p, 'a'));
    if (is_merged) {
        if (!p->is_json) say(p, "Merged arenas stats:\n");
        put_arena(p, "merged", VT_JE_ALL_ARENAS);
    }
    if (has(p, 'd') && vt__je_arena_is_there(VT_JE_DESTROYED_ARENAS)) {
        if (!p->is_json) say(p, "Destroyed arenas stats:\n");
        put_arena(p, "destroyed", VT_JE_DESTROYED_ARENAS);
    }
    for (unsigned i = 0; has(p, 'a') && i < vt__je_narenas(); i++) {
        if (!vt__je_arena_is_there(i)) continue;
        struct vt_text t = VT_TEXT(name);
        vt__text_uint(&t, i);
        vt__text_char(&t, '\0');
        if (!p->is_json) say_number(p, "arenas[", i, "]:\n");
        put_arena(p, name, i);
    }
}

static void read_letters(struct print *p, const char *opts) {
    for (; opts != NULL && *opts != '\0'; opts++) {
        if (*opts == 'J') p->is_json = true;
        if (*opts >= 'a' && *opts <= 'z') p->left_out |= UINT32_C(1) << (*opts - 'a');
    }
}

static void print_all(struct print *p) {
    const struct vt_je_snapshot *s = &vt__je_snapshot;
    if (p->is_json)
        open(p, NULL, '{'), open(p, "jemalloc", '{');
    else
        say(p, "___ Begin jemalloc statistics ___\n");
    if (has(p, 'g')) put_general(p);
    put_stats(p, s);
    if (p->is_json && (has(p, 'm') || has(p, 'd') || has(p, 'a'))) open(p, "stats.arenas", '{');
    put_each_arena(p);
    if (p->is_json && (has(p, 'm') || has(p, 'd') || has(p, 'a'))) shut(p, '}');
    if (p->is_json)
        shut(p, '}'), shut(p, '}');
    else
        say(p, "--- End jemalloc statistics ---\n");
}

VT_EXPORT void malloc_stats_print(void (*write_cb)(void *opaque, const char *s), void *cbopaque,
                                  const char *opts) {
    void *buffer = NULL;
    if (vt__life_start() != 0 || vt__os_map(BUFFER_BYTES, &buffer) != 0) return;
    struct print p = {.write = write_cb, .opaque = cbopaque};
    p.text = (struct vt_text){buffer, BUFFER_BYTES - 1, 0, false, flush, &p};
    p.uptime_s = read_node(vt__je_read_uptime, 0) / 1000000000;
    read_letters(&p, opts);
    vt__je_refresh();
    print_all(&p);
    vt__text_flush(&p.text);
    vt__os_unmap(buffer, BUFFER_BYTES);
}
