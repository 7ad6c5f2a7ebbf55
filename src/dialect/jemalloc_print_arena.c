/* jemalloc_print_arena.c - what malloc_stats_print tells of each arena: its figures, mutexes, and tables by size. See
 * jemalloc_print.h. Climate: host. */
#include "dialect/jemalloc_print.h"

#include "heap/class.h"

#define NAME_COLUMNS 21

/* ---- mutexes: we do not count what ours do ---- */

static const char *const global_mutexes[] = {
    "background_thread", "max_per_bg_thd",   "ctl",       "prof", "prof_thds_data", "prof_dump",
    "prof_recent_alloc", "prof_recent_dump", "prof_stats"};
static const char *const arena_mutexes[] = {
    "large",          "extent_avail", "extents_dirty", "extents_muzzy", "extents_retained",
    "decay_dirty",    "decay_muzzy",  "base",          "tcache_list",   "hpa_shard",
    "hpa_shard_grow", "hpa_sec"};
static const struct jp_column mutex_columns[] = {
    {"n_lock_ops", 16},    {"(#/sec)", 8},  {"n_waiting", 16},      {"(#/sec)", 8},
    {"n_spin_acq", 16},    {"(#/sec)", 8},  {"n_owner_switch", 16}, {"(#/sec)", 8},
    {"total_wait_ns", 16}, {"(#/sec)", 10}, {"max_wait_ns", 16},    {"max_n_thds", 12}};

static void put_mutex_json(struct vt_jp *p, const char *name) {
    static const char *const keys[] = {"num_ops",          "num_wait",        "num_spin_acq",
                                       "num_owner_switch", "total_wait_time", "max_wait_time",
                                       "max_num_thds"};
    vt__jp_open(p, name, '{');
    for (size_t i = 0; i < vt_countof(keys); i++) vt__jp_number(p, keys[i], 0);
    vt__jp_shut(p, '}');
}

static void put_mutexes(struct vt_jp *p, const char *const *names, size_t n) {
    if (!jp_has(p, 'x')) return;
    if (p->is_json) {
        vt__jp_open(p, "mutexes", '{');
        for (size_t i = 0; i < n; i++) put_mutex_json(p, names[i]);
        vt__jp_shut(p, '}');
        return;
    }
    vt__text_pad(&p->text, ' ', NAME_COLUMNS);
    vt__jp_put_heads(p, "", mutex_columns, vt_countof(mutex_columns));
    vt__jp_say(p, "\n");
    for (size_t i = 0; i < n; i++) {
        vt__jp_put_left(p, names[i], NAME_COLUMNS);
        for (size_t k = 0; k < vt_countof(mutex_columns); k++)
            vt__jp_put_cell(p, 0, mutex_columns[k].width);
        vt__jp_say(p, "\n");
    }
}

void vt__jp_put_global_mutexes(struct vt_jp *p) {
    put_mutexes(p, global_mutexes, vt_countof(global_mutexes));
}

/* ---- one arena ---- */

static void put_sum_json(struct vt_jp *p, const char *name, const uint64_t *stat) {
    vt__jp_open(p, name, '{');
    vt__jp_number(p, "allocated", stat[0]);
    vt__jp_number(p, "nmalloc", stat[1]);
    vt__jp_number(p, "ndalloc", stat[2]);
    vt__jp_number(p, "nrequests", stat[1]);
    vt__jp_number(p, "nfills", 0);
    vt__jp_number(p, "nflushes", 0);
    vt__jp_shut(p, '}');
}

static void put_sum(struct vt_jp *p, const char *name, const uint64_t *stat) {
    vt__jp_put_left(p, name, NAME_COLUMNS);
    vt__jp_put_cell(p, stat[0], 16);
    for (unsigned i = 0; i < 5; i++) {
        uint64_t n =
            i < 3 ? stat[i == 1 ? 2 : 1] : 0; /* nmalloc, ndalloc, nrequests, nfill, nflush */
        vt__jp_put_cell(p, n, 16);
        vt__jp_put_rate(p, n, 10);
    }
    vt__jp_say(p, "\n");
}

