/* sample.c - samples from birth to death: each is remembered by its address until it is freed.
 *
 *   malloc, drawn  ->  record (address, sizes, site, time)   site.alloc += what it stands for     sample_records.c
 *   free           ->  record at rest, or forgotten          site.freed += the same; lifetime     sample_sites.c
 *   both           ->  what is in use in all; the peak; is a dump due?                            sample_totals.c
 *
 * A thread that takes and gives the same kind of block from the same place again and again meets a record at rest (the heap gives
 * it the same block, heap/spare.h), a stack like the last one, and a site it had of late: then nothing is shared, and no lock is
 * taken. All else goes by the lock.
 *
 * Climate: malloc, always inside a slow path of the heap.   Owns: the period and the switches.   Locks: probe.
 */
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/box.h"
#include "os/os.h"
#include "probe/chance.h"
#include "probe/exact.h"
#include "probe/impl.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

struct vt_lock vt__probe_lock VT_ALIGNED(VT_CACHE_LINE) = VT_LOCK_INIT(VT_LOCK_PROBE);

bool vt__probe_enter(void) {
    if (!vt__enter()) return false;
    vt_lock(&vt__probe_lock);
    return true;
}

void vt__probe_leave(void) {
    vt_unlock(&vt__probe_lock);
    vt__leave();
}

static struct {
    _Atomic uint64_t period_bytes;
    _Atomic bool is_paused, leaves_out_threads, leaves_out_names, wants_names;
    uint64_t since_ns;
} samples;

static _Atomic(const struct vt_sample_watcher *) watcher;
static struct vt_frames frames; /* too large for the stack of whoever mallocs */

/* ---- rate ---- */

void vt__sample_set_period(uint64_t n_bytes) {
    if (samples.since_ns == 0)
        samples.since_ns = vt__os_wall_ns();
    else
        vt__sample_want_names(); /* not the start: somebody says how */
    atomic_store_explicit(&samples.period_bytes, n_bytes, memory_order_relaxed);
    if (vt__box_is_begun()) vt__box->sample_period = n_bytes;
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
    atomic_store_explicit(&samples.leaves_out_names, !on, memory_order_relaxed);
}

static bool thread_is_sampled(void) {
    const uint8_t *is = vt__heap_sampling();
    if (is == NULL || *is == VT_SAMPLING_AS_ALL) return vt__sample_has_threads();
    return *is == VT_SAMPLING_ON;
}

uint64_t vt__sample_since_ns(void) { return samples.since_ns; }

/* Each byte is drawn with the same small chance, so the distance to the next is exponential, in mallocs geometric. */
uint32_t vt__probe_draw_count(size_t n_bytes, unsigned n, uint64_t *random) {
    uint64_t period = vt__probe_period(), sum = n;
    if (period == 0) return UINT32_MAX;
    double mean = (double)period / (double)n_bytes;
    for (; n > 0; n--) sum += (uint64_t)(vt__exponential(random) * mean);
    return (uint32_t)vt_min(sum, UINT32_MAX);
}

/* ---- names ---- */

void vt__sample_want_names(void) {
    atomic_store_explicit(&samples.wants_names, true, memory_order_relaxed);
}

/* A program that nobody looks at has no more system calls because of us: filters may forbid them. */
bool vt__sample_names_threads(void) {
    if (atomic_load_explicit(&samples.leaves_out_names, memory_order_relaxed)) return false;
    return vt__exact_is_set() || vt__box_has_file() ||
           atomic_load_explicit(&samples.wants_names, memory_order_relaxed);
}

/* The first thread of a small program has no look taken at it: the profile, when it is written, has its name. Here, and not in
 * threads.c, which such a program then never runs. */
_Atomic bool vt__thread_first_ended;
bool vt__thread_should_look(void) {
    bool is_first = vt__heap_thread_number() == 1 &&
                    !atomic_load_explicit(&vt__thread_first_ended, memory_order_relaxed);
    if (is_first && vt__thread_n_recorded <= VT_FIRST_LOOK && !vt__box_has_file()) return false;
    return vt__sample_names_threads();
}

/* ---- who watches ---- */

void vt__sample_set_watcher(const struct vt_sample_watcher *w) {
    atomic_store_explicit(&watcher, w, memory_order_release); /* pairs with its readers' acquire */
}

static const struct vt_sample_watcher *watching(void) {
    return atomic_load_explicit(&watcher, memory_order_acquire);
}

static void tell(void (*told)(const struct vt_sampled *s), const struct vt_record *r) {
    struct vt_sampled s = {.at = (const void *)r->at,
                           .requested_bytes = r->requested_bytes,
                           .block_bytes = r->block_bytes};
    if (told == NULL) return;
    vt__site_thread(atomic_load_explicit(&r->site, memory_order_relaxed), &s.stack, &s.thread);
    told(&s);
}

