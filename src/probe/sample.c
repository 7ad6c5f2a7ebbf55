/* sample.c - samples from birth to death: each is remembered by its address until it is freed.
 *
 *   malloc, drawn  ->  record (address, sizes, site, time)   site.alloc += what it stands for
 *   free           ->  record forgotten                      site.freed += the same; lifetime counted
 *
 * The peak is taken whenever what is in use exceeds the last peak by a twentieth, so the work for it is a small multiple of
 * the number of sites for each doubling of the heap.
 *
 * Climate: malloc, always inside a slow path of the heap.   Owns: records.   Locks: probe.
 */
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "probe/chance.h"
#include "probe/exact.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

#define FIRST_PEAK ((double)MiB(1)) /* a heap below it grows by per cents all the time */

struct vt_lock vt__probe_lock = VT_LOCK_INIT(VT_LOCK_PROBE);

bool vt__probe_enter(void) {
    if (!vt__enter()) return false;
    vt_lock(&vt__probe_lock);
    return true;
}

void vt__probe_leave(void) {
    vt_unlock(&vt__probe_lock);
    vt__leave();
}

struct record {
    uintptr_t at; /* 0: not in use */
    uint32_t site;
    uint32_t next_free;
    size_t requested_bytes, block_bytes;
    double draws;   /* so many were to be expected of its bytes, when they were counted off */
    double objects; /* how many it stands for */
    uint64_t born_ms;
};

static struct {
    _Atomic uint64_t period_bytes;
    _Atomic bool is_paused, leaves_out_threads, names_threads;
    struct vt_rows records;
    uint32_t free_record;
    struct vt_sample_totals totals;
    struct trigger {
        double step, times; /* how far the next is: so much more, and so many times; both 0: none */
        double next;
    } by_alloc, by_freed, by_growth, by_peak;
    uint64_t since_ns;
} samples = {.records = {.row_bytes = sizeof(struct record)}};

static _Atomic(const struct vt_sample_watcher *) watcher;
static struct vt_frames frames; /* too large for the stack of whoever mallocs */

static struct record *record(uint32_t id) { return vt__row(&samples.records, id); }
static uint64_t hash_at(uintptr_t at) { return vt__mix(at); }
static uint64_t hash_of(uint32_t id) { return hash_at(record(id)->at); }
static bool is_at(uint32_t id, const void *at) { return record(id)->at == (uintptr_t)at; }

static struct vt_index by_address = {.hash_of = hash_of};

/* ---- rate ---- */

void vt__sample_set_period(uint64_t n_bytes) {
    if (samples.since_ns == 0) samples.since_ns = vt__os_wall_ns();
    atomic_store_explicit(&samples.period_bytes, n_bytes, memory_order_relaxed);
    vt__heap_sampling_changed();
}

uint64_t vt__sample_period(void) {
    return atomic_load_explicit(&samples.period_bytes, memory_order_relaxed);
}

const _Atomic uint64_t *vt__sample_period_word(void) { return &samples.period_bytes; }

bool vt__sample_is_paused(void) {
    return atomic_load_explicit(&samples.is_paused, memory_order_relaxed);
}

uint64_t vt__probe_period(void) { return vt__sample_is_paused() ? 0 : vt__sample_period(); }

void vt__sample_pause(bool on) {
    atomic_store_explicit(&samples.is_paused, on, memory_order_relaxed);
    vt__heap_sampling_changed();
}

void vt__sample_threads(bool on) {
    atomic_store_explicit(&samples.leaves_out_threads, !on, memory_order_relaxed);
}

bool vt__sample_has_threads(void) {
    return !atomic_load_explicit(&samples.leaves_out_threads, memory_order_relaxed);
}

void vt__sample_name_threads(bool on) {
    atomic_store_explicit(&samples.names_threads, on, memory_order_relaxed);
}