static void put_sums(struct vt_jp *p, const uint64_t *small, const uint64_t *large) {
    uint64_t total[3] = {small[0] + large[0], small[1] + large[1], small[2] + large[2]};
    static const struct jp_column columns[] = {
        {"allocated", 16}, {"nmalloc", 16},   {"(#/sec)", 10}, {"ndalloc", 16},
        {"(#/sec)", 10},   {"nrequests", 16}, {"(#/sec)", 10}, {"nfill", 16},
        {"(#/sec)", 10},   {"nflush", 16},    {"(#/sec)", 10}};
    vt__text_pad(&p->text, ' ', NAME_COLUMNS);
    vt__jp_put_heads(p, "", columns, vt_countof(columns));
    vt__jp_say(p, "\n");
    put_sum(p, "small:", small);
    put_sum(p, "large:", large);
    put_sum(p, "total:", total);
    vt__text_pad(&p->text, ' ', NAME_COLUMNS + 16);
    vt__jp_say(p, "\n");
}

static void put_arena_figures(struct vt_jp *p, const uint64_t *n) {
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
        vt__jp_put_left(p, "active:", NAME_COLUMNS);
        vt__jp_put_cell(p, n[VT_JE_ACTIVE], 16);
        vt__jp_say(p, "\n");
    }
    for (size_t i = 0; i < vt_countof(rows); i++) {
        if (p->is_json) {
            vt__jp_number(p, rows[i].name, rows[i].value);
            continue;
        }
        vt__jp_say(p, rows[i].name);
        size_t len = vt__str_len(rows[i].name);
        vt__jp_put_left(p, ":", len < NAME_COLUMNS ? NAME_COLUMNS - (unsigned)len : 1);
        vt__jp_put_cell(p, rows[i].value, 16);
        vt__jp_say(p, "\n");
    }
}

static void put_decays(struct vt_jp *p, size_t arena, const uint64_t *n) {
    bool is_merged = arena == VT_JE_ALL_ARENAS;
    int64_t dirty_ms = (int64_t)vt__jp_read(arena, vt__je_read_decay_ms, 0);
    int64_t muzzy_ms = (int64_t)vt__jp_read(arena, vt__je_read_decay_ms, 1);
    if (p->is_json) {
        vt__jp_key(p, "dirty_decay_ms");
        vt__text_int(&p->text, dirty_ms);
        vt__jp_key(p, "muzzy_decay_ms");
        vt__text_int(&p->text, muzzy_ms);
        vt__jp_number(p, "pactive", n[VT_JE_ACTIVE_PAGES]);
        vt__jp_number(p, "pdirty", n[VT_JE_DIRTY_PAGES]);
        vt__jp_number(p, "pmuzzy", 0);
        vt__jp_number(p, "dirty_npurge", n[VT_JE_PURGES]);
        vt__jp_number(p, "dirty_nmadvise", n[VT_JE_PURGES]);
        vt__jp_number(p, "dirty_purged", n[VT_JE_PURGED_PAGES]);
        vt__jp_number(p, "muzzy_npurge", 0);
        vt__jp_number(p, "muzzy_nmadvise", 0);
        vt__jp_number(p, "muzzy_purged", 0);
        return;
    }
    vt__jp_say(p, "decaying:  time       npages       sweeps     madvises       purged\n");
    for (unsigned i = 0; i < 2; i++) {
        int64_t ms = i == 0 ? dirty_ms : muzzy_ms;
        vt__jp_say(p, i == 0 ? "   dirty:" : "   muzzy:");
        if (ms < 0 || is_merged) /* each arena has its own */
            vt__jp_put_right(p, "N/A", 6);
        else
            vt__jp_put_cell(p, (uint64_t)ms, 6);
        vt__jp_put_cell(p, i == 0 ? n[VT_JE_DIRTY_PAGES] : 0, 13);
        vt__jp_put_cell(p, i == 0 ? n[VT_JE_PURGES] : 0, 13);
        vt__jp_put_cell(p, i == 0 ? n[VT_JE_PURGES] : 0, 13);
        vt__jp_put_cell(p, i == 0 ? n[VT_JE_PURGED_PAGES] : 0, 13);
        vt__jp_say(p, "\n");
    }
}

/* ---- tables by size ---- */

static const char gap[] = "                     ---\n";

