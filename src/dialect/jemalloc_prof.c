/* jemalloc_prof.c - heap profiles in jemalloc's manner: opt.prof..., prof..., thread.prof..., and the leak summary.
 *
 *   lg_prof_sample      the period of our samples        prof.active   samples are paused or not; threads by themselves
 *   lg_prof_interval    heap_interval                    prof.gdump    one whenever the heap takes more address space
 *   names               PREFIX.PID.SEQ.{i,u,m}SEQ.heap, PREFIX.PID.SEQ.f.heap at exit, in jemalloc's text
 *
 * Climate: host; options are read inside the first malloc.   Owns: the state below.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "dump/heap_total.h"
#include "heap/upcalls.h"
#include "compat/jemalloc/jemalloc.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/probe.h"
#include "vitrine.h"

#define PROF_FOR_LEAKS 2 /* the value of opt.prof then */

static struct {
    _Atomic bool is_asked; /* the dump that is written: by mallctl */
    uint64_t started_ms;
    bool is_for_leaks; /* prof_leak alone switched it on: nothing is dumped on the way */
    char final[VT_PATH_BYTES];
} prof;

bool vt__je_prof_is_on(void) { return vt_je(prof) != 0; }
uint64_t vt__je_started_ms(void) { return prof.started_ms; }

static uint64_t period_of(uint64_t lg) { return UINT64_C(1) << vt_min(lg, 40); }

/* ---- files ---- */

static void writing(const char *path, enum vt_dump_cause cause, const char *words) {
    struct vt_text t = {prof.final, sizeof(prof.final) - 1, 0, false, NULL, NULL};
    (void)words;
    /* relaxed: two at once may have a line too many or too few */
    atomic_store_explicit(&prof.is_asked, cause == VT_CAUSE_ASKED, memory_order_relaxed);
    if (cause != VT_CAUSE_EXIT) return;
    vt__text_put(&t, path);
    prof.final[t.len] = '\0';
}

static void failed(const char *path, int err) {
    if (atomic_load_explicit(&prof.is_asked, memory_order_relaxed)) return; /* mallctl says so */
    bool is_open = err == -ENOSPC || err == -EFBIG || err == -EIO || err == -EDQUOT;
    if (is_open)
        vt__je_say("failed to write during heap profile flush", "", "");
    else
        vt__je_say("failed to open \"", path, "\"");
}

static struct vt_heap_manner manner = {.style = VT_NAMES_JEMALLOC,
                                       .format = VT_JEMALLOC_HEAP,
                                       .counts_on = true,
                                       .child_counts_on = true,
                                       .counts_from_0 = true,
                                       .writing = writing,
                                       .failed = failed,
                                       .written = vt__je_prof_hook};

/* "pid:[4026531836]" */
static uint64_t pid_namespace(void) {
    char text[64];
    uint64_t n = 0;
    (void)vt__os_read_link("/proc/self/ns/pid", text, sizeof(text));
    for (const char *s = text; *s != '\0'; s++)
        if (*s >= '0' && *s <= '9') n = n * 10 + (uint64_t)(*s - '0');
    return n;
}

/* ---- options ---- */

void vt__je_prof_read_options(void) {
    if (!vt__je_prof_is_on()) return;
    prof.is_for_leaks = vt_je(prof) == PROF_FOR_LEAKS;
    if (vt_opt(sample) == vt__option_rows[VT_OPT_sample].dflt)
        vt_opt(sample) = period_of((uint64_t)vt_je(lg_prof_sample));
    vt__sample_pause(!vt_je(prof_active));
    vt__sample_threads(vt_je(prof_thread_active_init) != 0);
    vt__sample_name_threads(vt_je(prof_sys_thread_name) != 0);
    vt_opt(heap_exit) = 0; /* the last one is written by vt__je_prof_end */
    if (vt_je(lg_prof_interval) >= 0 && !prof.is_for_leaks && vt_opt(heap_interval) == 0)
        vt_opt(heap_interval) = UINT64_C(1) << vt_min((uint64_t)vt_je(lg_prof_interval), 46);
}

/* ---- nodes ---- */

int vt__je_read_prof_active(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_prof_is_on() && !vt__sample_is_paused();
    return 0;
}

int vt__je_write_prof_active(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    if (!vt__je_prof_is_on()) return value != 0 ? ENOENT : 0;
    vt__heap_drop_thread_cache(); /* what is ready in the lists is not sampled */
    vt__sample_pause(value == 0);
    return 0;
}

int vt__je_read_prof_thread_active_init(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_prof_is_on() && vt__sample_has_threads();
    return 0;
}

int vt__je_write_prof_thread_active_init(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    vt__sample_threads(value != 0);
    return 0;
}

int vt__je_read_thread_prof_active(const struct vt_je_call *c, uint64_t *out) {
    const uint8_t *is = vt__heap_sampling();
    (void)c;
    if (is == NULL) return EAGAIN;
    bool is_on = *is == VT_SAMPLING_AS_ALL ? vt__sample_has_threads() : *is == VT_SAMPLING_ON;
    *out = vt__je_prof_is_on() && is_on;
    return 0;
}

int vt__je_write_thread_prof_active(const struct vt_je_call *c, uint64_t value) {
    uint8_t *is = vt__heap_sampling();
    (void)c;
    if (is == NULL) return EAGAIN;
    *is = value != 0 ? VT_SAMPLING_ON : VT_SAMPLING_OFF;
    return 0;
}

