/* gperftools_heap.c - heap profiles by gperftools' names: heap-profiler.h, and HEAPPROFILE with what belongs to it.
 *
 * Every allocation is counted (exact mode), with the size that was asked for. Files are PREFIX.NNNN.heap; in a child,
 * whether by fork or by exec, PREFIX_PID.NNNN.heap; in a parallel job's, gperftools_rank.c. A line on stderr tells of each, and
 * why.
 *
 * Translation, no logic.   Climate: host.
 */
#include "compat/gperftools/heap-profiler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "conf/options.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_rank.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "life/mark.h"
#include "os/os.h"
#include "os/place.h"
#include "probe/exact.h"
#include "probe/maps.h"

#define MAX_SIGNAL 64

/* ---- what is said ---- */

static void sum_up(uint64_t *alloc_bytes, uint64_t *live_bytes) {
    struct vt_exact_site s;
    *alloc_bytes = *live_bytes = 0;
    for (uint32_t cursor = 0; vt__exact_next_stack(&cursor, &s);) {
        *alloc_bytes += s.alloc.requested_bytes;
        *live_bytes += s.alloc.requested_bytes - s.freed.requested_bytes;
    }
}

static void put_amount(struct vt_text *t, uint64_t n, const char *words) {
    vt__text_uint(t, n);
    vt__text_put(t, words);
}

static void put_in_use_at_exit(struct vt_text *t, uint64_t live_bytes) {
    vt__text_put(t, "Exiting, ");
    if (live_bytes >> 20 != 0)
        put_amount(t, live_bytes >> 20, " MB in use");
    else if (live_bytes >> 10 != 0)
        put_amount(t, live_bytes >> 10, " kB in use");
    else
        put_amount(t, live_bytes, " bytes in use");
}

static void put_cause(struct vt_text *t, enum vt_dump_cause cause) {
    uint64_t alloc_bytes, live_bytes;
    sum_up(&alloc_bytes, &live_bytes);
    switch (cause) {
    case VT_CAUSE_ALLOCATED:
        put_amount(t, alloc_bytes >> 20, " MB allocated cumulatively, ");
        put_amount(t, live_bytes >> 20, " MB currently in use");
        break;
    case VT_CAUSE_FREED:
        put_amount(t, (alloc_bytes - live_bytes) >> 20, " MB freed cumulatively, ");
        put_amount(t, live_bytes >> 20, " MB currently in use");
        break;
    case VT_CAUSE_TIME: put_amount(t, vt_opt(heap_seconds), " sec since the last dump"); break;
    case VT_CAUSE_SIGNAL: vt__text_put(t, "signal"); break;
    case VT_CAUSE_EXIT: put_in_use_at_exit(t, live_bytes); break;
    default: put_amount(t, live_bytes >> 20, " MB currently in use");
    }
}

static void say_writing(const char *path, enum vt_dump_cause cause, const char *words) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Dumping heap profile to ");
    vt__text_shown(&t, path, vt__str_len(path));
    vt__text_put(&t, " (");
    if (words != NULL)
        vt__text_put(&t, words);
    else
        put_cause(&t, cause);
    vt__text_char(&t, ')');
    vt__say(VT_LEVEL_PLAIN, &t);
}

static void say_failed(const char *path, int err) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, "Failed dumping heap profile to ");
    vt__text_shown(&t, path, vt__str_len(path));
    vt__text_put(&t, ". Numeric errno is ");
    vt__text_int(&t, -err);
    vt__say(VT_LEVEL_ERROR, &t);
}

static void say(enum vt_level level, const char *a, const char *subject, const char *b) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    vt__text_put(&t, a);
    vt__text_shown(&t, subject, vt__str_len(subject));
    vt__text_put(&t, b);
    vt__say(level, &t);
}

static const struct vt_heap_manner manner = {.style = VT_NAMES_GPERFTOOLS,
                                             .format = VT_GPERFTOOLS_HEAP,
                                             .is_due_by_requested = true,
                                             .counts_on = true,
                                             .one_interval_for_all = true,
                                             .writing = say_writing,
                                             .failed = say_failed};

/* ---- beginning and end ---- */

/* Unless the option was set by its own name. */
static void set_interval(enum vt_option o, int64_t value) {
    static uint64_t set_here[VT_OPT_COUNT];
    uint64_t dflt = vt__option_rows[o].dflt;
    if (vt__option_values[o] != dflt && vt__option_values[o] != set_here[o]) return;
    set_here[o] = value > 0 ? vt_min((uint64_t)value, vt__option_rows[o].high) : dflt;
    vt__option_values[o] = set_here[o];
}

static void set_options(void) {
    const struct vt_gperftools *g = &vt__gperftools;
    set_interval(VT_OPT_heap_interval, vt__flag_allocation_interval);
    set_interval(VT_OPT_heap_freed, vt__flag_deallocation_interval);
    set_interval(VT_OPT_heap_growth, vt__flag_inuse_interval);
    set_interval(VT_OPT_heap_seconds, vt__flag_time_interval);
    if (g->wants_only_mmap && vt_opt_text(heap_kind) == NULL)
        vt_opt(heap_kind) = (uintptr_t) "mmap";
    if (g->wants_mmap) vt__life_record_maps("HEAP_PROFILE_MMAP");
    if (g->wants_only_mmap) vt__life_record_maps("HEAP_PROFILE_ONLY_MMAP");
}