static const struct jp_column bin_columns[] = {
    {"size", 20},    {"ind", 4},       {"allocated", 14},     {"nmalloc", 14},  {"(#/sec)", 8},
    {"ndalloc", 14}, {"(#/sec)", 8},   {"nrequests", 15},     {"(#/sec)", 10},  {"nshards", 9},
    {"curregs", 13}, {"curslabs", 13}, {"nonfull_slabs", 15}, {"regs", 5},      {"pgs", 4},
    {"util", 7},     {"nfills", 13},   {"(#/sec)", 8},        {"nflushes", 13}, {"(#/sec)", 8},
    {"nslabs", 13},  {"nreslabs", 13}, {"(#/sec)", 8}};

/* 0.875; 1 when all are in use. */
static void put_share(struct vt_jp *p, uint64_t part, uint64_t whole, unsigned width) {
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
    vt__jp_put_right(p, text, width);
}

static void put_bin(struct vt_jp *p, unsigned c, const uint64_t *bin) {
    const struct jp_column *w = bin_columns;
    uint64_t slices = vt__classes[c].n_slices;
    struct vt_je_call call = {.what = VT_JE_BIN_SLAB, .index = {c}};
    (void)vt__je_read_bin_shape(&call, &slices);
    vt__jp_put_cell(p, vt__class_bytes(c), w[0].width);
    vt__jp_put_cell(p, c, w[1].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_CURREGS] * vt__class_bytes(c), w[2].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_NMALLOC], w[3].width);
    vt__jp_put_rate(p, bin[VT_JE_BIN_NMALLOC], w[4].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_NDALLOC], w[5].width);
    vt__jp_put_rate(p, bin[VT_JE_BIN_NDALLOC], w[6].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_NMALLOC], w[7].width);
    vt__jp_put_rate(p, bin[VT_JE_BIN_NMALLOC], w[8].width);
    vt__jp_put_cell(p, 1, w[9].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_CURREGS], w[10].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_CURSLABS], w[11].width);
    vt__jp_put_cell(p, bin[VT_JE_BIN_NONFULL], w[12].width);
    vt__jp_put_cell(p, vt__classes[c].capacity, w[13].width);
    vt__jp_put_cell(p, slices / VT_OS_PAGE, w[14].width);
    put_share(p, bin[VT_JE_BIN_CURREGS], bin[VT_JE_BIN_CURSLABS] * vt__classes[c].capacity,
              w[15].width);
    for (unsigned i = 16; i < vt_countof(bin_columns); i++)
        vt__jp_put_cell(p, i == 20 ? bin[VT_JE_BIN_CURSLABS] : 0, w[i].width);
    if (jp_has(p, 'x'))
        for (size_t k = 0; k < vt_countof(mutex_columns); k++)
            vt__jp_put_cell(p, 0, mutex_columns[k].width);
    vt__jp_say(p, "\n");
}

static void put_bin_json(struct vt_jp *p, const uint64_t *bin) {
    vt__jp_open(p, NULL, '{');
    vt__jp_number(p, "nmalloc", bin[VT_JE_BIN_NMALLOC]);
    vt__jp_number(p, "ndalloc", bin[VT_JE_BIN_NDALLOC]);
    vt__jp_number(p, "curregs", bin[VT_JE_BIN_CURREGS]);
    vt__jp_number(p, "nrequests", bin[VT_JE_BIN_NMALLOC]);
    vt__jp_number(p, "nfills", 0);
    vt__jp_number(p, "nflushes", 0);
    vt__jp_number(p, "nreslabs", 0);
    vt__jp_number(p, "curslabs", bin[VT_JE_BIN_CURSLABS]);
    vt__jp_number(p, "nonfull_slabs", bin[VT_JE_BIN_NONFULL]);
    if (jp_has(p, 'x')) put_mutex_json(p, "mutex");
    vt__jp_shut(p, '}');
}

static void put_bins(struct vt_jp *p, const struct vt_je_snapshot *s) {
    bool in_gap = false;
    if (p->is_json) {
        vt__jp_open(p, "bins", '[');
    } else {
        vt__jp_put_heads(p, "bins:", bin_columns, vt_countof(bin_columns));
        if (jp_has(p, 'x')) vt__jp_put_heads(p, "", mutex_columns, vt_countof(mutex_columns));
        vt__jp_say(p, "\n");
    }
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const uint64_t *bin = s->bin[c];
        if (p->is_json) {
            put_bin_json(p, bin);
            continue;
        }
        bool is_empty = bin[VT_JE_BIN_CURSLABS] == 0 && bin[VT_JE_BIN_NMALLOC] == 0;
        if (is_empty && !in_gap) vt__jp_say(p, gap);
        in_gap = is_empty;
        if (!is_empty) put_bin(p, c, bin);
    }
    if (p->is_json) vt__jp_shut(p, ']');
}

