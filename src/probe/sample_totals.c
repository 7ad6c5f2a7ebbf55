/* sample_totals.c - sums over all samples: how much is in use, when most was, and whether a dump is due.
 *
 * A thread adds to a slot of its own, and to the common sums only now and then: when it makes a new peak, and when its part has
 * come to a few samples. So samples that come and go write no line that other threads have. Readers add the slots up.
 *
 * The peak is the moment when most was in use, as the heap itself knows (vt__heap_in_use, bounded by vt__heap_used_slices), not when
 * the estimate was highest: a maximum of estimates is one of their errors, too, and grows the longer a program runs. What is in use is
 * estimated for that moment, just before the sample that comes upon it. The heap may be wrong where threads tell late: an estimate
 * that is further off than errors are decides by itself.
 *
 * Climate: malloc.   Owns: the sums, the triggers, the slots; a slot stays with its heap.   Locks: probe, for all but one's own slot.
 */
#include <stdatomic.h>

#include "heap/class.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "probe/exact.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

#define FIRST_PEAK ((double)MiB(1)) /* a heap below it grows by per cents all the time */
#define PART_SAMPLES 8
#define LOOK_MS 100
#define LOOK_BYTES ((double)MiB(1)) /* told no later, while somebody looks at memory */
#define RECORDS_OF_LATE 64
#define AGAIN_OF_LATE 8
#define SITES_OF_LATE 128    /* pairs; the newer one first */
#define UNTOLD_BYTES KiB(16) /* or that part of the most: */
#define UNTOLD_PART 64
#define LOOKS_PER_PERIOD 4 /* of a thread that is at its peak all the time */

struct sums {
    uint64_t n_samples, n_live; /* may be below 0 in a slot */
    double alloc_bytes, live_bytes;
    double live_variance; /* of live_bytes, estimated as well */
};

struct vt_sample_slot {
    /* written by its thread, read by any */
    struct sums part;
    /* its thread's alone */
    int64_t told_in_use; /* its part of totals.in_use_bytes */
    uint32_t site[SITES_OF_LATE][2];
    uint32_t record[RECORDS_OF_LATE];
    struct vt_again again[AGAIN_OF_LATE];
    /* under the lock */
    struct vt_sample_slot *next;
    struct vt_frames frames; /* last: of its pages those are touched that a stack needs */
};

static struct {
    struct sums all; /* but for the slots' parts */
    uint64_t n_lost;
    double peak_bytes;
    uint64_t most_in_use;         /* that the heap had when last looked at */
    _Atomic int64_t in_use_bytes; /* that threads told of */
    _Atomic bool has_shrunk;      /* a sample was freed since the peak */
    double tell_bytes;            /* a part tells after so many allocated bytes, for the triggers */
    struct vt_sample_slot *slots;
    struct trigger {
        double step, times; /* how far the next is: so much more, and so many times; both 0: none */
        double next;
        bool is_beyond; /* due above `next`, not at it */
    } by_alloc, by_freed, by_growth, by_peak;
    bool one_trigger_for_all;
    /* at memory, for heap_oom: when, or at how many bytes in use; 0: never */
    _Atomic uint64_t next_look_ms;
    double look_bytes, next_look_bytes;
} totals = {.tell_bytes = (double)UINT64_MAX};

/* ---- numbers that are read while they are written ---- */

static double get(const double *x) {
    double v;
    __atomic_load(x, &v, __ATOMIC_RELAXED);
    return v;
}

static void set(double *x, double v) { __atomic_store(x, &v, __ATOMIC_RELAXED); }
static uint64_t get_n(const uint64_t *x) { return __atomic_load_n(x, __ATOMIC_RELAXED); }
static void set_n(uint64_t *x, uint64_t v) { __atomic_store_n(x, v, __ATOMIC_RELAXED); }

static void add_sums(struct sums *to, const struct sums *from) {
    set_n(&to->n_samples, get_n(&to->n_samples) + get_n(&from->n_samples));
    set_n(&to->n_live, get_n(&to->n_live) + get_n(&from->n_live));
    set(&to->alloc_bytes, get(&to->alloc_bytes) + get(&from->alloc_bytes));
    set(&to->live_bytes, get(&to->live_bytes) + get(&from->live_bytes));
    set(&to->live_variance, get(&to->live_variance) + get(&from->live_variance));
}

