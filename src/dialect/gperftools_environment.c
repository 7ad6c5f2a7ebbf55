/* gperftools_environment.c - gperftools' variables: each is a row, and what has a meaning here becomes an option.
 *
 *   HEAPPROFILE, HEAP_PROFILE_...               kept for gperftools_heap.c
 *   TCMALLOC_SAMPLE_PARAMETER=N                 sample=N
 *   TCMALLOC_HEAP_LIMIT_MB=N                    limit=N mebibytes
 *   TCMALLOC_RELEASE_RATE=R                     retain=4M/R; 0: nothing is ever given back
 *   TCMALLOC_AGGRESSIVE_DECOMMIT=1              retain=0,purge_delay=0
 *   TCMALLOC_DISABLE_MEMORY_RELEASE=1           as a release rate of 0
 *   the others                                  read, kept for who asks (properties), or without a meaning here: docs/dialects.md
 *
 * An option that was set by our own name counts more: one that differs from its default is left as it is.
 *
 * Climate: malloc (it runs inside the first one).   Owns: vt__gperftools.
 */
#include "conf/options.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "os/os.h"

#define NEVER_RELEASE TiB(1) /* as much as `retain` takes */

struct vt_gperftools vt__gperftools = {
    .wants_cleanup = true, .release_rate = 1, .max_total_thread_cache_bytes = MiB(32)};

int64_t vt__flag_allocation_interval = (int64_t)GiB(1);
int64_t vt__flag_deallocation_interval;
int64_t vt__flag_inuse_interval = (int64_t)MiB(100);
int64_t vt__flag_time_interval;

/* Written by one row each, and read once. */
static struct {
    int64_t sample_parameter, heap_limit_mb;
    bool disables_release;
} read = {.sample_parameter = -1};

enum kind { SWITCH, LONG, INT, DOUBLE, TEXT, UNSIGNED, IGNORED };

struct row {
    const char *name;
    enum kind kind;
    void *to;
};

