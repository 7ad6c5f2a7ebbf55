/* jemalloc_print.c - malloc_stats_print: all that mallctl knows, as text in jemalloc's columns or as JSON with its keys.
 *
 * The letters of `opts`: J JSON; the others leave out: g general, m merged, d destroyed, a each arena, b bins, l large, x mutexes,
 * e extents, h huge pages.
 *
 * jemalloc_print_arena.c has what is told of each arena, jemalloc_print_write.c how it is written.
 *
 * Climate: host. The callback is the program's and may do as it likes; it is called when the text is complete, or 256 KiB are full.
 * Owns: a buffer for the time of the call.
 */
#include "dialect/jemalloc_print.h"

#include "conf/options.h"
#include "heap/class.h"
#include "heap/upcalls.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

#define BUFFER_BYTES KiB(256)

static void flush(void *arg, const char *data, size_t n_bytes) {
    struct vt_jp *p = arg;
    ((char *)data)[n_bytes] = '\0'; /* the buffer has room for it */
    if (p->write != NULL)
        p->write(p->opaque, data);
    else
        vt__je_write(data);
}

/* ---- values of rows that are the same in both forms ---- */

static void value(struct vt_jp *p, const struct vt_je_option_row *row,
                  const struct vt_je_value *v) {
    if (row->kind == VT_JE_BOOL)
        vt__jp_put_truth(p, v->n != 0);
    else if (row->kind >= VT_JE_CHOICE)
        vt__jp_put_quoted(p, v->text);
    else
        vt__text_int(&p->text, v->n);
}

/* The beginning of such a row: `  GROUP.NAME: `, or a key. */
static void put_row_name(struct vt_jp *p, const char *group, const char *name) {
    if (p->is_json) {
        vt__jp_key(p, name);
        return;
    }
    vt__jp_say(p, "  ");
    vt__jp_say(p, group);
    vt__jp_say(p, ".");
    vt__jp_say(p, name);
    vt__jp_say(p, ": ");
}