static void put_large(struct vt_jp *p, const struct vt_je_snapshot *s) {
    static const struct jp_column columns[] = {
        {"size", 20},    {"ind", 4},     {"allocated", 13}, {"nmalloc", 13}, {"(#/sec)", 8},
        {"ndalloc", 13}, {"(#/sec)", 8}, {"nrequests", 13}, {"(#/sec)", 8},  {"curlextents", 13}};
    bool in_gap = false;
    if (p->is_json) {
        vt__jp_open(p, "lextents", '[');
    } else {
        vt__jp_put_heads(p, "large:", columns, vt_countof(columns));
        vt__jp_say(p, "\n");
    }
    for (unsigned i = 0; i < VT_JE_LARGE; i++) {
        const uint64_t *bin = s->large[i];
        if (p->is_json) {
            vt__jp_open(p, NULL, '{');
            vt__jp_number(p, "curlextents", bin[VT_JE_BIN_CURREGS]);
            vt__jp_shut(p, '}');
            continue;
        }
        bool is_empty = bin[VT_JE_BIN_NMALLOC] == 0;
        if (is_empty && !in_gap) vt__jp_say(p, gap);
        in_gap = is_empty;
        if (is_empty) continue;
        struct vt_je_call call = {.index = {i}};
        uint64_t bytes = 0;
        (void)vt__je_read_large_bytes(&call, &bytes);
        vt__jp_put_cell(p, bytes, 20);
        vt__jp_put_cell(p, VT_N_CLASSES + i, 4);
        vt__jp_put_cell(p, bin[VT_JE_BIN_CURREGS] * bytes, 13);
        for (unsigned k = 0; k < 3; k++) {
            uint64_t n = bin[k == 1 ? VT_JE_BIN_NDALLOC : VT_JE_BIN_NMALLOC];
            vt__jp_put_cell(p, n, 13);
            vt__jp_put_rate(p, n, 8);
        }
        vt__jp_put_cell(p, bin[VT_JE_BIN_CURREGS], 13);
        vt__jp_say(p, "\n");
    }
    if (p->is_json) vt__jp_shut(p, ']');
}

/* Free memory is not kept by size here. */
static void put_extents(struct vt_jp *p) {
    static const struct jp_column columns[] = {
        {"size", 20},  {"ind", 4},        {"ndirty", 13},   {"dirty", 13},  {"nmuzzy", 13},
        {"muzzy", 13}, {"nretained", 13}, {"retained", 13}, {"ntotal", 13}, {"total", 13}};
    static const char *const keys[] = {"ndirty",      "nmuzzy",      "nretained",
                                       "dirty_bytes", "muzzy_bytes", "retained_bytes"};
    if (!p->is_json) {
        vt__jp_put_heads(p, "extents:", columns, vt_countof(columns));
        vt__jp_say(p, "\n");
        vt__jp_say(p, gap);
        return;
    }
    vt__jp_open(p, "extents", '[');
    for (unsigned i = 0; i < VT_JE_PAGE_CLASSES; i++) {
        vt__jp_open(p, NULL, '{');
        for (size_t k = 0; k < vt_countof(keys); k++) vt__jp_number(p, keys[k], 0);
        vt__jp_shut(p, '}');
    }
    vt__jp_shut(p, ']');
}

static void put_pageslabs_json(struct vt_jp *p, const char *name) {
    static const char *const keys[] = {"npageslabs_huge",    "nactive_huge",    "ndirty_huge",
                                       "npageslabs_nonhuge", "nactive_nonhuge", "ndirty_nonhuge"};
    vt__jp_open(p, name, '{');
    for (size_t i = 0; i < vt_countof(keys); i++) vt__jp_number(p, keys[i], 0);
    vt__jp_shut(p, '}');
}

static const struct jp_column slab_columns[] = {{"size", 20},
                                                {"ind", 4},
                                                {"npageslabs_huge", 16},
                                                {"nactive_huge", 16},
                                                {"ndirty_huge", 16},
                                                {"npageslabs_nonhuge", 20},
                                                {"nactive_nonhuge", 20},
                                                {"ndirty_nonhuge", 20},
                                                {"nretained_nonhuge", 20}};