static bool thread_is_sampled(void) {
    const uint8_t *is = vt__heap_sampling();
    if (is == NULL || *is == VT_SAMPLING_AS_ALL) return vt__sample_has_threads();
    return *is == VT_SAMPLING_ON;
}

static void name_thread(void) {
    char name[VT_TASK_NAME_BYTES] = "";
    vt__os_my_name(name);
    vt__heap_set_thread_name(name);
}

uint64_t vt__sample_since_ns(void) { return samples.since_ns; }

static double next_of(const struct trigger *t, double value) { return value * t->times + t->step; }

/* The finest step that a trigger has. */
static uint64_t shortest(const struct vt_triggers *t) {
    const uint64_t steps[] = {t->alloc_bytes, t->freed_bytes, t->growth_bytes};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < vt_countof(steps); i++)
        if (steps[i] != 0) least = vt_min(least, steps[i]);
    return least;
}

void vt__sample_set_triggers(const struct vt_triggers *wanted) {
    double alloc_bytes = samples.totals.alloc_bytes, live_bytes = samples.totals.live_bytes;
    double factor = wanted->peak_percent != 0 ? 1 + (double)wanted->peak_percent / 100 : 0;
    if (!vt__probe_enter()) return;
    samples.by_alloc = (struct trigger){(double)wanted->alloc_bytes, wanted->alloc_bytes != 0, 0};
    samples.by_growth =
        (struct trigger){(double)wanted->growth_bytes, wanted->growth_bytes != 0, 0};
    samples.by_freed = (struct trigger){(double)wanted->freed_bytes, wanted->freed_bytes != 0, 0};
    samples.by_peak = (struct trigger){0, factor, 0};
    if (vt__exact_is_set()) vt__exact_told(&alloc_bytes, &live_bytes);
    samples.by_alloc.next = next_of(&samples.by_alloc, alloc_bytes);
    samples.by_freed.next = next_of(&samples.by_freed, alloc_bytes - live_bytes);
    samples.by_growth.next = next_of(&samples.by_growth, live_bytes);
    samples.by_peak.next = next_of(&samples.by_peak, live_bytes);
    if (samples.by_peak.next < FIRST_PEAK) samples.by_peak.next = FIRST_PEAK;
    vt__exact_tell_after(shortest(wanted));
    vt__probe_leave();
}

static void pull(struct trigger *t, double value, enum vt_dump_cause cause) {
    if (t->times == 0 || value < t->next) return;
    t->next = next_of(t, value);
    atomic_store_explicit(&vt__dump_cause, cause, memory_order_relaxed);
    atomic_store_explicit(&vt__dump_is_wanted, true, memory_order_relaxed);
}

/* Racy in exact mode, where threads come without the lock: a dump more or less. */
VT_READS_RACILY void vt__sample_pull_triggers(double alloc_bytes, double live_bytes) {
    pull(&samples.by_alloc, alloc_bytes, VT_CAUSE_ALLOCATED);
    pull(&samples.by_freed, alloc_bytes - live_bytes, VT_CAUSE_FREED);
    pull(&samples.by_growth, live_bytes, VT_CAUSE_INUSE);
    pull(&samples.by_peak, live_bytes, VT_CAUSE_PEAK);
}

static uint64_t period_of(unsigned shift) { return vt__probe_period() << shift; }

