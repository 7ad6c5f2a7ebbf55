/* jemalloc_samples.c - what is made of single samples: the program's hooks, prof.stats; jemalloc_history.c keeps them. And stats_interval,
 * which is looked at where hooks are called.
 *
 * A sample is seen inside malloc or free, with locks. Who is to be told by a hook is told after that, by the same thread, so that a
 * hook may allocate: jemalloc_names.c asks at the end of its slow paths (vt__je_deliver_samples). Only prof_backtrace is called
 * at once, as it walks the stack; it must not allocate.
 *
 * Climate: malloc where samples come, the nodes host.   Owns: the hooks, what waits for them, the counts.   Locks: none of its own;
 * what the watcher does is under the probe lock.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "heap/class.h"
#include "compat/jemalloc/jemalloc.h"
#include "probe/history.h"
#include "probe/probe.h"
#include "stack/stack.h"

enum { HOOK_BACKTRACE, HOOK_DUMP, HOOK_SAMPLE, HOOK_SAMPLE_FREE, N_HOOKS };
typedef void backtrace_hook(void **vec, unsigned *len, unsigned max);
typedef void dump_hook(const char *file);
typedef void sample_hook(const void *p, size_t size, void **bt, unsigned len, size_t usable);
typedef void sample_free_hook(const void *p, size_t usable);

static _Atomic(void *) hooks[N_HOOKS];

static void *hook(int which) { return atomic_load_explicit(&hooks[which], memory_order_acquire); }

void vt__je_prof_hook(const char *file) {
    dump_hook *call = NULL;
    void *at = hook(HOOK_DUMP);
    __builtin_memcpy(&call, &at, sizeof(call));
    if (call != NULL) call(file);
}

/* ---- what waits to be told ---- */

#define N_WAITING 64
enum { SLOT_EMPTY, SLOT_FILLED };

struct event {
    bool is_freed;
    struct vt_sampled sample;
};
static struct waiting {
    _Atomic uint8_t state; /* filled under the probe lock, emptied by its thread */
    uint32_t thread;       /* in which it happened */
    struct event event;
} waiting[N_WAITING];
static _Atomic unsigned n_waiting;

/* More than there is room for are not told: an arena that is reset may have many. Nor is what a hook allocates itself. */
static void wait_to_tell(const struct vt_sampled *s, bool is_freed) {
    uint32_t me = vt__heap_thread_number();
    if (hook(is_freed ? HOOK_SAMPLE_FREE : HOOK_SAMPLE) == NULL || vt__je_is_telling()) return;
    for (unsigned i = 0; i < N_WAITING; i++) {
        struct waiting *w = &waiting[i];
        /* acquire: its last thread has read it; pairs with the release in take_mine */
        if (atomic_load_explicit(&w->state, memory_order_acquire) != SLOT_EMPTY) continue;
        w->thread = me;
        w->event = (struct event){is_freed, *s};
        atomic_store_explicit(&w->state, SLOT_FILLED, memory_order_release);
        atomic_fetch_add_explicit(&n_waiting, 1, memory_order_relaxed);
        return;
    }
}

static bool take_mine(uint32_t me, struct event *out) {
    for (unsigned i = 0; i < N_WAITING; i++) {
        struct waiting *w = &waiting[i];
        if (atomic_load_explicit(&w->state, memory_order_acquire) != SLOT_FILLED || w->thread != me)
            continue;
        *out = w->event;
        atomic_store_explicit(&w->state, SLOT_EMPTY, memory_order_release);
        atomic_fetch_sub_explicit(&n_waiting, 1, memory_order_relaxed);
        return true;
    }
    return false;
}

static void tell(const struct event *e) {
    const struct vt_sampled *s = &e->sample;
    void *at = hook(e->is_freed ? HOOK_SAMPLE_FREE : HOOK_SAMPLE);
    if (at == NULL) return;
    if (e->is_freed) {
        sample_free_hook *call = NULL;
        __builtin_memcpy(&call, &at, sizeof(call));
        call(s->at, s->block_bytes);
        return;
    }
    sample_hook *call = NULL;
    const uintptr_t *pc = NULL;
    unsigned n = vt__depot_get(s->stack, &pc);
    __builtin_memcpy(&call, &at, sizeof(call));
    call(s->at, s->requested_bytes, (void **)(uintptr_t)pc, n, s->block_bytes);
}

static void tell_mine(void) {
    struct event mine;
    if (!vt__je_begin_telling()) return;
    while (take_mine(vt__heap_thread_number(), &mine)) tell(&mine);
    vt__je_end_telling();
}

/* Each interval that what all threads allocated comes to is printed once, by the thread that brought it there. */
static bool is_time_to_print(void) {
    static _Atomic uint64_t n_bytes;
    uint64_t interval = (uint64_t)vt_je(stats_interval), mine = vt__heap_new_bytes();
    if (mine == 0) return false;
    uint64_t before = atomic_fetch_add_explicit(&n_bytes, mine, memory_order_relaxed);
    return before / interval != (before + mine) / interval;
}

void vt__je_deliver_samples(void) {
    if (atomic_load_explicit(&n_waiting, memory_order_relaxed) != 0) tell_mine();
    if (vt_je(stats_interval) <= 0 || !is_time_to_print() || !vt__je_begin_telling()) return;
    malloc_stats_print(NULL, NULL, vt_je_text(stats_interval_opts));
    vt__je_end_telling();
}

