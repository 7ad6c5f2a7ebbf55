/* answers.c - calls of mallctl and its sisters, and what comes back: errors and lengths, no figures. The same on the original. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t n_bytes;
} readable[] = {
    {"version", 8},
    {"epoch", 8},
    {"background_thread", 1},
    {"max_background_threads", 8},
    {"thread.arena", 4},
    {"thread.allocated", 8},
    {"thread.allocatedp", 8},
    {"thread.deallocated", 8},
    {"thread.deallocatedp", 8},
    {"thread.tcache.enabled", 1},
    {"thread.peak.read", 8},
    {"thread.prof.active", 1},
    {"config.cache_oblivious", 1},
    {"config.debug", 1},
    {"config.fill", 1},
    {"config.lazy_lock", 1},
    {"config.malloc_conf", 8},
    {"config.opt_safety_checks", 1},
    {"config.prof", 1},
    {"config.prof_libgcc", 1},
    {"config.prof_libunwind", 1},
    {"config.stats", 1},
    {"config.utrace", 1},
    {"config.xmalloc", 1},
    {"opt.abort", 1},
    {"opt.abort_conf", 1},
    {"opt.cache_oblivious", 1},
    {"opt.confirm_conf", 1},
    {"opt.retain", 1},
    {"opt.dss", 8},
    {"opt.narenas", 4},
    {"opt.percpu_arena", 8},
    {"opt.oversize_threshold", 8},
    {"opt.hpa", 1},
    {"opt.hpa_dirty_mult", 8},
    {"opt.metadata_thp", 8},
    {"opt.mutex_max_spin", 8},
    {"opt.background_thread", 1},
    {"opt.max_background_threads", 8},
    {"opt.dirty_decay_ms", 8},
    {"opt.muzzy_decay_ms", 8},
    {"opt.lg_extent_max_active_fit", 8},
    {"opt.junk", 8},
    {"opt.zero", 1},
    {"opt.tcache", 1},
    {"opt.tcache_max", 8},
    {"opt.tcache_nslots_small_min", 4},
    {"opt.lg_tcache_nslots_mul", 8},
    {"opt.thp", 8},
    {"opt.prof", 1},
    {"opt.prof_prefix", 8},
    {"opt.prof_active", 1},
    {"opt.prof_thread_active_init", 1},
    {"opt.lg_prof_sample", 8},
    {"opt.prof_accum", 1},
    {"opt.lg_prof_interval", 8},
    {"opt.prof_gdump", 1},
    {"opt.prof_final", 1},
    {"opt.prof_leak", 1},
    {"opt.prof_leak_error", 1},
    {"opt.stats_print", 1},
    {"opt.stats_print_opts", 8},
    {"opt.stats_interval", 8},
    {"opt.zero_realloc", 8},
    {"arena.0.initialized", 1},
    {"arena.4096.initialized", 1},
    {"arena.0.dss", 8},
    {"arena.0.dirty_decay_ms", 8},
    {"arena.0.muzzy_decay_ms", 8},
    {"arena.0.oversize_threshold", 8},
    {"arena.0.extent_hooks", 8},
    {"arenas.narenas", 4},
    {"arenas.dirty_decay_ms", 8},
    {"arenas.muzzy_decay_ms", 8},
    {"arenas.quantum", 8},
    {"arenas.page", 8},
    {"arenas.tcache_max", 8},
    {"arenas.nbins", 4},
    {"arenas.nhbins", 4},
    {"arenas.bin.0.size", 8},
    {"arenas.bin.0.nregs", 4},
    {"arenas.bin.0.slab_size", 8},
    {"arenas.bin.0.nshards", 4},
    {"arenas.nlextents", 4},
    {"arenas.lextent.0.size", 8},
    {"prof.thread_active_init", 1},
    {"prof.active", 1},
    {"prof.gdump", 1},
    {"prof.interval", 8},
    {"prof.lg_sample", 8},
    {"stats.allocated", 8},
    {"stats.active", 8},
    {"stats.metadata", 8},
    {"stats.metadata_thp", 8},
    {"stats.resident", 8},
    {"stats.mapped", 8},
    {"stats.retained", 8},
    {"stats.zero_reallocs", 8},
    {"stats.background_thread.num_threads", 8},
    {"stats.background_thread.num_runs", 8},
    {"stats.background_thread.run_interval", 8},
    {"stats.mutexes.ctl.num_ops", 8},
    {"stats.mutexes.prof_dump.max_num_thds", 4},
    {"stats.arenas.0.nthreads", 4},
    {"stats.arenas.0.uptime", 8},
    {"stats.arenas.0.dss", 8},
    {"stats.arenas.0.dirty_decay_ms", 8},
    {"stats.arenas.0.pactive", 8},
    {"stats.arenas.4096.pdirty", 8},
    {"stats.arenas.4097.pmuzzy", 8},
    {"stats.arenas.0.dirty_npurge", 8},
    {"stats.arenas.0.muzzy_purged", 8},
    {"stats.arenas.0.base", 8},
    {"stats.arenas.0.internal", 8},
    {"stats.arenas.0.tcache_bytes", 8},
    {"stats.arenas.0.tcache_stashed_bytes", 8},
    {"stats.arenas.0.resident", 8},
    {"stats.arenas.0.abandoned_vm", 8},
    {"stats.arenas.0.small.allocated", 8},
    {"stats.arenas.0.small.nfills", 8},
    {"stats.arenas.0.large.nmalloc", 8},
    {"stats.arenas.0.bins.0.curregs", 8},
    {"stats.arenas.0.bins.0.nonfull_slabs", 8},
    {"stats.arenas.0.bins.0.mutex.num_wait", 8},
    {"stats.arenas.0.lextents.0.curlextents", 8},
    {"stats.arenas.0.extents.0.dirty_bytes", 8},
    {"stats.arenas.4096.extents.198.ndirty", 8},
    {"stats.arenas.0.mutexes.tcache_list.num_ops", 8},
    {"stats.arenas.0.hpa_shard.npurges", 8},
    {"stats.arenas.0.hpa_shard.full_slabs.npageslabs_huge", 8},
    {"stats.arenas.0.hpa_shard.nonfull_slabs.0.nactive_nonhuge", 8},
    {"experimental.hooks.prof_backtrace", 8},
};

static const char *const odd_names[] = {"",
                                        ".",
                                        "stats",
                                        "stats.",
                                        "stats.allocated.x",
                                        ".stats",
                                        "arena",
                                        "arena.0",
                                        "arena.x.purge",
                                        "arena.-1.purge",
                                        "arenas.bin.99999.size",
                                        "opt.",
                                        "opt.unknown",
                                        "prof",
                                        "thread.tcache",
                                        "stats.arenas.5000.nthreads",
                                        "stats.arenas.0.extents.199.ndirty",
                                        "arenas.lextent.100000.size",
                                        "tcache",
                                        "experimental"};

static const char *const actions[] = {"thread.tcache.flush", "thread.idle",   "thread.peak.reset",
                                      "arena.0.decay",       "arena.0.purge", "arena.4096.decay",
                                      "arena.4096.purge",    "arena.0.reset", "arena.0.destroy",
                                      "stats.mutexes.reset"};

static void read_all(void) {
    char buf[64];
    for (size_t i = 0; i < sizeof(readable) / sizeof(readable[0]); i++) {
        const char *name = readable[i].name;
        size_t n = readable[i].n_bytes, len = n, shorter = n / 2, longer = n * 2;
        int right = mallctl(name, buf, &len, NULL, 0);
        int too_short = mallctl(name, buf, &shorter, NULL, 0);
        int too_long = mallctl(name, buf, &longer, NULL, 0);
        int nothing = mallctl(name, NULL, NULL, NULL, 0);
        printf("%s: %d %zu, short %d %zu, long %d %zu, nothing %d\n", name, right, len, too_short,
               shorter, too_long, longer, nothing);
        if (n == 1) printf("  bool %d\n", buf[0] == 0 || buf[0] == 1);
    }
    for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++) {
        size_t mib[8], depth = 8, len = 8;
        int by_name = mallctl(odd_names[i], buf, &len, NULL, 0);
        int to_mib = mallctlnametomib(odd_names[i], mib, &depth);
        printf("'%s': %d, mib %d %zu\n", odd_names[i], by_name, to_mib, to_mib == 0 ? depth : 0);
    }
}

static void write_some(void) {
    static const char *const read_only[] = {"stats.allocated", "version", "opt.prof", "arenas.page",
                                            "thread.allocated"};
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++)
        printf("write %s: %d\n", read_only[i], mallctl(read_only[i], NULL, NULL, &word, 8));
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        size_t len = 8;
        printf("%s: %d, with a result %d, with a value %d\n", actions[i],
               mallctl(actions[i], NULL, NULL, NULL, 0), mallctl(actions[i], &word, &len, NULL, 0),
               mallctl(actions[i], NULL, NULL, &word, 8));
    }
    bool yes = true, no = false;
    size_t lg = 12;
    unsigned number = 100000;
    const char *name = "worker", *bad = "a\nb", *file = "nowhere.heap";
    printf("prof.active true: %d\n", mallctl("prof.active", NULL, NULL, &yes, 1));
    printf("prof.active false: %d\n", mallctl("prof.active", NULL, NULL, &no, 1));
    printf("prof.active of 4 bytes: %d\n", mallctl("prof.active", NULL, NULL, &number, 4));
    printf("prof.dump: %d\n", mallctl("prof.dump", NULL, NULL, &file, sizeof(file)));
    printf("prof.reset: %d\n", mallctl("prof.reset", NULL, NULL, &lg, sizeof(lg)));
    printf("prof.gdump: %d\n", mallctl("prof.gdump", NULL, NULL, &yes, 1));
    printf("prof.prefix: %d\n", mallctl("prof.prefix", NULL, NULL, &name, sizeof(name)));
    printf("thread.prof.name: %d\n", mallctl("thread.prof.name", NULL, NULL, &name, sizeof(name)));
    printf("bad name: %d\n", mallctl("thread.prof.name", NULL, NULL, &bad, sizeof(bad)));
    printf("thread.prof.active: %d\n", mallctl("thread.prof.active", NULL, NULL, &no, 1));
    printf("thread.arena: %d\n", mallctl("thread.arena", NULL, NULL, &number, sizeof(number)));
}

static void number_things(void) {
    unsigned narenas, arena, again, cache;
    size_t len = sizeof(unsigned), two = 2;
    char name[64];
    mallctl("arenas.narenas", &narenas, &len, NULL, 0);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "arena.%u.purge", narenas + i);
        printf("arena.<narenas + %u>.purge: %d\n", i, mallctl(name, NULL, NULL, NULL, 0));
    }
    printf("create: %d", mallctl("arenas.create", &arena, &len, NULL, 0));
    printf(", the next number %d\n", arena == narenas);
    printf("create, 2 bytes: %d", mallctl("arenas.create", &arena, &two, NULL, 0));
    printf(" %zu\n", two);
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    snprintf(name, sizeof(name), "stats.arenas.%u.nthreads", narenas);
    printf("its stats: %d\n", mallctl(name, &again, &len, NULL, 0));
    snprintf(name, sizeof(name), "arena.%u.reset", narenas);
    printf("its reset: %d\n", mallctl(name, NULL, NULL, NULL, 0));
    snprintf(name, sizeof(name), "arena.%u.destroy", narenas);
    printf("its end: %d\n", mallctl(name, NULL, NULL, NULL, 0));
    mallctl("arenas.create", &again, &len, NULL, 0);
    printf("the number is used again: %d\n", again == narenas);
    void *p = mallocx(100, MALLOCX_ARENA(again) | MALLOCX_TCACHE_NONE);
    len = sizeof(unsigned);
    printf("lookup: %d\n", mallctl("arenas.lookup", &arena, &len, &p, sizeof(p)));
    dallocx(p, MALLOCX_TCACHE_NONE);
    printf("cache: %d\n", mallctl("tcache.create", &cache, &len, NULL, 0));
    p = mallocx(100, MALLOCX_TCACHE(cache));
    dallocx(p, MALLOCX_TCACHE(cache));
    printf("flush: %d\n", mallctl("tcache.flush", NULL, NULL, &cache, sizeof(cache)));
    printf("destroy: %d\n", mallctl("tcache.destroy", NULL, NULL, &cache, sizeof(cache)));
}

/* Caches are numbers from 0 on; one that was destroyed leaves its number to the next. */
static unsigned make_cache(int *err) {
    unsigned cache = UINT32_MAX;
    size_t len = sizeof(cache);
    *err = mallctl("tcache.create", &cache, &len, NULL, 0);
    return cache;
}

