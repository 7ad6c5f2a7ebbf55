/* draw.c - which mallocs are sampled, at no cost for the others.
 *
 * Each class of a heap has a countdown.
 *   small    in mallocs. A refill hands out no more blocks than are left of it, so the list is empty just when the one to be
 *            sampled comes, and that one is on the slow path anyway.
 *   medium   in mallocs, counted by malloc as it takes from the shelf.
 *   large    in OS pages: a block is sampled if one of its pages is.
 * Countdowns are memoryless, so one may be drawn anew at any time that has nothing to do with its value: after a change of
 * the rate, and whenever ready blocks are dropped (they were counted off, but never handed out).
 *
 * A program that only takes and gives large blocks would have many of them sampled, and a sample costs more than malloc. When
 * more than SAMPLES_PER_MS come in a thread, the period of that class is doubled, and halved again when they come slowly. The
 * chance of each sample is known, so the estimate stays unbiased; only its error grows.
 *
 * The same countdowns tell how much a thread allocated (heap.bytes), at no cost for the others either.
 *
 * Climate: malloc.   Owns: heap.draw.   Locks: none; the heap's owner calls.
 */
#include "heap/impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define COUNTDOWN_MAX 256
#ifndef SAMPLES_PER_MS
#define SAMPLES_PER_MS                                                                             \
    8 /* a thread comes to this when it allocates 4 GB/s at a period of 512 KiB */
#endif
#define WATCH_MS 16 /* the coarse clock moves by up to 10 */
#define SHIFT_MAX 10
#define NOT_DRAWN UINT32_MAX

static _Atomic uint32_t epoch = 1; /* a fresh heap has 0: nothing is drawn yet */

void vt__draws_init(struct heap *h) {
    for (unsigned i = 0; i < VT_N_DRAWS; i++) {
        bool is_medium = i >= VT_N_SMALL && i < VT_N_CLASSES;
        h->draw[i].countdown = is_medium ? 1 : 0; /* the first malloc asks, and it is drawn then */
        h->draw[i].left = NOT_DRAWN;
    }
}

void vt__draws_settle(struct heap *h, unsigned cls, uint32_t n_ready) {
    struct draw *d = &h->draw[cls];
    if (d->left == NOT_DRAWN) return;
    uint64_t to_come = (uint64_t)d->countdown + n_ready;
    if (to_come >= d->left) return; /* drawn anew for a single one, while others were ready */
    uint64_t bytes = (d->left - to_come) * vt__class_bytes(cls);
    h->bytes.allocated += bytes;
    h->small_allocated += bytes;
    d->left = (uint32_t)to_come;
}

void vt__draws_settle_all(struct heap *h) {
    for (unsigned c = 0; c < VT_N_SMALL; c++) vt__draws_settle(h, c, 0);
}

uint64_t vt__draws_taken_bytes(const struct heap *h) {
    uint64_t n = h->bytes.allocated;
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        if (h->draw[c].left != NOT_DRAWN)
            n += (uint64_t)(h->draw[c].left - h->draw[c].countdown) * vt__class_bytes(c);
    return n;
}

/* Forgets all countdowns if the rate changed since they were drawn. */
static void look_at_rate(struct heap *h) {
    /* relaxed: a change may be noticed one refill late */
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    if (vt_likely(h->sample_epoch == now)) return;
    h->sample_epoch = now;
    vt__draws_settle_all(h);
    vt__draws_init(h);
}

/* Whoever changes it sees the effect with the next malloc, but for small blocks that are in its lists already; other threads
 * with a refill, or after COUNTDOWN_MAX mallocs of a medium class. */
void vt__heap_sampling_changed(void) {
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    if (vt__tls.real == NULL || !vt__enter()) return;
    look_at_rate(vt__tls.real);
    vt__leave();
}

static void begin_medium(struct draw *d, uint32_t n) {
    d->countdown = (uint32_t)vt_min(n, COUNTDOWN_MAX);
    d->left = n - d->countdown;
}

static void draw_small(struct draw *d, unsigned cls) {
    d->left = d->countdown = vt__probe_draw_count(vt__class_bytes(cls), d->shift);
}

/* The malloc that brought us here is counted at once, unless it is the sample: who looks at heap.bytes sees it move. Rare, but
 * every program does it: not marked as cold, which would lead to another window of code. */
static VT_NOINLINE void begin_small(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    draw_small(d, cls);
    if (d->countdown == 1) return;
    h->bytes.allocated += vt__class_bytes(cls);
    h->small_allocated += vt__class_bytes(cls);
    d->left--;
}

bool vt__draw_small(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    look_at_rate(h);
    if (vt_unlikely(d->countdown == 0)) begin_small(h, cls);
    return d->countdown == 1;
}

bool vt__draw_single(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    look_at_rate(h);
    if (d->countdown == 0) draw_small(d, cls);
    if (d->countdown == 1) return true;
    d->countdown--;
    d->left--;
    return false;
}

bool vt__draw_medium(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    look_at_rate(h);
    if (d->left == NOT_DRAWN) {
        begin_medium(d, vt__probe_draw_count(vt__class_bytes(cls), d->shift));
        return --d->countdown == 0 && d->left == 0; /* this malloc */
    }
    if (d->left == 0) return true;
    begin_medium(d, d->left);
    return false;
}

unsigned vt__draw_of_large(size_t n_bytes) {
    return VT_N_CLASSES + (unsigned)vt_min(vt_log2(n_bytes) - vt_log2(VT_MEDIUM_MAX), 31);
}

bool vt__draw_large(struct heap *h, unsigned draw, size_t n_bytes) {
    struct draw *d = &h->draw[draw];
    size_t n_pages = n_bytes / VT_OS_PAGE;
    look_at_rate(h);
    if (d->countdown == 0) d->countdown = vt__probe_draw_count(VT_OS_PAGE, d->shift);
    if (d->countdown > n_pages) {
        d->countdown -= (uint32_t)n_pages;
        return false;
    }
    return true;
}

static bool is_too_fast(struct heap *h, uint32_t now_ms) {
    if (now_ms - h->sample_ms >= WATCH_MS) {
        h->sample_ms = now_ms;
        h->n_samples = 0;
    }
    /* who asks for a shorter period wants more samples */
    uint64_t n_times = vt_max(KiB(512) / vt_max(vt__probe_period(), 1), 1);
    return ++h->n_samples > WATCH_MS * SAMPLES_PER_MS * n_times;
}

unsigned vt__draw_again(struct heap *h, unsigned draw) {
    struct draw *d = &h->draw[draw];
    unsigned shift = d->shift;
    uint32_t now_ms = (uint32_t)vt__os_now_ms();
    if (is_too_fast(h, now_ms)) {
        if (d->shift < SHIFT_MAX) d->shift++;
    } else if (d->shift > 0 && now_ms - d->last_ms >= WATCH_MS) {
        d->shift--;
    }
    d->last_ms = now_ms;
    if (draw < VT_N_SMALL) {
        vt__draws_settle(h, draw, 0);
        d->left = 0;
    }
    d->countdown = 0;
    if (draw >= VT_N_SMALL && draw < VT_N_CLASSES)
        begin_medium(d, vt__probe_draw_count(vt__class_bytes(draw), d->shift));
    return shift;
}