static int start(const char *prefix) {
    set_options();
    vt__life_heap_set_manner(&manner);
    say(VT_LEVEL_PLAIN, "Starting tracking the heap", "", "");
    if (vt__gperftools.wants_mmap_log) vt__maps_set_listener(vt__gperftools_log_mmap);
    if (!vt__gperftools.wants_only_mmap) {
        int err = vt__exact_set(true);
        if (err != 0) return err;
    }
    return vt__life_heap_start(prefix);
}

static void watch_signal(const char *text) {
    int64_t number = vt__gperftools_number(text);
    char digits[24];
    struct vt_text t = VT_TEXT(digits);
    vt__text_int(&t, number);
    vt__text_char(&t, '\0');
    struct sigaction before;
    if (number < 1 || number > MAX_SIGNAL) {
        say(VT_LEVEL_FATAL, "Signal number ", text, " is invalid");
    } else if (sigaction((int)number, NULL, &before) != 0 ||
               vt__life_heap_on_signal((int)number) != 0) {
        say(VT_LEVEL_FATAL, "Failed to set signal. Perhaps signal number ", text, " is invalid");
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        say(VT_LEVEL_FATAL, "Signal ", digits, " already in use");
    } else {
        say(VT_LEVEL_INFO, "Using signal ", digits, " as heap profiling switch");
    }
}

struct old_files {
    const char *prefix; /* without its folder */
    int folder;
};

/* PREFIX.*.heap */
static void remove_old(const char *name, void *arg) {
    static const char end[] = ".heap";
    const struct old_files *old = arg;
    size_t n = vt__str_len(name), n_prefix = vt__str_len(old->prefix), n_end = sizeof(end) - 1;
    if (n >= n_prefix + 1 + n_end && vt__str_starts(name, old->prefix) && name[n_prefix] == '.' &&
        vt__str_equal(name + n - n_end, end))
        vt__os_unlink(old->folder, name);
}

static void clean_up(char *path) {
    char buf[VT_PLACE_BYTES];
    size_t n = vt__str_len(path);
    while (n > 0 && path[n - 1] != '/') n--;
    struct old_files old = {path + n, -1};
    char first = path[n];
    path[n] = '\0';
    old.folder = vt__place_folder(n == 0 ? "." : path, buf);
    path[n] = first;
    if (old.folder < 0) return;
    int names = vt__place_names(old.folder);
    if (names >= 0) {
        vt__os_each_name(names, remove_old, &old);
        vt__os_close(names);
    }
    vt__os_close(old.folder);
}

void vt__gperftools_heap_begin(void) {
    static const char *const names[] = {"HEAPPROFILE="};
    const struct vt_gperftools *g = &vt__gperftools;
    char path[VT_PATH_BYTES];
    struct vt_text t = {path, sizeof(path) - 32, 0, false, NULL, NULL};
    if (vt__os_is_ignored("HEAPPROFILE"))
        say(VT_LEVEL_WARNING,
            "HeapProfiler: ignoring HEAPPROFILE because program seems to be setuid", "", "");
    if (g->heap_profile == NULL || *g->heap_profile == '\0' || vt_opt_text(heap_profile) != NULL)
        return; /* not asked for, or by our own name */
    vt__text_put(&t, g->heap_profile);
    path[t.len] = '\0';
    if (t.is_cut) return;
    uint64_t first_pid = vt__life_cut_mark(path);
    bool is_child = g->wants_pid || (first_pid != 0 && first_pid != (uint64_t)vt__os_pid());
    if (first_pid == 0) vt__life_mark(names, vt_countof(names), path);
    t.len = vt__str_len(path);
    if (vt__gperftools_put_rank(&t)) is_child = true;
    path[t.len] = '\0';
    if (t.is_cut || start(path) != 0) return;
    if (is_child) {
        vt__life_heap_set_process(VT_PROCESS_EXECED);
        t.len = vt__str_len(path);
        t.cap = sizeof(path) - 1;
        vt__text_char(&t, '_');
        vt__text_uint(&t, (uint64_t)vt__os_pid());
        path[t.len] = '\0';
    }
    if (g->wants_cleanup) clean_up(path);
    if (g->heap_signal != NULL) watch_signal(g->heap_signal);
}

/* ---- functions ---- */

VT_EXPORT void HeapProfilerStart(const char *prefix) {
    if (vt__life_start() != 0 || vt__life_heap_is_on()) return;
    if (start(prefix) == 0) vt__life_helper_begin();
}

VT_EXPORT int IsHeapProfilerRunning(void) { return vt__life_heap_is_on(); }

VT_EXPORT void HeapProfilerStop(void) {
    if (!vt__life_heap_is_on()) return;
    vt__life_heap_stop();
    (void)vt__exact_set(false);
    vt__maps_set(false);
    vt__maps_set_listener(NULL);
}

VT_EXPORT void HeapProfilerDump(const char *reason) {
    (void)vt__life_heap_dump_because(VT_CAUSE_ASKED, reason != NULL ? reason : "");
}

VT_EXPORT char *GetHeapProfile(void) {
    struct vt_long_text text = {0};
    if (vt__life_heap_is_on())
        (void)vt__life_heap_write(VT_GPERFTOOLS_HEAP,
                                  vt__exact_is_set() ? VT_HEAP_EXACT : VT_HEAP_MMAP,
                                  vt__long_text_put, &text);
    char *copy = malloc(text.len + 1); /* allowed: the caller frees it by this library's name */
    if (copy != NULL) {
        __builtin_memcpy(copy, text.at, text.len);
        copy[text.len] = '\0';
    }
    vt__long_text_drop(&text);
    return copy;
}