static int tell_cache(const char *what, unsigned cache) {
    return mallctl(what, NULL, NULL, &cache, sizeof(cache));
}

static void make_caches(void) {
    int err;
    size_t four = sizeof(unsigned), eight = 8;
    unsigned first = make_cache(&err), second = make_cache(&err), n = 2, unused = 0;
    printf("caches %u and %u\n", first, second);
    printf("create with a value: %d\n", mallctl("tcache.create", &unused, &four, &unused, 4));
    printf("create of 8 bytes: %d\n", mallctl("tcache.create", (uint64_t[1]){0}, &eight, NULL, 0));
    printf("flush of 8 bytes: %d\n", mallctl("tcache.flush", NULL, NULL, (uint64_t[1]){0}, 8));
    printf("flush that reads: %d\n", mallctl("tcache.flush", &unused, &four, &first, 4));
    printf("flush of none: %d %d\n", mallctl("tcache.flush", NULL, NULL, NULL, 0),
           mallctl("tcache.destroy", NULL, NULL, NULL, 0));
    void *p = mallocx(100, MALLOCX_TCACHE(first));
    dallocx(p, MALLOCX_TCACHE(second));
    printf("flush: %d %d\n", tell_cache("tcache.flush", first), tell_cache("tcache.flush", second));
    printf("destroy: %d", tell_cache("tcache.destroy", first));
    printf(", and %u is used again\n", make_cache(&err));
    while (make_cache(&err) != UINT32_MAX) n++;
    printf("so many caches: %u, then %d\n", n, err);
    printf("destroy: %d", tell_cache("tcache.destroy", 7));
    printf(", and %u is used again\n", make_cache(&err));
    while (n-- > 0) err |= tell_cache("tcache.destroy", n);
    printf("destroy all: %d\n", err);
}