/* ---- backtraces ---- */

#define N_OURS_BEFORE 8 /* frames in which to look for ours behind a hook's */

/* What a program finds here and may call: the stack without our own frames, and without a hook's that are before ours. */
static void own_backtrace(void **vec, unsigned *len, unsigned max) {
    struct vt_frames f;
    vt__stack_here(&f);
    unsigned first = 0;
    for (unsigned i = 0; i < vt_min(f.n, N_OURS_BEFORE); i++)
        if (vt__is_own(f.pc[i])) first = i + 1;
    while (first != 0 && first < f.n && vt__is_own(f.pc[first])) first++;
    *len = (unsigned)vt_min(f.n - first, max);
    for (unsigned i = 0; i < *len; i++) vec[i] = (void *)f.pc[first + i];
}

static uint32_t take_stack(struct vt_frames *f) {
    backtrace_hook *call = NULL;
    void *at = hook(HOOK_BACKTRACE);
    if (at == NULL) return vt__stack_id_here(f, NULL);
    __builtin_memcpy(&call, &at, sizeof(call));
    call((void **)f->pc, &f->n,
         (unsigned)vt_min((uint64_t)vt_je(prof_bt_max), VT_STACK_MAX_FRAMES));
    f->n = (unsigned)vt_min(f->n, VT_STACK_MAX_FRAMES);
    f->hash = vt__frames_hash(f->pc, f->n);
    return vt__depot_put(f);
}

/* ---- prof.stats: samples by the size of their blocks ---- */

struct prof_stats { /* as the program has it */
    uint64_t requested_sum, count;
};
enum { LIVE, ACCUMULATED };
static struct { struct prof_stats of[2][VT_N_CLASSES + VT_JE_LARGE]; } counts;

static size_t size_of_block(size_t n_bytes) {
    return n_bytes <= VT_MEDIUM_MAX ? vt__class_of(n_bytes)
                                    : VT_N_CLASSES + vt__je_large_of(n_bytes);
}

static void count(const struct vt_sampled *s, int which, int64_t sign) {
    struct prof_stats *c = &counts.of[which][size_of_block(s->block_bytes)];
    /* relaxed: each is a figure by itself, and writers have the probe lock */
    __atomic_store_n(&c->count, c->count + (uint64_t)sign, __ATOMIC_RELAXED);
    __atomic_store_n(&c->requested_sum,
                     c->requested_sum + (uint64_t)sign * (uint64_t)s->requested_bytes,
                     __ATOMIC_RELAXED);
}

/* `what`: bit 0 all since the start, bit 1 a large size. */
int vt__je_write_prof_stats(const struct vt_je_call *c, uint64_t value) {
    struct prof_stats out;
    (void)value;
    if (!vt__je_prof_is_on() || !vt_je(prof_stats)) return ENOENT;
    if (c->newp != NULL || c->newlen != 0) return EPERM;
    size_t i = c->index[0] + (c->what >= 2 ? VT_N_CLASSES : 0);
    const struct prof_stats *at = &counts.of[c->what & 1][i];
    out.count = __atomic_load_n(&at->count, __ATOMIC_RELAXED);
    out.requested_sum = __atomic_load_n(&at->requested_sum, __ATOMIC_RELAXED);
    return vt__je_store(c, &out, sizeof(out));
}

/* ---- the watcher ---- */

static void allocated(const struct vt_sampled *s) {
    count(s, LIVE, 1);
    count(s, ACCUMULATED, 1);
    vt__history_allocated(s);
    wait_to_tell(s, /* is_freed */ false);
}

static void freed(const struct vt_sampled *s) {
    if (counts.of[LIVE][size_of_block(s->block_bytes)].count > 0) count(s, LIVE, -1);
    vt__history_freed(s);
    wait_to_tell(s, /* is_freed */ true);
}

void vt__je_watch_samples(void) {
    static const struct vt_sample_watcher watcher = {take_stack, allocated, freed};
    vt__sample_set_watcher(&watcher);
}

void vt__je_forget_counts(void) {
    for (size_t i = 0; i < vt_countof(counts.of[LIVE]); i++)
        counts.of[LIVE][i] = (struct prof_stats){0};
}

/* ---- hooks ---- */

int vt__je_read_hook(const struct vt_je_call *c, uint64_t *out) {
    if (c->oldp == NULL && !c->has_new) return EINVAL;
    void *at = hook(c->what);
    *out = (uintptr_t)at;
    if (at == NULL && c->what == HOOK_BACKTRACE) *out = (uintptr_t)own_backtrace;
    return 0;
}

int vt__je_write_hook(const struct vt_je_call *c, uint64_t value) {
    if (c->what == HOOK_BACKTRACE && value == 0) return EINVAL;
    bool is_ours = c->what == HOOK_BACKTRACE && value == (uintptr_t)own_backtrace;
    /* release: what the hook needs; pairs with the acquire in hook() */
    atomic_store_explicit(&hooks[c->what], is_ours ? NULL : (void *)(uintptr_t)value,
                          memory_order_release);
    vt__je_watch_samples();
    if (c->what == HOOK_SAMPLE || c->what == HOOK_SAMPLE_FREE) vt__je_be_special();
    return 0;
}

void vt__je_samples_begin(void) {
    if (vt_je(prof_stats) && vt__je_prof_is_on()) vt__je_watch_samples();
    if (vt_je(stats_interval) > 0) vt__je_be_special();
}
