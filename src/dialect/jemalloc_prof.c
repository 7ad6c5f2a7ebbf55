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

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/probe.h"
#include "vitrine.h"

#define N_HOOKS 4
enum { HOOK_BACKTRACE, HOOK_DUMP, HOOK_SAMPLE, HOOK_SAMPLE_FREE };

static struct {
    _Atomic(void *) hook[N_HOOKS];
    _Atomic bool has_prefix; /* an empty one: no automatic dumps */
    uint64_t started_ms;
} prof;

bool vt__je_prof_is_on(void) { return vt_je(prof) != 0; }
uint64_t vt__je_started_ms(void) { return prof.started_ms; }

static uint64_t period_of(uint64_t lg) { return UINT64_C(1) << vt_min(lg, 40); }

/* ---- options ---- */

void vt__je_prof_read_options(void) {
    if (!vt__je_prof_is_on()) return;
    if (vt_opt(sample) == vt__option_rows[VT_OPT_sample].dflt)
        vt_opt(sample) = period_of((uint64_t)vt_je(lg_prof_sample));
    vt__sample_pause(!vt_je(prof_active));
    vt__sample_threads(vt_je(prof_thread_active_init) != 0);
    vt__sample_name_threads(vt_je(prof_sys_thread_name) != 0);
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
    if (!vt__je_prof_is_on()) return ENOENT;
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
    if (!vt__je_prof_is_on()) return ENOENT;
    if (is == NULL) return EAGAIN;
    *is = value != 0 ? VT_SAMPLING_ON : VT_SAMPLING_OFF;
    return 0;
}

int vt__je_read_thread_prof_name(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    if (!vt__je_prof_is_on()) return ENOENT;
    *out = (uintptr_t)vt__heap_thread_name(vt__heap_thread_number());
    return 0;
}

int vt__je_write_thread_prof_name(const struct vt_je_call *c, uint64_t value) {
    const char *name = (const char *)(uintptr_t)value;
    if (!vt__je_prof_is_on()) return ENOENT;
    if (c->oldp != NULL || c->oldlenp != NULL) return EPERM; /* either, not both */
    if (vt_je(prof_sys_thread_name)) return EPERM;
    if (name == NULL) return EINVAL;
    for (const char *s = name; *s != '\0'; s++)
        if (*s != ' ' && *s != '\t' && (*s <= ' ' || *s > '~')) return EINVAL;
    vt__heap_set_thread_name(name);
    return 0;
}

int vt__je_read_prof_lg_sample(const struct vt_je_call *c, uint64_t *out) {
    uint64_t period = vt__sample_period();
    (void)c;
    *out = vt__je_prof_is_on() && period != 0 ? vt_log2(period) : 0;
    return 0;
}

int vt__je_write_prof_reset(const struct vt_je_call *c, uint64_t value) {
    if (!vt__je_prof_is_on()) return ENOENT;
    vt__sample_forget();
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
    if (!vt__je_prof_is_on()) return value != 0 ? ENOENT : 0;
    vt_je(prof_gdump) = value != 0;
    return 0;
}

int vt__je_write_prof_dump(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return vt__je_prof_is_on() ? EFAULT : ENOENT;
}

int vt__je_write_prof_prefix(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return vt__je_prof_is_on() ? 0 : ENOENT;
}

/* Logs of single allocations are not written. */
int vt__je_write_prof_log(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return vt__je_prof_is_on() ? EFAULT : ENOENT;
}

int vt__je_write_prof_stats(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return ENOENT;
}

int vt__je_read_hook(const struct vt_je_call *c, uint64_t *out) {
    if (c->oldp == NULL && !c->has_new) return EINVAL;
    *out = (uintptr_t)atomic_load_explicit(&prof.hook[c->what], memory_order_relaxed);
    return 0;
}

int vt__je_write_hook(const struct vt_je_call *c, uint64_t value) {
    if (!vt__je_prof_is_on()) return ENOENT;
    if (c->what == HOOK_BACKTRACE && value == 0) return EINVAL;
    atomic_store_explicit(&prof.hook[c->what], (void *)(uintptr_t)value, memory_order_relaxed);
    return 0;
}

int vt__je_read_recent_max(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    if (!vt__je_prof_is_on()) return ENOENT;
    *out = (uint64_t)vt_je(prof_recent_alloc_max);
    return 0;
}

int vt__je_write_recent_max(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    if ((int64_t)value < -1) return EINVAL;
    vt_je(prof_recent_alloc_max) = (int64_t)value;
    return 0;
}

int vt__je_write_recent_dump(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return ENOENT;
}

void vt__je_prof_begin(void) {}
void vt__je_prof_end(void) {}

void vt__jemalloc_begin(void) {
    prof.started_ms = vt__os_now_ms();
    vt__je_prof_begin();
}

void vt__jemalloc_end(void) { vt__je_prof_end(); }