/* clang-format off */
static const struct row rows[] = {
    {"HEAPPROFILE",                           TEXT,     &vt__gperftools.heap_profile},
    {"HEAPPROFILE_USE_PID",                   SWITCH,   &vt__gperftools.wants_pid},
    {"HEAPPROFILESIGNAL",                     TEXT,     &vt__gperftools.heap_signal},
    {"HEAP_PROFILE_ALLOCATION_INTERVAL",      LONG,     &vt__flag_allocation_interval},
    {"HEAP_PROFILE_DEALLOCATION_INTERVAL",    LONG,     &vt__flag_deallocation_interval},
    {"HEAP_PROFILE_INUSE_INTERVAL",           LONG,     &vt__flag_inuse_interval},
    {"HEAP_PROFILE_TIME_INTERVAL",            LONG,     &vt__flag_time_interval},
    {"HEAP_PROFILE_MMAP",                     SWITCH,   &vt__gperftools.wants_mmap},
    {"HEAP_PROFILE_ONLY_MMAP",                SWITCH,   &vt__gperftools.wants_only_mmap},
    {"HEAP_PROFILE_MMAP_LOG",                 SWITCH,   &vt__gperftools.wants_mmap_log},
    {"HEAP_PROFILE_CLEANUP",                  SWITCH,   &vt__gperftools.wants_cleanup},
    {"TCMALLOC_SAMPLE_PARAMETER",             LONG,     &read.sample_parameter},
    {"TCMALLOC_RELEASE_RATE",                 DOUBLE,   &vt__gperftools.release_rate},
    {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", UNSIGNED, &vt__gperftools.max_total_thread_cache_bytes},
    {"TCMALLOC_HEAP_LIMIT_MB",                LONG,     &read.heap_limit_mb},
    {"TCMALLOC_AGGRESSIVE_DECOMMIT",          SWITCH,   &vt__gperftools.is_aggressive},
    {"TCMALLOC_DISABLE_MEMORY_RELEASE",       SWITCH,   &read.disables_release},
    {"TCMALLOC_STACKTRACE_METHOD",            TEXT,     &vt__gperftools.stack_method},
    {"TCMALLOC_STACKTRACE_METHOD_VERBOSE",    SWITCH,   &vt__gperftools.is_stack_verbose},
    {"TCMALLOC_TRANSFER_NUM_OBJ",             IGNORED,  NULL},
    {"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", IGNORED,  NULL},
    {"TCMALLOC_SKIP_MMAP",                    IGNORED,  NULL},
    {"TCMALLOC_SKIP_SBRK",                    IGNORED,  NULL},
    {"TCMALLOC_OVERRIDE_PAGESIZE",            IGNORED,  NULL},
    {"TCMALLOC_ENABLE_SIZED_DELETE",          IGNORED,  NULL},
    {"TCMALLOC_MEMFS_MALLOC_PATH",            IGNORED,  NULL},
    {"TCMALLOC_MEMFS_LIMIT_MB",               IGNORED,  NULL},
    {"TCMALLOC_MEMFS_ABORT_ON_FAIL",          IGNORED,  NULL},
    {"TCMALLOC_MEMFS_IGNORE_MMAP_FAIL",       IGNORED,  NULL},
    {"TCMALLOC_MEMFS_MAP_PRIVATE",            IGNORED,  NULL},
    {"TCMALLOC_MEMFS_DISABLE_FALLBACK",       IGNORED,  NULL},
    {"TCMALLOC_DEVMEM_START",                 IGNORED,  NULL},
    {"TCMALLOC_DEVMEM_LIMIT",                 IGNORED,  NULL},
    {"TCMALLOC_DISABLE_REPLACEMENT",          IGNORED,  NULL},
    {"PERFTOOLS_VERBOSE",                     INT,      &vt__gperftools.verbose},
    {"PERFTOOLS_UNITTEST",                    IGNORED,  NULL},
    {"HEAPCHECK",                             TEXT,     &vt__gperftools.heap_check},
    {"HEAP_CHECK_AFTER_DESTRUCTORS",          IGNORED,  NULL},
    {"HEAP_CHECK_IGNORE_GLOBAL_LIVE",         IGNORED,  NULL},
    {"HEAP_CHECK_IGNORE_THREAD_LIVE",         IGNORED,  NULL},
    {"HEAP_CHECK_IDENTIFY_LEAKS",             IGNORED,  NULL},
    {"HEAP_CHECK_TEST_POINTER_ALIGNMENT",     IGNORED,  NULL},
    {"HEAP_CHECK_POINTER_SOURCE_ALIGNMENT",   IGNORED,  NULL},
    {"HEAP_CHECK_MAX_POINTER_OFFSET",         IGNORED,  NULL},
    {"HEAP_CHECK_MAX_LEAKS",                  IGNORED,  NULL},
    {"HEAP_CHECK_RUN_UNDER_GDB",              IGNORED,  NULL},
    {"HEAP_CHECK_DUMP_DIRECTORY",             IGNORED,  NULL},
    /* of the debug libraries, gperftools_debug.c */
    {"TCMALLOC_TRACE",                        IGNORED,  NULL},
    {"TCMALLOC_TRACE_FILE",                   IGNORED,  NULL},
    {"TCMALLOC_PAGE_FENCE",                   IGNORED,  NULL},
    {"TCMALLOC_PAGE_FENCE_NEVER_RECLAIM",     IGNORED,  NULL},
    {"TCMALLOC_PAGE_FENCE_READABLE",          IGNORED,  NULL},
    {"TCMALLOC_RECLAIM_MEMORY",               IGNORED,  NULL},
    {"TCMALLOC_MAX_FREE_QUEUE_SIZE",          IGNORED,  NULL},
    {"TCMALLOC_SYMBOLIZE_STACKTRACE",         IGNORED,  NULL},
};
/* clang-format on */

/* Whose other variables are a mistake. */
static const char *const prefixes[] = {"TCMALLOC_", "HEAP_PROFILE_", "HEAPPROFILE_", "HEAP_CHECK_"};

bool vt__gperftools_is_on(const char *v) {
    return *v == '\0' || *v == 't' || *v == 'T' || *v == 'y' || *v == 'Y' || *v == '1';
}

/* As strtoll in base 10: what follows the digits is nothing, no digits are 0. */
int64_t vt__gperftools_number(const char *v) {
    uint64_t n = 0;
    bool is_minus = false;
    while (*v == ' ' || (*v >= '\t' && *v <= '\r')) v++;
    if (*v == '-' || *v == '+') is_minus = *v++ == '-';
    for (; *v >= '0' && *v <= '9'; v++)
        n = n > (INT64_MAX - 9) / 10 ? INT64_MAX : n * 10 + (uint64_t)(*v - '0');
    return is_minus ? -(int64_t)n : (int64_t)n;
}

/* Without an exponent, which nobody writes here. */
static double fraction(const char *v) {
    double n = (double)vt__gperftools_number(v), place = 1;
    while (*v != '\0' && *v != '.') v++;
    if (*v == '\0') return n;
    for (v++; *v >= '0' && *v <= '9'; v++) n += (double)(*v - '0') * (place /= 10);
    return n;
}

static void set(const struct row *r, const char *value) {
    int64_t n;
    switch (r->kind) {
    case SWITCH: *(bool *)r->to = vt__gperftools_is_on(value); break;
    case LONG: *(int64_t *)r->to = vt__gperftools_number(value); break;
    case INT: *(int *)r->to = (int)vt__gperftools_number(value); break;
    case DOUBLE: *(double *)r->to = fraction(value); break;
    case TEXT: *(const char **)r->to = value; break;
    case UNSIGNED:
        n = vt__gperftools_number(value);
        *(uint64_t *)r->to = n > 0 ? (uint64_t)n : 0;
        break;
    case IGNORED: break;
    }
}

static bool is_named(const char *variable, const char *name) {
    size_t n = vt__str_len(name);
    return vt__str_starts(variable, name) && variable[n] == '=';
}

static bool read_variable(const char *v) {
    for (size_t i = 0; i < vt_countof(rows); i++)
        if (is_named(v, rows[i].name)) {
            set(&rows[i], v + vt__str_len(rows[i].name) + 1);
            return true;
        }
    return false;
}

static const char *name_of(size_t i) { return rows[i].name; }

/* A letter too few in the prefix itself is a mistake that notes on the web have. */
static bool is_meant_for_us(const char *v) {
    for (size_t i = 0; i < vt_countof(prefixes); i++)
        if (vt__str_starts(v, prefixes[i])) return true;
    return vt__str_starts(v, "HEAPROFILE=");
}

static void warn_unknown(const char *v) {
    static const struct vt_known_names known = {name_of, vt_countof(rows), ""};
    size_t n = 0;
    if (!is_meant_for_us(v)) return;
    while (v[n] != '\0' && v[n] != '=') n++;
    vt__warn_unknown("unknown variable", v, n, " in the environment", &known);
}

static bool is_default(enum vt_option o) { return vt__option_values[o] == vt__option_rows[o].dflt; }

static void set_option(enum vt_option o, uint64_t value) {
    if (is_default(o)) vt__option_values[o] = vt_min(value, vt__option_rows[o].high);
}

uint64_t vt__gperftools_retain(void) {
    const struct vt_gperftools *g = &vt__gperftools;
    if (read.disables_release) return NEVER_RELEASE;
    if (g->is_aggressive) return 0;
    if (g->release_rate <= 0) return NEVER_RELEASE;
    double n = (double)vt__option_rows[VT_OPT_retain].dflt / g->release_rate;
    return n < (double)NEVER_RELEASE ? (uint64_t)n : NEVER_RELEASE;
}

static void set_options(void) {
    const struct vt_gperftools *g = &vt__gperftools;
    if (read.sample_parameter >= 0 && g->has_sampler)
        set_option(VT_OPT_sample, (uint64_t)read.sample_parameter);
    if (!g->has_sampler) set_option(VT_OPT_sample, 0);
    if (read.heap_limit_mb > 0)
        set_option(VT_OPT_limit, vt_min((uint64_t)read.heap_limit_mb, TiB(128) >> 20) << 20);
    set_option(VT_OPT_retain, vt__gperftools_retain());
    if (g->is_aggressive) set_option(VT_OPT_purge_delay, 0);
    bool has_file = g->has_heap_profiler && g->heap_profile != NULL && *g->heap_profile != '\0';
    if (has_file && vt__flag_time_interval > 0)
        set_option(VT_OPT_heap_seconds, (uint64_t)vt__flag_time_interval);
}

void vt__gperftools_read_environment(void) {
    struct vt_gperftools *g = &vt__gperftools;
    g->is_read = true;
    for (const char *const *e = vt__os_environment(); e != NULL && *e != NULL; e++)
        if (!read_variable(*e)) warn_unknown(*e);
    g->max_total_thread_cache_bytes = vt__gperftools_clip_cache(g->max_total_thread_cache_bytes);
    set_options();
    vt__debug_begin();
}

uint64_t vt__gperftools_clip_cache(uint64_t n_bytes) {
    return vt_max(KiB(512), vt_min(n_bytes, GiB(1)));
}