/* ---- birth ---- */

/* Of the calling thread, as it is now. 0: it is to be taken with the lock. */
static uint32_t take_stack(struct vt_sample_slot *slot) {
    if (slot == NULL || watching() != NULL) return 0;
    return vt__stack_id_polled(vt__slot_frames(slot));
}

static uint32_t take_stack_locked(void) {
    const struct vt_sample_watcher *w = watching();
    return w != NULL && w->stack != NULL ? w->stack(&frames) : vt__stack_id_here(&frames, NULL);
}

/* What is known of a sample that is being born. */
struct birth {
    const void *at;
    size_t requested_bytes, block_bytes;
    struct vt_site_key key; /* its stack 0: not taken yet */
    unsigned n_drawn;
    uint64_t in_use_bytes; /* in all, if it is the time to look */
};

/* The record is filled, and in use from the last line on: who lists objects reads without us. */
static void write_down(struct vt_record *r, uint32_t site, double objects, const struct birth *b) {
    r->objects = objects;
    r->requested_bytes = b->requested_bytes;
    r->block_bytes = b->block_bytes;
    r->born_ms = vt__os_now_ms();
    /* release: pairs with the acquire in vt__sample_next_object */
    atomic_store_explicit(&r->site, site, memory_order_release);
}

/* Of a block that the calling thread has; 0: there is none, or it cannot be told. Rows stay, and what a row of its block says changes
 * only by this thread. */
static uint32_t find_mine(struct vt_sample_slot *slot, const void *p) {
    uint32_t *of_late = vt__slot_record(slot, p);
    uint32_t id = *of_late;
    /* relaxed: another row may be another thread's by now */
    if (vt_likely(id != 0) &&
        __atomic_load_n(&vt__record(id)->at, __ATOMIC_RELAXED) == (uintptr_t)p)
        return id;
    return *of_late = vt__record_find_unlocked(p);
}

VT_INLINE bool is_again(const struct vt_again *a, const struct birth *b) {
    return a->at == b->at && a->requested_bytes == b->requested_bytes && a->n_drawn == b->n_drawn &&
           a->key.stack == b->key.stack && a->key.thread == b->key.thread &&
           a->key.label == b->key.label && a->block_bytes == b->block_bytes &&
           a->period == vt__probe_period() &&
           /* relaxed: the row may be another block's, and another thread's, by now */
           __atomic_load_n(&a->record->at, __ATOMIC_RELAXED) == (uintptr_t)b->at;
}

/* False: the site is not one of the thread's of late, or the block has no record. */
static VT_NOINLINE bool learn(struct vt_sample_slot *slot, struct vt_again *a,
                              const struct birth *b) {
    uint32_t site = vt__slot_site(slot, &b->key);
    uint32_t id = site != 0 ? find_mine(slot, b->at) : 0;
    if (id == 0) return false;
    *a = (struct vt_again){.at = b->at,
                           .requested_bytes = b->requested_bytes,
                           .block_bytes = b->block_bytes,
                           .key = b->key,
                           .n_drawn = b->n_drawn,
                           .site = site,
                           .period = vt__probe_period(),
                           .record = vt__record(id),
                           .row = vt__site_row(site)};
    a->share = vt__share_of(b->n_drawn * vt__site_weight(site, a->period, b->block_bytes),
                            b->block_bytes, b->requested_bytes);
    return true;
}

/* The common case of a program that takes and gives in turns. False: it is another one. */
static bool remember_again(struct vt_sample_slot *slot, const struct birth *b) {
    struct vt_again *a = vt__slot_again(slot, b->at);
    if (vt_unlikely(!is_again(a, b)) && !learn(slot, a, b)) return false;
    write_down(a->record, a->site, a->share.counts.objects, b);
    if (vt_unlikely(vt__totals_look(b->in_use_bytes, b->block_bytes, /* has_lock */ false)))
        vt__site_add(a->site, a->record, &a->share, /* is_peak */ true);
    else
        vt__site_add_mine(a->row, &a->share);
    vt__totals_add(slot, &a->share, /* has_lock */ false);
    return true;
}