/* A group of such rows, `title` as text. */
static void begin_rows(struct vt_jp *p, const char *group, const char *title) {
    if (p->is_json)
        vt__jp_open(p, group, '{');
    else
        vt__jp_say(p, title);
}
static void end_row(struct vt_jp *p) {
    if (!p->is_json) vt__jp_say(p, "\n");
}
static void end_rows(struct vt_jp *p) {
    if (p->is_json) vt__jp_shut(p, '}');
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

static void put_config(struct vt_jp *p) {
    static const char *const words[] = {"false", "true", "\"\""};
    begin_rows(p, "config", "Build-time option settings\n");
    for (size_t i = 0; i < vt_countof(config); i++) {
        put_row_name(p, "config", config[i].name);
        vt__jp_say(p, words[config[i].value]);
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

static void put_live(struct vt_jp *p, int option) {
    for (size_t i = 0; i < vt_countof(live); i++) {
        if ((int)live[i].option != option) continue;
        uint64_t n = vt__jp_read(0, live[i].read, live[i].what);
        vt__jp_say(p, " (");
        vt__jp_say(p, live[i].name);
        vt__jp_say(p, ": ");
        if (live[i].is_bool)
            vt__jp_put_truth(p, n != 0);
        else
            vt__text_int(&p->text, (int64_t)n);
        vt__jp_say(p, ")");
    }
}

static void put_options(struct vt_jp *p) {
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

static void put_prof(struct vt_jp *p) {
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
        uint64_t n = vt__jp_read(0, rows[i].read, 0);
        put_row_name(p, "prof", rows[i].name);
        if (rows[i].is_bool)
            vt__jp_put_truth(p, n != 0);
        else
            vt__text_uint(&p->text, n);
        end_row(p);
    }
    end_rows(p);
}

static void put_sizes(struct vt_jp *p) {
    vt__jp_open(p, "bin", '[');
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct vt_je_call call = {.what = VT_JE_BIN_SLAB, .index = {c}};
        uint64_t slab = 0;
        (void)vt__je_read_bin_shape(&call, &slab);
        vt__jp_open(p, NULL, '{');
        vt__jp_number(p, "size", vt__class_bytes(c));
        vt__jp_number(p, "nregs", vt__classes[c].capacity);
        vt__jp_number(p, "slab_size", slab);
        vt__jp_number(p, "nshards", 1);
        vt__jp_shut(p, '}');
    }
    vt__jp_shut(p, ']');
    vt__jp_number(p, "nlextents", VT_JE_LARGE);
    vt__jp_open(p, "lextent", '[');
    for (unsigned i = 0; i < VT_JE_LARGE; i++) {
        struct vt_je_call call = {.index = {i}};
        uint64_t bytes = 0;
        (void)vt__je_read_large_bytes(&call, &bytes);
        vt__jp_open(p, NULL, '{');
        vt__jp_number(p, "size", bytes);
        vt__jp_shut(p, '}');
    }
    vt__jp_shut(p, ']');
}

static void put_arenas(struct vt_jp *p) {
    if (p->is_json) {
        vt__jp_open(p, "arenas", '{');
        vt__jp_number(p, "narenas", vt__je_narenas());
        vt__jp_key(p, "dirty_decay_ms");
        vt__text_int(&p->text, (int64_t)vt__jp_read(0, vt__je_read_decay_ms, 0));
        vt__jp_key(p, "muzzy_decay_ms");
        vt__text_int(&p->text, (int64_t)vt__jp_read(0, vt__je_read_decay_ms, 1));
        vt__jp_number(p, "quantum", VT_BLOCK_ALIGN);
        vt__jp_number(p, "page", VT_OS_PAGE);
        vt__jp_number(p, "hugepage", MiB(2));
        vt__jp_number(p, "tcache_max", vt__jp_read(0, vt__je_read_tcache_max, 0));
        vt__jp_number(p, "nbins", VT_N_CLASSES);
        vt__jp_number(p, "nhbins", VT_N_CLASSES);
        put_sizes(p);
        vt__jp_shut(p, '}');
        return;
    }
    vt__jp_say_number(p, "Arenas: ", vt__je_narenas(), "\n");
    vt__jp_say_number(p, "Quantum size: ", VT_BLOCK_ALIGN, "\n");
    vt__jp_say_number(p, "Page size: ", VT_OS_PAGE, "\n");
    vt__jp_say_number(p, "Hugepage size: ", MiB(2), "\n");
    vt__jp_say_number(
        p, "Maximum thread-cached size class: ", vt__jp_read(0, vt__je_read_tcache_max, 0), "\n");
    vt__jp_say_number(p, "Number of bin size classes: ", VT_N_CLASSES, "\n");
    vt__jp_say_number(p, "Number of thread-cache bin size classes: ", VT_N_CLASSES, "\n");
    vt__jp_say_number(p, "Number of large size classes: ", VT_JE_LARGE, "\n");
}

static void put_general(struct vt_jp *p) {
    if (p->is_json) {
        vt__jp_key(p, "version");
        vt__jp_put_quoted(p, JEMALLOC_VERSION);
    } else {
        vt__jp_say(p, "Version: \"" JEMALLOC_VERSION "\"\n");
    }
    put_config(p);
    const char *thp = vt__os_hugepages_are_always() ? "always" : "madvise";
    if (p->is_json) {
        vt__jp_open(p, "system", '{');
        vt__jp_key(p, "thp_mode");
        vt__jp_put_quoted(p, thp);
        vt__jp_shut(p, '}');
    } else {
        vt__jp_say(p, "System configuration\n  system.thp_mode: ");
        vt__jp_put_quoted(p, thp);
        vt__jp_say(p, "\n");
    }
    put_options(p);
    put_prof(p);
    put_arenas(p);
}

/* ---- stats ---- */

static void put_stats(struct vt_jp *p, const struct vt_je_snapshot *s) {
    uint64_t n_threads = vt__jp_read(0, vt__je_read_background_thread, 0);
    if (p->is_json) {
        vt__jp_open(p, "stats", '{');
        vt__jp_number(p, "allocated", s->stat[VT_JE_ALLOCATED]);
        vt__jp_number(p, "active", s->stat[VT_JE_ACTIVE]);
        vt__jp_number(p, "metadata", s->stat[VT_JE_METADATA]);
        vt__jp_number(p, "metadata_edata", 0);
        vt__jp_number(p, "metadata_rtree", 0);
        vt__jp_number(p, "metadata_thp", 0);
        vt__jp_number(p, "resident", s->stat[VT_JE_RESIDENT]);
        vt__jp_number(p, "mapped", s->stat[VT_JE_MAPPED]);
        vt__jp_number(p, "retained", s->stat[VT_JE_RETAINED]);
        vt__jp_number(p, "zero_reallocs", vt__je_zero_reallocs());
        vt__jp_open(p, "background_thread", '{');
        vt__jp_number(p, "num_threads", n_threads);
        vt__jp_number(p, "num_runs", 0);
        vt__jp_number(p, "run_interval", 0);
        vt__jp_shut(p, '}');
        vt__jp_put_global_mutexes(p);
        vt__jp_shut(p, '}');
        return;
    }
    vt__jp_say_number(p, "Allocated: ", s->stat[VT_JE_ALLOCATED], "");
    vt__jp_say_number(p, ", active: ", s->stat[VT_JE_ACTIVE], "");
    vt__jp_say_number(p, ", metadata: ", s->stat[VT_JE_METADATA], " (n_thp 0, edata 0, rtree 0)");
    vt__jp_say_number(p, ", resident: ", s->stat[VT_JE_RESIDENT], "");
    vt__jp_say_number(p, ", mapped: ", s->stat[VT_JE_MAPPED], "");
    vt__jp_say_number(p, ", retained: ", s->stat[VT_JE_RETAINED], "\n");
    vt__jp_say_number(p, "Count of realloc(non-null-ptr, 0) calls: ", vt__je_zero_reallocs(), "\n");
    vt__jp_say_number(p, "Background threads: ", n_threads, ", num_runs: 0, run_interval: 0 ns\n");
    vt__jp_put_global_mutexes(p);
}

static void read_letters(struct vt_jp *p, const char *opts) {
    for (; opts != NULL && *opts != '\0'; opts++) {
        if (*opts == 'J') p->is_json = true;
        if (*opts >= 'a' && *opts <= 'z') p->left_out |= UINT32_C(1) << (*opts - 'a');
    }
}

static void print_all(struct vt_jp *p) {
    const struct vt_je_snapshot *s = &vt__je_snapshot;
    if (p->is_json)
        vt__jp_open(p, NULL, '{'), vt__jp_open(p, "jemalloc", '{');
    else
        vt__jp_say(p, "___ Begin jemalloc statistics ___\n");
    if (jp_has(p, 'g')) put_general(p);
    put_stats(p, s);
    if (p->is_json && (jp_has(p, 'm') || jp_has(p, 'd') || jp_has(p, 'a')))
        vt__jp_open(p, "stats.arenas", '{');
    vt__jp_put_each_arena(p);
    if (p->is_json && (jp_has(p, 'm') || jp_has(p, 'd') || jp_has(p, 'a'))) vt__jp_shut(p, '}');
    if (p->is_json)
        vt__jp_shut(p, '}'), vt__jp_shut(p, '}');
    else
        vt__jp_say(p, "--- End jemalloc statistics ---\n");
}

VT_EXPORT void malloc_stats_print(void (*write_cb)(void *opaque, const char *s), void *cbopaque,
                                  const char *opts) {
    void *buffer = NULL;
    if (vt__life_start() != 0 || vt__os_map(BUFFER_BYTES, &buffer) != 0) return;
    struct vt_jp p = {.write = write_cb, .opaque = cbopaque};
    p.text = (struct vt_text){buffer, BUFFER_BYTES - 1, 0, false, flush, &p};
    p.uptime_s = vt__jp_read(0, vt__je_read_uptime, 0) / 1000000000;
    read_letters(&p, opts);
    vt__je_refresh();
    print_all(&p);
    vt__text_flush(&p.text);
    vt__os_unmap(buffer, BUFFER_BYTES);
}