static void clear_sums(struct sums *s) {
    set_n(&s->n_samples, 0);
    set_n(&s->n_live, 0);
    set(&s->alloc_bytes, 0);
    set(&s->live_bytes, 0);
    set(&s->live_variance, 0);
}

/* ---- slots ---- */

static VT_COLD struct vt_sample_slot *make_slot(void **word) {
    struct vt_sample_slot *s = vt__arena_take(sizeof(*s), VT_CACHE_LINE);
    if (s == NULL) return NULL;
    vt_lock(&vt__probe_lock);
    s->next = totals.slots;
    totals.slots = s;
    vt_unlock(&vt__probe_lock);
    return *word = s;
}

struct vt_sample_slot *vt__slot_of_thread(void) {
    void **word = vt__heap_probe_slot(VT_SLOT_SAMPLES);
    if (vt_unlikely(word == NULL)) return NULL;
    return vt_likely(*word != NULL) ? *word : make_slot(word);
}

struct vt_frames *vt__slot_frames(struct vt_sample_slot *s) {
    return &s->frames;
}

static unsigned place_of(const struct vt_site_key *key) {
    return vt__mix((uint64_t)key->stack << 32 | key->block_bytes) % SITES_OF_LATE;
}

uint32_t vt__slot_site(const struct vt_sample_slot *s, const struct vt_site_key *key) {
    const uint32_t *site = s->site[place_of(key)];
    if (vt_likely(vt__site_is(site[0], key))) return site[0];
    return vt__site_is(site[1], key) ? site[1] : 0;
}

static unsigned place_of_block(const void *p) {
    return (unsigned)((uintptr_t)p >> 4 ^ (uintptr_t)p >> 12);
}

uint32_t *vt__slot_record(struct vt_sample_slot *s, const void *p) {
    return &s->record[place_of_block(p) % RECORDS_OF_LATE];
}

struct vt_again *vt__slot_again(struct vt_sample_slot *s, const void *p) {
    return &s->again[place_of_block(p) % AGAIN_OF_LATE];
}

void vt__slot_note_site(struct vt_sample_slot *s, const struct vt_site_key *key, uint32_t site) {
    uint32_t *at = s->site[place_of(key)];
    if (at[0] == site) return;
    at[1] = at[0];
    at[0] = site;
}

/* ---- triggers ---- */

static double next_of(const struct trigger *t, double value) { return value * t->times + t->step; }

/* The finest step that a trigger has. */
static uint64_t shortest(const struct vt_triggers *t) {
    const uint64_t steps[] = {t->alloc_bytes, t->freed_bytes, t->growth_bytes};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < vt_countof(steps); i++)
        if (steps[i] != 0) least = vt_min(least, steps[i]);
    return least;
}

VT_COLD void vt__sample_set_triggers(const struct vt_triggers *wanted) {
    double factor = wanted->peak_percent != 0 ? 1 + (double)wanted->peak_percent / 100 : 0;
    if (!vt__probe_enter()) return;
    double alloc_bytes = totals.all.alloc_bytes, live_bytes = totals.all.live_bytes;
    totals.by_alloc =
        (struct trigger){(double)wanted->alloc_bytes, wanted->alloc_bytes != 0, 0, false};
    totals.by_growth = (struct trigger){(double)wanted->growth_bytes, wanted->growth_bytes != 0, 0,
                                        wanted->one_for_all};
    totals.by_freed =
        (struct trigger){(double)wanted->freed_bytes, wanted->freed_bytes != 0, 0, false};
    totals.by_peak = (struct trigger){0, factor, 0, false};
    totals.one_trigger_for_all = wanted->one_for_all;
    if (vt__exact_is_set()) vt__exact_told(&alloc_bytes, &live_bytes);
    totals.by_alloc.next = next_of(&totals.by_alloc, alloc_bytes);
    totals.by_freed.next = next_of(&totals.by_freed, alloc_bytes - live_bytes);
    totals.by_growth.next = next_of(&totals.by_growth, live_bytes);
    totals.by_peak.next = next_of(&totals.by_peak, live_bytes);
    if (totals.by_peak.next < FIRST_PEAK) totals.by_peak.next = FIRST_PEAK;
    vt__exact_tell_after(shortest(wanted));
    set(&totals.tell_bytes, (double)shortest(wanted) / 16);
    if (atomic_load_explicit(&totals.next_look_ms, memory_order_relaxed) != 0)
        vt__sample_look_at_memory();
    vt__probe_leave();
}