/* With the lock, or by the thread whose site it is. */
static void note_birth(struct vt_sample_slot *slot, const struct birth *b, uint32_t site,
                       uint32_t id, bool has_lock) {
    struct vt_record *r = vt__record(id);
    double objects = b->n_drawn * vt__site_weight(site, vt__probe_period(), b->block_bytes);
    write_down(r, site, objects, b);
    struct vt_share share = vt__share_of(objects, b->block_bytes, b->requested_bytes);
    vt__site_add(site, r, &share, vt__totals_look(b->in_use_bytes, b->block_bytes, has_lock));
    if (watching() != NULL) tell(watching()->allocated, r);
    vt__totals_add(slot, &share, has_lock);
    if (slot == NULL) return;
    vt__slot_note_site(slot, &b->key, site);
    vt__slot_again(slot, b->at)->at = NULL; /* what it says of this block is not so any more */
}

/* The lock is held to find what all threads share, and no longer if the rest is this thread's. */
static VT_NOINLINE void remember(struct vt_sample_slot *slot, struct birth *b) {
    if (b->key.stack == 0) vt__stack_poll_modules(/* always */ true);
    vt_lock(&vt__probe_lock);
    if (b->key.stack == 0) b->key.stack = take_stack_locked();
    uint32_t site = vt__site_of(&b->key);
    uint32_t id = site != 0 ? vt__record_find(b->at) : 0; /* at rest */
    if (id == 0 && site != 0) id = vt__record_add(b->at);
    bool is_mine = slot != NULL && id != 0 && watching() == NULL && vt__site_is_mine(site);
    if (id == 0)
        vt__totals_lost();
    else if (!is_mine)
        note_birth(slot, b, site, id, /* has_lock */ true);
    vt_unlock(&vt__probe_lock);
    if (is_mine) note_birth(slot, b, site, id, /* has_lock */ false);
}

void vt__probe_allocated(const void *p, size_t n_bytes, size_t block_bytes, unsigned n_drawn) {
    if (vt__probe_period() == 0 || !thread_is_sampled())
        return; /* switched off, perhaps since it was drawn */
    if (!vt__box_is_mine()) vt__life_box_attend();
    if (vt__thread_is_due()) vt__thread_look();
    struct vt_sample_slot *slot = vt__slot_of_thread();
    struct birth b = {
        .at = p,
        .requested_bytes = n_bytes,
        .block_bytes = block_bytes,
        .key = {.stack = take_stack(slot),
                .thread = vt__heap_thread_number(),
                .label = vt__label_of_thread(),
                .block_bytes = vt__site_bytes(block_bytes)},
        .n_drawn = n_drawn,
        /* where they come in turns, of this class no other was in use: that is no peak */
        .in_use_bytes = n_drawn > 1 ? 0 : vt__totals_in_use(slot, block_bytes)};
    if (b.key.stack != 0 && remember_again(slot, &b)) return;
    remember(slot, &b);
}

/* ---- death ---- */

static uint64_t age_of(const struct vt_record *r) { return vt__os_now_ms() - r->born_ms; }

/* The block of r, which is in use, is no more; the record is at rest. Without the lock it is taken if the site is another's. */
static void bury(struct vt_record *r, struct vt_sample_slot *slot, bool has_lock) {
    uint32_t site = atomic_load_explicit(&r->site, memory_order_relaxed);
    if (watching() != NULL) tell(watching()->freed, r);
    atomic_store_explicit(&r->site, 0, memory_order_relaxed);
    struct vt_share share = vt__share_of(r->objects, r->block_bytes, r->requested_bytes);
    uint64_t age_ms = age_of(r);
    bool wants_lock = !has_lock && !vt__site_is_mine(site);
    if (wants_lock) vt_lock(&vt__probe_lock);
    vt__site_end(site, &share, age_ms);
    if (wants_lock) vt_unlock(&vt__probe_lock);
    vt__totals_subtract(slot, &share, has_lock);
}

/* The same of one that came again. False: it did not. */
static bool bury_again(struct vt_sample_slot *slot, const void *p) {
    const struct vt_again *a = vt__slot_again(slot, p);
    if (a->at != p || __atomic_load_n(&a->record->at, __ATOMIC_RELAXED) != (uintptr_t)p ||
        atomic_load_explicit(&a->record->site, memory_order_relaxed) != a->site ||
        a->record->requested_bytes != a->requested_bytes) /* it was asked for again */
        return false;
    if (a->key.thread != vt__heap_thread_number()) return false;
    atomic_store_explicit(&a->record->site, 0, memory_order_relaxed);
    vt__site_end_mine(a->row, &a->share, age_of(a->record));
    vt__totals_subtract(slot, &a->share, /* has_lock */ false);
    return true;
}

/* What is known of the block of record `id`, 0: nothing. */
static enum vt_probe_known known_of(uint32_t id) {
    uint32_t site = id != 0 ? atomic_load_explicit(&vt__record(id)->site, memory_order_relaxed) : 0;
    if (site == 0) return VT_KNOWN_NOTHING; /* at rest, or lost, or the mistake of a second free */
    return vt__site_is_mine(site) ? VT_KNOWN_MINE : VT_KNOWN;
}