static void use_mibs(void) {
    size_t mib[7], len = 4, small = 2, value, n = sizeof(value);
    unsigned nbins;
    size_t n4 = sizeof(nbins);
    mallctl("arenas.nbins", &nbins, &n4, NULL, 0);
    printf("bin: %d", mallctlnametomib("arenas.bin.0.size", mib, &len));
    printf(" %zu\n", len);
    size_t last = 0;
    bool is_growing = true;
    for (unsigned i = 0; i < nbins; i++, last = value) {
        mib[2] = i;
        if (mallctlbymib(mib, len, &value, &n, NULL, 0) != 0 || value <= last) is_growing = false;
        if (nallocx(value, 0) != value || nallocx(last + 1, 0) != value) is_growing = false;
    }
    printf("sizes grow, and nallocx agrees: %d\n", is_growing);
    mib[2] = nbins + 1;
    printf("one too far: %d\n", mallctlbymib(mib, len, &value, &n, NULL, 0));
    printf("too short a mib: %d\n", mallctlbymib(mib, 2, &value, &n, NULL, 0));
    printf("short buffer: %d", mallctlnametomib("arenas.bin.0.size", mib, &small));
    printf(" %zu\n", small);
    printf("bymib of nothing: %d\n", mallctlbymib(mib, 0, &value, &n, NULL, 0));
}