static void put_no_slabs(struct vt_jp *p, const char *which) {
    vt__jp_say(p, "  In ");
    vt__jp_say(p, which);
    vt__jp_say(p, " slabs:\n"
                  "      npageslabs: 0 huge, 0 nonhuge\n"
                  "      nactive: 0 huge, 0 nonhuge \n"
                  "      ndirty: 0 huge, 0 nonhuge \n"
                  "      nretained: 0 huge, 0 nonhuge \n");
}

static void put_hpa(struct vt_jp *p) {
    static const char *const counts[] = {"npurge_passes", "npurges", "nhugifies", "ndehugifies"};
    if (!p->is_json) {
        vt__jp_say(p, "Bytes in small extent cache: 0\n"
                      "HPA shard stats:\n"
                      "  Purge passes: 0 (0 / sec)\n"
                      "  Purges: 0 (0 / sec)\n"
                      "  Hugeifies: 0 (0 / sec)\n"
                      "  Dehugifies: 0 (0 / sec)\n"
                      "\n");
        put_no_slabs(p, "full");
        put_no_slabs(p, "empty");
        vt__jp_say(p, "\n");
        vt__jp_put_heads(p, "", slab_columns, vt_countof(slab_columns));
        vt__jp_say(p, "\n");
        vt__jp_say(p, gap);
        return;
    }
    vt__jp_number(p, "sec_bytes", 0);
    vt__jp_open(p, "hpa_shard", '{');
    for (size_t i = 0; i < vt_countof(counts); i++) vt__jp_number(p, counts[i], 0);
    put_pageslabs_json(p, "full_slabs");
    put_pageslabs_json(p, "empty_slabs");
    vt__jp_open(p, "nonfull_slabs", '[');
    vt__jp_shut(p, ']');
    vt__jp_shut(p, '}');
}

static void put_arena(struct vt_jp *p, const char *name, size_t arena) {
    const struct vt_je_snapshot *s = vt__je_figures(arena);
    const uint64_t *n = s->stat;
    uint64_t uptime_ns = vt__jp_read(arena, vt__je_read_uptime, 0);
    const char *dss = (const char *)(uintptr_t)vt__jp_read(arena, vt__je_read_dss, 0);
    if (p->is_json) {
        vt__jp_open(p, name, '{');
        vt__jp_number(p, "nthreads", n[VT_JE_THREADS]);
        vt__jp_number(p, "uptime_ns", uptime_ns);
        vt__jp_key(p, "dss");
        vt__jp_put_quoted(p, dss);
    } else {
        vt__jp_say_number(p, "assigned threads: ", n[VT_JE_THREADS], "\n");
        vt__jp_say_number(p, "uptime: ", uptime_ns, "\n");
        vt__jp_say(p, "dss allocation precedence: ");
        vt__jp_put_quoted(p, dss);
        vt__jp_say(p, "\n");
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
    if (jp_has(p, 'b')) put_bins(p, s);
    if (jp_has(p, 'l')) put_large(p, s);
    if (jp_has(p, 'e')) put_extents(p);
    if (jp_has(p, 'h')) put_hpa(p);
    if (p->is_json) vt__jp_shut(p, '}');
}

void vt__jp_put_each_arena(struct vt_jp *p) {
    char name[24];
    bool is_merged = jp_has(p, 'm') && (vt__je_narenas() > 1 || !jp_has(p, 'a'));
    if (is_merged) {
        if (!p->is_json) vt__jp_say(p, "Merged arenas stats:\n");
        put_arena(p, "merged", VT_JE_ALL_ARENAS);
    }
    if (jp_has(p, 'd') && vt__je_arena_is_there(VT_JE_DESTROYED_ARENAS)) {
        if (!p->is_json) vt__jp_say(p, "Destroyed arenas stats:\n");
        put_arena(p, "destroyed", VT_JE_DESTROYED_ARENAS);
    }
    for (unsigned i = 0; jp_has(p, 'a') && i < vt__je_narenas(); i++) {
        if (!vt__je_arena_is_there(i)) continue;
        struct vt_text t = VT_TEXT(name);
        vt__text_uint(&t, i);
        vt__text_char(&t, '\0');
        if (!p->is_json) vt__jp_say_number(p, "arenas[", i, "]:\n");
        put_arena(p, name, i);
    }
}