/* Each byte is drawn with the same small chance, so the distance to the next is exponential, in mallocs geometric. */
uint32_t vt__probe_draw_count(size_t n_bytes, unsigned shift) {
    uint64_t period = period_of(shift);
    if (period == 0) return UINT32_MAX;
    double n = 1 + vt__exponential() * (double)period / (double)n_bytes;
    return n < (double)UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* How many blocks one sample stands for, of which so many draws were to be expected. */
static double weight_of(double draws) { return 1 / vt__probability_of(draws); }

/* ---- birth and death ---- */

static void add(struct vt_site_counts *c, const struct record *r) {
    c->n_seen++;
    c->objects += r->objects;
    c->bytes += r->objects * (double)r->block_bytes;
    c->requested_bytes += r->objects * (double)r->requested_bytes;
}

static uint32_t take_record(void) {
    uint32_t id = samples.free_record;
    if (id == 0) return vt__row_add(&samples.records);
    samples.free_record = record(id)->next_free;
    return id;
}

static void drop_record(uint32_t id) {
    record(id)->at = 0;
    record(id)->next_free = samples.free_record;
    samples.free_record = id;
}

static void take_peak(void) {
    samples.totals.peak_bytes = samples.totals.live_bytes;
    vt__sites_take_peak();
}

static void count_live(double n_bytes) {
    struct vt_sample_totals *t = &samples.totals;
    t->live_bytes += n_bytes;
    if (t->live_bytes > t->peak_bytes * 1.05) take_peak();
}

void vt__sample_settle_peak(void) {
    if (!vt__probe_enter()) return;
    if (samples.totals.live_bytes > samples.totals.peak_bytes) take_peak();
    vt__probe_leave();
}

void vt__sample_set_watcher(const struct vt_sample_watcher *w) {
    atomic_store_explicit(&watcher, w, memory_order_release); /* pairs with its readers' acquire */
}

static const struct vt_sample_watcher *watching(void) {
    return atomic_load_explicit(&watcher, memory_order_acquire);
}

static void tell(void (*told)(const struct vt_sampled *s), const struct record *r) {
    const struct vt_site *site = vt__site(r->site);
    if (told != NULL)
        told(&(struct vt_sampled){.at = (const void *)r->at,
                                  .requested_bytes = r->requested_bytes,
                                  .block_bytes = r->block_bytes,
                                  .stack = site->stack,
                                  .thread = site->thread});
}

/* Of the calling thread, as it is now. */
static uint32_t take_stack(void) {
    const struct vt_sample_watcher *w = watching();
    return w != NULL && w->stack != NULL ? w->stack(&frames) : vt__stack_id_here(&frames, NULL);
}

static bool remember(const void *p, size_t n_bytes, size_t block_bytes, double draws) {
    uint32_t site_id;
    struct vt_site *site = vt__site_of(take_stack(), vt__heap_thread_number(),
                                       vt__label_of_thread(), block_bytes, &site_id);
    uint32_t id = site != NULL ? take_record() : 0;
    if (id == 0) return false;
    struct record *r = record(id);
    *r = (struct record){.at = (uintptr_t)p,
                         .site = site_id,
                         .requested_bytes = n_bytes,
                         .block_bytes = block_bytes,
                         .draws = draws,
                         .objects = weight_of(draws),
                         .born_ms = vt__os_now_ms()};
    if (!vt__index_add(&by_address, id)) {
        drop_record(id);
        return false;
    }
    add(&site->alloc, r);
    if (watching() != NULL) tell(watching()->allocated, r);
    samples.totals.n_live++;
    samples.totals.alloc_bytes += r->objects * (double)block_bytes;
    count_live(r->objects * (double)block_bytes);
    if (!vt__exact_is_set())
        vt__sample_pull_triggers(samples.totals.alloc_bytes, samples.totals.live_bytes);
    return true;
}

void vt__probe_allocated(const void *p, size_t n_bytes, size_t block_bytes, unsigned shift) {
    uint64_t period = period_of(shift);
    if (period == 0 || !thread_is_sampled()) return; /* switched off, perhaps since it was drawn */
    if (atomic_load_explicit(&samples.names_threads, memory_order_relaxed)) name_thread();
    vt__stack_poll_modules(/* always */ true);
    vt_lock(&vt__probe_lock);
    samples.totals.n_samples++;
    if (!remember(p, n_bytes, block_bytes, (double)block_bytes / (double)period))
        samples.totals.n_lost++;
    vt_unlock(&vt__probe_lock);
}

static void count_lifetime(struct vt_site *site, uint64_t ms) {
    unsigned i = ms == 0 ? 0 : vt_log2(ms) + 1;
    site->lifetimes[vt_min(i, VT_LIFETIMES - 1)]++;
}

/* The record of p taken out of the index; NULL: it has none, because it was lost or the mistake of a second free. */
static struct record *forget(const void *p, uint32_t *id) {
    *id = vt__index_find(&by_address, hash_at((uintptr_t)p), is_at, p);
    if (*id == 0) return NULL;
    vt__index_remove(&by_address, *id);
    return record(*id);
}

/* What is known of p ends here; the record is the caller's to look at still. NULL: nothing is. */
static struct record *bury(const void *p) {
    uint32_t id;
    struct record *r = forget(p, &id);
    if (r == NULL) return NULL;
    struct vt_site *site = vt__site(r->site);
    if (watching() != NULL) tell(watching()->freed, r);
    add(&site->freed, r);
    count_lifetime(site, vt__os_now_ms() - r->born_ms);
    samples.totals.n_live--;
    samples.totals.live_bytes -= r->objects * (double)r->block_bytes;
    drop_record(id);
    return r;
}

bool vt__probe_freed(const void *p) {
    vt_lock(&vt__probe_lock);
    bool is_known = bury(p) != NULL;
    vt_unlock(&vt__probe_lock);
    return is_known;
}

/* As if the old block had been freed and the new one allocated by who asked for that, as it is when a block moves. It is a sample
 * for any of the bytes it ever had: those it has lost were counted off, and those that are new would have been. */
void vt__probe_resized(const void *p, size_t n_bytes, size_t block_bytes, unsigned shift) {
    vt__stack_poll_modules(/* always */ true);
    vt_lock(&vt__probe_lock);
    const struct record *r = bury(p);
    uint64_t period = period_of(shift);
    if (r != NULL && period != 0 && thread_is_sampled()) {
        size_t n_new_bytes = block_bytes - vt_min(block_bytes, r->block_bytes);
        (void)remember(p, n_bytes, block_bytes, r->draws + (double)n_new_bytes / (double)period);
    }
    vt_unlock(&vt__probe_lock);
}

void vt__sample_forget(void) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = 1; id <= samples.records.n; id++) {
        if (record(id)->at == 0) continue;
        vt__index_remove(&by_address, id);
        drop_record(id);
    }
    vt__sites_forget();
    samples.totals.n_live = 0;
    samples.totals.alloc_bytes = samples.totals.live_bytes = samples.totals.peak_bytes = 0;
    samples.by_alloc.next = next_of(&samples.by_alloc, 0);
    samples.by_growth.next = next_of(&samples.by_growth, 0);
    vt__probe_leave();
}