static void allocate(void) {
    char *p = mallocx(1000, MALLOCX_ALIGN(4096) | MALLOCX_ZERO);
    size_t real = sallocx(p, 0);
    printf("aligned %d, zero %d\n", ((uintptr_t)p & 4095) == 0, p[0] == 0 && p[999] == 0);
    printf("real size is usable size %d, nallocx %d\n", real == malloc_usable_size(p),
           real == nallocx(1000, MALLOCX_ALIGN(4096)));
    memset(p, 7, 1000);
    p = rallocx(p, 300000, MALLOCX_ALIGN(4096) | MALLOCX_ZERO);
    printf("moved: %d %d %d\n", p[0] == 7 && p[999] == 7, p[299999] == 0,
           ((uintptr_t)p & 4095) == 0);
    size_t before = sallocx(p, 0);
    size_t after = xallocx(p, before, 0, 0);
    printf("in place: %d\n", after == before);
    printf("in place, smaller: %d\n", xallocx(p, 1, 0, 0) >= 1);
    sdallocx(p, 300000 > sallocx(p, 0) ? 1 : 300000, MALLOCX_ALIGN(4096));
    p = mallocx(3 << 20, 0);
    size_t less = xallocx(p, 100000, 0, 0);
    printf("in place, much smaller: %d %d\n", less >= 100000 && less < 200000,
           less == sallocx(p, 0));
    size_t more = xallocx(p, 300000, 1 << 20, 0); /* what is behind it was just given back */
    printf("in place, larger: %d %d\n", more >= 300000 + (1 << 20), more == sallocx(p, 0));
    dallocx(p, 0);
    printf("too large: %d %d\n", mallocx(SIZE_MAX / 2, 0) == NULL, nallocx(SIZE_MAX, 0) == 0);
    errno = 0;
    void *q = realloc(malloc(10), 0);
    printf("realloc to 0: %d %d\n", q == NULL, errno);
    printf("usable of NULL: %zu\n", malloc_usable_size(NULL));
}

int main(void) {
    read_all();
    write_some();
    number_things();
    make_caches();
    use_mibs();
    allocate();
    return 0;
}