static enum vt_probe_known end(const void *p, bool is_forgotten) {
    struct vt_sample_slot *slot = vt__slot_of_thread();
    if (!vt__box_is_mine()) vt__life_box_attend();
    vt_lock(&vt__probe_lock);
    uint32_t id = vt__record_find(p);
    enum vt_probe_known known = known_of(id);
    if (known != VT_KNOWN_NOTHING) bury(vt__record(id), slot, /* has_lock */ true);
    if (id != 0 && is_forgotten) vt__record_drop(id);
    vt_unlock(&vt__probe_lock);
    return known;
}

enum vt_probe_known vt__probe_freed(const void *p) { return end(p, /* is_forgotten */ true); }

/* Without the lock, but to add to a site that is another thread's. */
enum vt_probe_known vt__probe_rests(const void *p) {
    struct vt_sample_slot *slot = watching() == NULL ? vt__slot_of_thread() : NULL;
    if (slot != NULL && vt__box_is_mine() && bury_again(slot, p)) return VT_KNOWN_MINE;
    uint32_t id = slot != NULL && vt__box_is_mine() ? find_mine(slot, p) : 0;
    enum vt_probe_known known = known_of(id);
    if (known == VT_KNOWN_NOTHING) return end(p, /* is_forgotten */ false);
    bury(vt__record(id), slot, /* has_lock */ false);
    return known;
}

/* Of a block in use; with the lock, or by the thread whose site it is. */
static void ask_again(struct vt_record *r, size_t n_bytes) {
    uint32_t site = atomic_load_explicit(&r->site, memory_order_relaxed);
    double more = (double)n_bytes - (double)r->requested_bytes;
    vt__site_ask_again(site, r->objects * more);
    r->requested_bytes = n_bytes;
}

void vt__probe_requested(const void *p, size_t n_bytes) {
    struct vt_sample_slot *slot = vt__slot_of_thread();
    uint32_t id = slot != NULL && vt__box_is_mine() ? find_mine(slot, p) : 0;
    if (known_of(id) == VT_KNOWN_MINE) {
        ask_again(vt__record(id), n_bytes);
        return;
    }
    vt_lock(&vt__probe_lock);
    id = vt__record_find(p);
    if (known_of(id) != VT_KNOWN_NOTHING) ask_again(vt__record(id), n_bytes);
    vt_unlock(&vt__probe_lock);
}

void vt__probe_forgets(struct block *const *p, unsigned n) {
    vt_lock(&vt__probe_lock);
    for (unsigned i = 0; i < n; i++) {
        uint32_t id = vt__record_find(p[i]);
        if (id != 0) vt__record_drop(id);
    }
    vt_unlock(&vt__probe_lock);
}

void vt__sample_forget(void) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = 1; id <= vt__records_count(); id++)
        if (vt__record(id)->at != 0) vt__record_drop(id);
    vt__sites_forget();
    vt__totals_forget();
    vt__probe_leave();
}

/* ---- reading ---- */

VT_READS_RACILY static bool read_object(const struct vt_record *r, struct vt_heap_object *out) {
    uint32_t stack;
    /* acquire: the rest was written before; pairs with the release in write_down */
    uint32_t site = atomic_load_explicit(&r->site, memory_order_acquire);
    if (r->at == 0 || site == 0) return false;
    *out = (struct vt_heap_object){.size = sizeof(*out),
                                   .at = (const void *)r->at,
                                   .requested_bytes = r->requested_bytes,
                                   .block_bytes = r->block_bytes,
                                   .stands_for = r->objects,
                                   .age_ms = age_of(r)};
    vt__site_thread(site, &stack, &out->thread);
    out->n_pcs = vt__depot_get(stack, &out->pcs);
    /* freed meanwhile: what was read may be of two blocks */
    return atomic_load_explicit(&r->site, memory_order_relaxed) == site;
}

/* Threads go on meanwhile, without the lock: their records are read as they are. */
VT_READS_RACILY bool vt__sample_next_object(uint32_t *cursor, struct vt_heap_object *out) {
    bool is_there = false;
    if (!vt__probe_enter()) return false;
    while (!is_there && *cursor < vt__records_count())
        is_there = read_object(vt__record(++*cursor), out);
    vt__probe_leave();
    return is_there;
}

void vt__probe_fork_prepare(void) { vt_lock(&vt__probe_lock); }

void vt__probe_fork_done(bool is_child) {
    if (is_child) vt__threads_forked();
    vt_lock_forked(&vt__probe_lock, is_child);
}