/* True: it is time for a dump. */
static bool pull(struct trigger *t, double value, enum vt_dump_cause cause) {
    if (t->times == 0 || value < t->next || (t->is_beyond && value == t->next)) return false;
    t->next = next_of(t, value);
    atomic_store_explicit(&vt__dump_cause, cause, memory_order_relaxed);
    atomic_store_explicit(&vt__dump_is_wanted, true, memory_order_relaxed);
    return true;
}

/* The mark of the most in use only rises. */
static void restart(double alloc_bytes, double live_bytes) {
    totals.by_alloc.next = next_of(&totals.by_alloc, alloc_bytes);
    totals.by_freed.next = next_of(&totals.by_freed, alloc_bytes - live_bytes);
    double next = next_of(&totals.by_growth, live_bytes);
    if (next > totals.by_growth.next) totals.by_growth.next = next;
}

void vt__sample_look_at_memory(void) {
    atomic_store_explicit(&totals.next_look_ms, 1, memory_order_relaxed);
    if (get(&totals.tell_bytes) > LOOK_BYTES) set(&totals.tell_bytes, LOOK_BYTES);
}

void vt__sample_look_after(uint64_t n_bytes) {
    set(&totals.next_look_bytes, get(&totals.look_bytes) + (double)n_bytes);
}

/* Unless a dump is wanted for another reason: then at the next time. */
static VT_COLD void pull_look(double live_bytes) {
    uint64_t now_ms = vt__os_now_ms();
    if (now_ms < atomic_load_explicit(&totals.next_look_ms, memory_order_relaxed) &&
        live_bytes < get(&totals.next_look_bytes))
        return;
    if (atomic_load_explicit(&vt__dump_is_wanted, memory_order_relaxed)) return;
    set(&totals.look_bytes, live_bytes);
    set(&totals.next_look_bytes, live_bytes + LOOK_BYTES); /* until the look is done */
    atomic_store_explicit(&totals.next_look_ms, now_ms + LOOK_MS, memory_order_relaxed);
    atomic_store_explicit(&vt__dump_cause, VT_CAUSE_MEMORY, memory_order_relaxed);
    atomic_store_explicit(&vt__dump_is_wanted, true, memory_order_relaxed);
}

/* Racy in exact mode, where threads come without the lock: a dump more or less. */
VT_READS_RACILY void vt__totals_pull(double alloc_bytes, double live_bytes) {
    bool is_one_enough = totals.one_trigger_for_all;
    double freed_bytes = alloc_bytes - live_bytes;
    bool is_time = pull(&totals.by_alloc, alloc_bytes, VT_CAUSE_ALLOCATED);
    if (!is_time || !is_one_enough) is_time |= pull(&totals.by_freed, freed_bytes, VT_CAUSE_FREED);
    if (!is_time || !is_one_enough) is_time |= pull(&totals.by_growth, live_bytes, VT_CAUSE_INUSE);
    if (is_time && is_one_enough) restart(alloc_bytes, live_bytes);
    (void)pull(&totals.by_peak, live_bytes, VT_CAUSE_PEAK);
    if (vt_unlikely(atomic_load_explicit(&totals.next_look_ms, memory_order_relaxed) != 0))
        pull_look(live_bytes);
}

VT_READS_RACILY void vt__sample_restart_triggers(void) {
    double alloc_bytes = totals.all.alloc_bytes, live_bytes = totals.all.live_bytes;
    if (vt__exact_is_set()) vt__exact_told(&alloc_bytes, &live_bytes);
    if (totals.one_trigger_for_all) restart(alloc_bytes, live_bytes);
}

