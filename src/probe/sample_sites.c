/* sample_sites.c - sums of samples by place: stack, size of block, thread, labels.
 *
 * Large blocks have sizes without number, and one that grows has them all: their sizes are told apart no finer than classes are.
 *
 * Who writes: a site is its thread's, who adds what it allocates and frees without a lock. What others free of it they add under
 * the lock, to a row apart (`of_others`). A reader takes each number as it is: a site that is being written may be off by the
 * sample under way.
 *
 * The peak costs nothing when it comes: it gets a number (vt__sites_new_peak). A site is asked to note what it has in use just
 * before that changes for the first time after a peak; until then, what it has in use is its part of the peak.
 *
 * Climate: malloc.   Owns: the sites; they are never forgotten.   Locks: probe, but for what a site's own thread does.
 * Limit: past SITES_WITH_THREADS, new sites are nobody's: their thread is 0, and all write them under the lock.
 */
#include "heap/class.h"
#include "heap/heap.h"
#include "os/box.h"
#include "probe/chance.h"
#include "probe/impl.h"
#include "probe/table.h"

#define SITES_WITH_THREADS (1u << 18)

static struct {
    struct vt_rows rows, freed;
    _Atomic uint64_t peak_number;
} sites = {.rows = {.row_bytes = sizeof(struct vt_box_site), .box = VT_BOX_SITES},
           .freed = {.row_bytes = sizeof(struct vt_box_freed), .box = VT_BOX_FREED}};

static struct vt_box_site *site(uint32_t id) { return vt__row(&sites.rows, id); }

/* ---- finding ---- */

static uint64_t hash_key(const struct vt_site_key *k) {
    return vt__mix(vt__mix((uint64_t)k->stack << 32 | k->thread) + ((uint64_t)k->label << 40) +
                   k->block_bytes);
}

static struct vt_site_key key_of(const struct vt_box_site *s) {
    return (struct vt_site_key){s->s.stack, s->s.thread, s->s.label, s->s.block_bytes};
}

static uint64_t hash_of(uint32_t id) {
    struct vt_site_key k = key_of(site(id));
    return hash_key(&k);
}
static struct vt_index by_key = {.hash_of = hash_of};

static bool is_same(uint32_t id, const void *key) {
    const struct vt_site_key *b = key;
    const struct vt_site *a = &site(id)->s;
    return a->stack == b->stack && a->thread == b->thread && a->label == b->label &&
           a->block_bytes == b->block_bytes;
}

/* As if there were classes for large blocks too. */
size_t vt__site_bytes(size_t block_bytes) {
    if (block_bytes <= VT_MEDIUM_MAX) return block_bytes;
    return vt_round_up(block_bytes, (size_t)1 << (vt_log2(block_bytes - 1) - 3));
}

static void note_peak_number(void) {
    vt__box->peak_number = atomic_load_explicit(&sites.peak_number, memory_order_relaxed);
    vt__box->sample_period = vt__sample_period();
    vt__box->sample_since_ns = vt__sample_since_ns();
}

uint32_t vt__site_of(const struct vt_site_key *wanted) {
    struct vt_site_key key = *wanted;
    if (sites.rows.n >= SITES_WITH_THREADS) key.thread = 0;
    uint32_t id = vt__index_find(&by_key, hash_key(&key), is_same, &key);
    if (id != 0) return id;
    id = vt__row_add(&sites.rows);
    if (id == 0) return 0;
    if (id == 1) note_peak_number();
    *site(id) = (struct vt_box_site){
        .s = {.stack = key.stack,
              .thread = key.thread,
              .label = key.label,
              .block_bytes = key.block_bytes},
        .peak_number = atomic_load_explicit(&sites.peak_number, memory_order_relaxed)};
    if (vt__index_add(&by_key, id)) return id;
    sites.rows.n--;
    return 0;
}

bool vt__site_is(uint32_t id, const struct vt_site_key *key) { return id != 0 && is_same(id, key); }

bool vt__site_is_mine(uint32_t id) {
    uint32_t thread = site(id)->s.thread;
    return thread != 0 && thread == vt__heap_thread_number();
}

void vt__site_thread(uint32_t id, uint32_t *stack, uint32_t *thread) {
    *stack = site(id)->s.stack;
    *thread = site(id)->s.thread;
}

/* ---- counting ---- */