int vt__je_read_thread_prof_name(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uintptr_t)vt__thread_name(vt__heap_thread_number());
    return 0;
}

int vt__je_write_thread_prof_name(const struct vt_je_call *c, uint64_t value) {
    const char *name = (const char *)(uintptr_t)value;
    if (c->oldp != NULL || c->oldlenp != NULL) return EPERM; /* either, not both */
    if (vt_je(prof_sys_thread_name)) return EPERM;
    if (name == NULL) return EINVAL;
    for (const char *s = name; *s != '\0'; s++)
        if (*s != ' ' && *s != '\t' && (*s <= ' ' || *s > '~')) return EINVAL;
    vt__thread_set_name(name);
    return 0;
}

int vt__je_read_prof_lg_sample(const struct vt_je_call *c, uint64_t *out) {
    uint64_t period = vt__sample_period();
    (void)c;
    *out = vt__je_prof_is_on() && period != 0 ? vt_log2(period) : 0;
    return 0;
}

int vt__je_write_prof_reset(const struct vt_je_call *c, uint64_t value) {
    vt__sample_forget();
    vt__je_forget_counts();
    vt__heap_drop_thread_cache();
    if (c->has_new) vt__sample_set_period(period_of(value));
    return 0;
}

int vt__je_read_prof_interval(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    int64_t lg = vt_je(lg_prof_interval);
    *out = vt__je_prof_is_on() && lg >= 0 ? UINT64_C(1) << lg : 0;
    return 0;
}

int vt__je_read_prof_gdump(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_prof_is_on() && vt_je(prof_gdump);
    return 0;
}

int vt__je_write_prof_gdump(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    vt_je(prof_gdump) = value != 0;
    vt__growth_asks_for_dumps(value != 0);
    return 0;
}

int vt__je_write_prof_dump(const struct vt_je_call *c, uint64_t value) {
    const char *path = (const char *)(uintptr_t)value;
    if (!c->has_new || path == NULL)
        return vt__life_heap_dump_because(VT_CAUSE_ASKED, NULL) == 0 ? 0 : EFAULT;
    int err = vt__life_heap_dump_file(path);
    if (err == 0) vt__je_prof_hook(path);
    return err == 0 ? 0 : EFAULT;
}

int vt__je_write_prof_prefix(const struct vt_je_call *c, uint64_t value) {
    const char *prefix = (const char *)(uintptr_t)value;
    if (!c->has_new || prefix == NULL) return EFAULT;
    if (prefix[0] == '\0')
        vt__life_heap_stop();
    else
        return vt__life_heap_start(prefix) == 0 ? 0 : EFAULT;
    return 0;
}

/* ---- begin and end ---- */

void vt__je_prof_begin(void) {
    if (!vt__je_prof_is_on() || vt__life_heap_is_on()) return; /* on: our own option asked for it */
    manner.has_inuse_only = !vt_je(prof_accum);
    if (vt_je(prof_pid_namespace)) manner.pid_namespace = pid_namespace();
    vt__life_heap_set_manner(&manner);
    if (vt_je_text(prof_prefix)[0] != '\0') (void)vt__life_heap_start(vt_je_text(prof_prefix));
    if (vt_je(prof_gdump) && !prof.is_for_leaks) vt__growth_asks_for_dumps(true);
}

static void put_count(struct vt_text *t, const char *before, uint64_t n, const char *noun) {
    vt__text_put(t, before);
    vt__text_uint(t, n);
    vt__text_put(t, noun);
    if (n != 1) vt__text_char(t, 's');
}

/* All that is in use now counts as leaked. */
static void report_leaks(void) {
    char line[200];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    struct vt_heap_total total;
    vt__heap_total(&total);
    if (total.objects == 0) return;
    put_count(&t, "Leak approximation summary: ~", total.bytes, " byte");
    put_count(&t, ", ~", total.objects, " object");
    put_count(&t, ", >= ", total.n_stacks, " context");
    line[t.len] = '\0';
    vt__je_say(line, "", "");
    vt__je_say("Run jeprof on \"", prof.final, "\" for leak detail");
    if (!vt_je(prof_leak_error)) return;
    vt__je_say("Exiting with error code because memory leaks were detected", "", "");
    (void)fflush(NULL); /* allowed: the program's own output, which exit would have written next */
    vt__os_exit(1);
}

void vt__je_prof_end(void) {
    if (!vt__je_prof_is_on()) return;
    if (vt_je(prof_leak_error) && !vt_je(prof_final))
        vt__je_say("prof_leak_error is set w/o prof_final.", "", "");
    if (!vt_je(prof_final)) return;
    int err = vt__life_heap_dump_because(VT_CAUSE_EXIT, NULL);
    if (vt_je(prof_leak) && err != -ENOENT) report_leaks();
}

void vt__jemalloc_begin(void) {
    prof.started_ms = vt__os_now_ms();
    vt__je_prof_begin();
    vt__je_names_begin();
    vt__je_samples_begin();
    vt__je_history_begin();
}

void vt__jemalloc_end(void) {
    if (vt_je(stats_print)) malloc_stats_print(NULL, NULL, vt_je_text(stats_print_opts));
    vt__je_history_end();
    vt__je_prof_end();
}