/* ---- the peak ---- */

static struct sums sum_up(void) {
    struct sums s = totals.all;
    for (const struct vt_sample_slot *slot = totals.slots; slot != NULL; slot = slot->next)
        add_sums(&s, &slot->part);
    return s;
}

/* More is in slabs than in use. More is told than in use, too: what is freed is told late, or never. */
static uint64_t in_use_with(int64_t untold) {
    uint64_t slice_bytes;
    uint64_t n = atomic_load_explicit(vt__heap_used_slices(&slice_bytes), memory_order_relaxed);
    int64_t told = atomic_load_explicit(&totals.in_use_bytes, memory_order_relaxed) + untold;
    return vt_min(n * slice_bytes, told > 0 ? (uint64_t)told : 0);
}

/* The sum of all threads is written only by who has something to tell. */
static void tell_in_use(struct vt_sample_slot *slot, int64_t untold) {
    int64_t little = (int64_t)vt_max(UNTOLD_BYTES, get_n(&totals.most_in_use) / UNTOLD_PART);
    if (untold < little && untold > -little) return;
    slot->told_in_use += untold;
    /* relaxed: a figure, it guards nothing */
    atomic_fetch_add_explicit(&totals.in_use_bytes, untold, memory_order_relaxed);
}

/* More or less than the peak by six standard errors. */
static bool is_beyond_error(const struct sums *now) {
    double off = get(&now->live_bytes) - get(&totals.peak_bytes);
    return off * off > 36 * get(&now->live_variance);
}

static void take_peak(double n_bytes) {
    set(&totals.peak_bytes, n_bytes);
    atomic_store_explicit(&totals.has_shrunk, false, memory_order_relaxed);
    vt__sites_new_peak();
}

/* With the lock: so much is in use, and no more was before. */
static bool heap_is_full(uint64_t in_use_bytes, size_t more_bytes) {
    struct sums now = sum_up();
    double n_bytes = now.live_bytes + (double)more_bytes;
    set_n(&totals.most_in_use, in_use_bytes);
    if (n_bytes < totals.peak_bytes && is_beyond_error(&now)) return false;
    take_peak(n_bytes);
    return true;
}

/* As much as ever counts, too, while nothing was freed: slices may be the bound, and a slab has many blocks. */
static bool is_full(uint64_t in_use_bytes) {
    uint64_t most = get_n(&totals.most_in_use);
    if (vt_likely(in_use_bytes < most) || in_use_bytes == 0) return false;
    return in_use_bytes > most || !atomic_load_explicit(&totals.has_shrunk, memory_order_relaxed);
}

/* A walk that may tell of less is taken only where there might be a peak. */
static uint64_t find_in_use(struct vt_sample_slot *slot) {
    if (slot == NULL) return in_use_with(0);
    int64_t untold = vt__heap_in_use(/* wants_walk */ false) - slot->told_in_use;
    if (vt_unlikely(is_full(in_use_with(untold))))
        untold = vt__heap_in_use(/* wants_walk */ true) - slot->told_in_use;
    uint64_t n = in_use_with(untold);
    tell_in_use(slot, untold);
    return n;
}

/* Until a thread has allocated what is missing, there is no peak. */
static void set_next_look(uint64_t in_use_bytes, uint64_t period) {
    uint64_t most = get_n(&totals.most_in_use);
    uint64_t n_below = most - vt_min(in_use_bytes, most);
    vt__heap_look_after(vt_min(vt_max(n_below, period / LOOKS_PER_PERIOD), period));
}

uint64_t vt__totals_in_use(struct vt_sample_slot *slot, size_t block_bytes) {
    if (block_bytes > VT_SMALL_MAX && !vt__heap_look_is_due()) return 0;
    uint64_t n = find_in_use(slot);
    set_next_look(n, vt__probe_period());
    return n;
}

bool vt__totals_look(uint64_t in_use_bytes, size_t block_bytes, bool has_lock) {
    if (vt_likely(!is_full(in_use_bytes))) return false;
    if (!has_lock) vt_lock(&vt__probe_lock);
    bool is_peak = heap_is_full(in_use_bytes, block_bytes);
    if (!has_lock) vt_unlock(&vt__probe_lock);
    return is_peak;
}