/* One writer at a time; relaxed: readers take what is there. */
static void add_n(uint64_t *sum, uint64_t n) {
    __atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

static void set_double(double *x, double v) { __atomic_store(x, &v, __ATOMIC_RELAXED); }

static void add_double(double *sum, double x) {
    double now;
    __atomic_load(sum, &now, __ATOMIC_RELAXED);
    set_double(sum, now + x);
}

static void add(struct vt_site_counts *c, const struct vt_site_counts *more) {
    add_n(&c->n_seen, more->n_seen);
    add_double(&c->objects, more->objects);
    add_double(&c->bytes, more->bytes);
    add_double(&c->requested_bytes, more->requested_bytes);
}

/* A block of b bytes and chance p counts for b / p, or 0: the variance is b^2 (1 - p) / p, and one that was drawn tells of 1 / p
 * such. */
struct vt_share vt__share_of(double objects, size_t block_bytes, size_t requested_bytes) {
    double n_bytes = objects * (double)block_bytes;
    return (struct vt_share){.counts = {.n_seen = 1,
                                        .objects = objects,
                                        .bytes = n_bytes,
                                        .requested_bytes = objects * (double)requested_bytes},
                             .variance = n_bytes * n_bytes * (1 - 1 / objects)};
}

static void load(struct vt_site_counts *out, const struct vt_site_counts *c) {
    out->n_seen = __atomic_load_n(&c->n_seen, __ATOMIC_RELAXED);
    __atomic_load(&c->objects, &out->objects, __ATOMIC_RELAXED);
    __atomic_load(&c->bytes, &out->bytes, __ATOMIC_RELAXED);
    __atomic_load(&c->requested_bytes, &out->requested_bytes, __ATOMIC_RELAXED);
}

static void store(struct vt_site_counts *c, const struct vt_site_counts *from) {
    __atomic_store_n(&c->n_seen, from->n_seen, __ATOMIC_RELAXED);
    set_double(&c->objects, from->objects);
    set_double(&c->bytes, from->bytes);
    set_double(&c->requested_bytes, from->requested_bytes);
}

static void combine(struct vt_site_counts *a, const struct vt_site_counts *b, int sign) {
    a->n_seen += (uint64_t)sign * b->n_seen;
    a->objects += sign * b->objects;
    a->bytes += sign * b->bytes;
    a->requested_bytes += sign * b->requested_bytes;
}

/* NULL: other threads freed nothing. */
static struct vt_box_freed *freed_by_others(const struct vt_box_site *s) {
    /* acquire: the row is there; pairs with the release in freed_to_add */
    uint32_t id = __atomic_load_n(&s->of_others, __ATOMIC_ACQUIRE);
    return id != 0 ? vt__row(&sites.freed, id) : NULL;
}

static void load_freed(struct vt_site_counts *out, const struct vt_box_site *s) {
    struct vt_site_counts others;
    const struct vt_box_freed *f = freed_by_others(s);
    load(out, &s->s.freed);
    if (f == NULL) return;
    load(&others, &f->counts);
    combine(out, &others, 1);
}

static void load_live(struct vt_site_counts *out, const struct vt_box_site *s) {
    struct vt_site_counts freed;
    load_freed(&freed, s); /* first: what is freed was allocated before */
    load(out, &s->s.alloc);
    combine(out, &freed, -1);
}

/* For who reads it when we are dead: a thread is killed between two instructions, so their order is all that counts. A thread
 * that frees a block of another's may write at the same time; then the sequence may stay as it is. */
static void write_begins(struct vt_box_site *s) {
    uint32_t now = __atomic_load_n(&s->sequence, __ATOMIC_RELAXED);
    __atomic_store_n(&s->sequence, now | 1, __ATOMIC_RELAXED);
    atomic_signal_fence(memory_order_seq_cst);
}

static void write_ends(struct vt_box_site *s) {
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t now = __atomic_load_n(&s->sequence, __ATOMIC_RELAXED);
    __atomic_store_n(&s->sequence, (now | 1) + 1, __ATOMIC_RELAXED);
}

/* Before what is in use changes. */
static void settle_peak(struct vt_box_site *s) {
    uint64_t now = atomic_load_explicit(&sites.peak_number, memory_order_relaxed);
    if (vt_likely(__atomic_load_n(&s->peak_number, __ATOMIC_RELAXED) == now)) return;
    struct vt_site_counts live;
    load_live(&live, s);
    store(&s->s.peak, &live);
    __atomic_store_n(&s->peak_number, now, __ATOMIC_RELAXED);
}

void vt__sites_new_peak(void) {
    uint64_t n = atomic_fetch_add_explicit(&sites.peak_number, 1, memory_order_relaxed);
    if (vt__box_is_begun()) __atomic_store_n(&vt__box->peak_number, n + 1, __ATOMIC_RELAXED);
}

double vt__site_weight(uint32_t id, uint64_t period, size_t block_bytes) {
    struct vt_box_site *s = site(id);
    if (block_bytes > VT_MEDIUM_MAX) /* a site has several sizes */
        return 1 / vt__probability_of((double)block_bytes / (double)period);
    if (vt_likely(s->weighed_period == period)) return s->weight;
    s->weight = 1 / vt__probability_of((double)block_bytes / (double)period);
    s->weighed_period = period;
    return s->weight;
}

struct vt_box_site *vt__site_row(uint32_t id) {
    return site(id);
}

void vt__site_add_mine(struct vt_box_site *s, const struct vt_share *share) {
    write_begins(s);
    settle_peak(s);
    add(&s->s.alloc, &share->counts);
    write_ends(s);
}

void vt__site_add(uint32_t id, const struct vt_record *r, const struct vt_share *share,
                  bool is_peak) {
    struct vt_box_site *s = site(id);
    write_begins(s);
    settle_peak(s);
    if (is_peak)
        add(&s->s.peak, &(struct vt_site_counts){.n_seen = 1,
                                                 .objects = 1,
                                                 .bytes = (double)r->block_bytes,
                                                 .requested_bytes = (double)r->requested_bytes});
    add(&s->s.alloc, &share->counts);
    write_ends(s);
}

/* With the lock: where what another thread frees is added. NULL: no memory. */
static struct vt_box_freed *freed_to_add(struct vt_box_site *s) {
    struct vt_box_freed *f = freed_by_others(s);
    if (f != NULL) return f;
    uint32_t id = vt__row_add(&sites.freed);
    if (id == 0) return NULL;
    __atomic_store_n(&s->of_others, id, __ATOMIC_RELEASE);
    return vt__row(&sites.freed, id);
}

static void add_lifetime(uint32_t lifetimes[VT_LIFETIMES], uint64_t age_ms) {
    unsigned age = age_ms == 0 ? 0 : vt_log2(age_ms) + 1;
    uint32_t *n = &lifetimes[vt_min(age, VT_LIFETIMES - 1)];
    __atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
}

static void add_freed(struct vt_box_site *s, struct vt_site_counts *freed,
                      uint32_t lifetimes[VT_LIFETIMES], const struct vt_share *share,
                      uint64_t age_ms) {
    write_begins(s);
    settle_peak(s);
    add(freed, &share->counts);
    add_lifetime(lifetimes, age_ms);
    write_ends(s);
}

void vt__site_end_mine(struct vt_box_site *s, const struct vt_share *share, uint64_t age_ms) {
    add_freed(s, &s->s.freed, s->s.lifetimes, share, age_ms);
}

void vt__site_end(uint32_t id, const struct vt_share *share, uint64_t age_ms) {
    struct vt_box_site *s = site(id);
    /* without memory it is added to what its own thread freed: then a sample of that one may be lost */
    struct vt_box_freed *f = vt__site_is_mine(id) ? NULL : freed_to_add(s);
    if (f == NULL)
        vt__site_end_mine(s, share, age_ms);
    else
        add_freed(s, &f->counts, f->lifetimes, share, age_ms);
}

void vt__site_ask_again(uint32_t id, double requested_bytes_more) {
    struct vt_box_site *s = site(id);
    bool is_mine = vt__site_is_mine(id);
    struct vt_box_freed *f = is_mine ? NULL : freed_to_add(s);
    if (f == NULL && !is_mine) return; /* no memory: it is as it was */
    write_begins(s);
    settle_peak(s);
    if (is_mine)
        add_double(&s->s.alloc.requested_bytes, requested_bytes_more);
    else /* its thread writes the other without a lock; in use is the difference */
        add_double(&f->counts.requested_bytes, -requested_bytes_more);
    write_ends(s);
}

static void clear_lifetimes(uint32_t lifetimes[VT_LIFETIMES]) {
    for (unsigned i = 0; i < VT_LIFETIMES; i++)
        __atomic_store_n(&lifetimes[i], 0, __ATOMIC_RELAXED);
}

/* A thread that counts at this moment may leave its sample behind. */
void vt__sites_forget(void) {
    struct vt_site_counts none = {0};
    for (uint32_t id = 1; id <= sites.rows.n; id++) {
        struct vt_box_site *s = site(id);
        store(&s->s.alloc, &none);
        store(&s->s.freed, &none);
        store(&s->s.peak, &none);
        clear_lifetimes(s->s.lifetimes);
    }
    for (uint32_t id = 1; id <= sites.freed.n; id++) {
        struct vt_box_freed *f = vt__row(&sites.freed, id);
        store(&f->counts, &none);
        clear_lifetimes(f->lifetimes);
    }
}

/* ---- reading ---- */

static void copy(const struct vt_box_site *s, struct vt_site *out) {
    out->stack = s->s.stack;
    out->thread = s->s.thread;
    out->label = s->s.label;
    out->block_bytes = s->s.block_bytes;
    load_freed(&out->freed, s); /* first, as above */
    load(&out->alloc, &s->s.alloc);
    load(&out->peak, &s->s.peak);
    if (__atomic_load_n(&s->peak_number, __ATOMIC_RELAXED) !=
        atomic_load_explicit(&sites.peak_number, memory_order_relaxed)) {
        out->peak = out->alloc;
        combine(&out->peak, &out->freed, -1);
    }
    const struct vt_box_freed *f = freed_by_others(s);
    for (unsigned i = 0; i < VT_LIFETIMES; i++) {
        out->lifetimes[i] = __atomic_load_n(&s->s.lifetimes[i], __ATOMIC_RELAXED);
        if (f != NULL) out->lifetimes[i] += __atomic_load_n(&f->lifetimes[i], __ATOMIC_RELAXED);
    }
}

bool vt__sample_next_site(uint32_t *cursor, struct vt_site *out) {
    if (!vt__probe_enter()) return false;
    bool is_there = *cursor < sites.rows.n;
    if (is_there) copy(site(++*cursor), out);
    vt__probe_leave();
    return is_there;
}