/* ---- reading ---- */

bool vt__sample_next_object(uint32_t *cursor, struct vt_heap_object *out) {
    bool is_there = false;
    if (!vt__probe_enter()) return false;
    while (!is_there && *cursor < samples.records.n) {
        const struct record *r = record(++*cursor);
        if (r->at == 0) continue;
        const struct vt_site *site = vt__site(r->site);
        *out = (struct vt_heap_object){.size = sizeof(*out),
                                       .at = (const void *)r->at,
                                       .requested_bytes = r->requested_bytes,
                                       .block_bytes = r->block_bytes,
                                       .stands_for = r->objects,
                                       .age_ms = vt__os_now_ms() - r->born_ms,
                                       .thread = site->thread};
        out->n_pcs = vt__depot_get(site->stack, &out->pcs);
        is_there = true;
    }
    vt__probe_leave();
    return is_there;
}

void vt__sample_totals(struct vt_sample_totals *out) {
    bool is_entered = vt__probe_enter();
    *out = samples.totals; /* in a handler: what is there */
    if (is_entered) vt__probe_leave();
}

void vt__probe_fork_prepare(void) { vt_lock(&vt__probe_lock); }

void vt__probe_fork_done(bool is_child) { vt_lock_forked(&vt__probe_lock, is_child); }