void vt__sample_settle_peak(void) {
    if (!vt__enter()) return;
    uint64_t n = find_in_use(vt__slot_of_thread());
    vt_lock(&vt__probe_lock);
    if (is_full(n)) (void)heap_is_full(n, 0);
    vt__probe_leave();
}

/* ---- adding ---- */

/* With the lock: a thread's part goes to the common sums. */
static void tell(struct sums *part) {
    add_sums(&totals.all, part);
    clear_sums(part);
    if (totals.all.live_bytes > totals.peak_bytes && is_beyond_error(&totals.all))
        take_peak(totals.all.live_bytes);
    if (!vt__exact_is_set()) vt__totals_pull(totals.all.alloc_bytes, totals.all.live_bytes);
}

static bool should_tell(const struct sums *part, double n_bytes) {
    double live = get(&part->live_bytes), most = PART_SAMPLES * n_bytes;
    if (live > most || live < -most) return true;
    return get(&part->alloc_bytes) >= get(&totals.tell_bytes); /* a trigger may be due */
}

static VT_NOINLINE void tell_with_lock(struct sums *part) {
    vt_lock(&vt__probe_lock);
    tell(part);
    vt_unlock(&vt__probe_lock);
}

static void told(struct sums *part, double n_bytes, bool has_lock) {
    if (has_lock)
        tell(part);
    else if (vt_unlikely(should_tell(part, n_bytes)))
        tell_with_lock(part);
}

void vt__totals_add(struct vt_sample_slot *slot, const struct vt_share *share, bool has_lock) {
    struct sums nobodys = {0};
    struct sums *part = slot != NULL ? &slot->part : &nobodys;
    double n = share->counts.bytes;
    set_n(&part->n_samples, get_n(&part->n_samples) + 1);
    set_n(&part->n_live, get_n(&part->n_live) + 1);
    set(&part->alloc_bytes, get(&part->alloc_bytes) + n);
    set(&part->live_bytes, get(&part->live_bytes) + n);
    set(&part->live_variance, get(&part->live_variance) + share->variance);
    told(part, n, has_lock);
}

void vt__totals_subtract(struct vt_sample_slot *slot, const struct vt_share *share, bool has_lock) {
    struct sums nobodys = {0};
    struct sums *part = slot != NULL ? &slot->part : &nobodys;
    double n = share->counts.bytes;
    if (!atomic_load_explicit(&totals.has_shrunk, memory_order_relaxed))
        atomic_store_explicit(&totals.has_shrunk, true, memory_order_relaxed);
    set_n(&part->n_live, get_n(&part->n_live) - 1);
    set(&part->live_bytes, get(&part->live_bytes) - n);
    set(&part->live_variance, get(&part->live_variance) - share->variance);
    told(part, n, has_lock);
}

void vt__totals_lost(void) {
    totals.all.n_samples++;
    totals.n_lost++;
}

void vt__totals_forget(void) {
    uint64_t n_samples = 0;
    for (struct vt_sample_slot *s = totals.slots; s != NULL; s = s->next) {
        n_samples += get_n(&s->part.n_samples);
        clear_sums(&s->part);
    }
    n_samples += totals.all.n_samples;
    clear_sums(&totals.all);
    totals.all.n_samples = n_samples;
    set(&totals.peak_bytes, 0);
    set_n(&totals.most_in_use, 0);
    totals.by_alloc.next = next_of(&totals.by_alloc, 0);
    totals.by_growth.next = next_of(&totals.by_growth, 0);
}

/* ---- reading ---- */

void vt__sample_totals(struct vt_sample_totals *out) {
    bool is_entered = vt__probe_enter(); /* false, in a handler: what is there */
    struct sums s = sum_up();
    *out = (struct vt_sample_totals){.n_samples = s.n_samples,
                                     .n_live = s.n_live,
                                     .n_lost = totals.n_lost,
                                     .alloc_bytes = s.alloc_bytes,
                                     .live_bytes = s.live_bytes,
                                     .peak_bytes = totals.peak_bytes};
    if (is_entered) vt__probe_leave();
}
