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
 * A program that takes and gives large blocks in turns has many of them sampled, and a sample costs more than such a malloc. After
 * IN_TURN_MIN samples of a class in a row that came when no other was in use, only each IN_TURN_TIMES-th that is drawn becomes a sample,
 * and stands for so many; the first that meets another one ends it. So what a program keeps is drawn with the period it asked for, and
 * what it takes and gives costs less. How much that is in all is as well known as before: all that are drawn count.
 *
 * The same countdowns tell how much a thread allocated (count.c), at no cost for the others either.
 *
 * Climate: malloc.   Owns: heap.draw, heap.countdown.   Locks: none; the heap's owner calls.
 */
#include "heap/impl.h"
#include "heap/upcalls.h"

#define COUNTDOWN_MAX 256
#define IN_TURN_MIN 1000
#define IN_TURN_TIMES 4

static _Atomic uint32_t epoch = 1; /* a fresh heap has 0: nothing is drawn yet */

void vt__draws_init(struct heap *h) {
    h->listed_bytes = 0;
    for (unsigned i = 0; i < VT_N_DRAWS; i++) {
        bool is_medium = i >= VT_N_SMALL && i < VT_N_CLASSES;
        h->countdown[i] = is_medium ? 1 : 0; /* the first malloc asks, and it is drawn then */
        h->draw[i].left = i < VT_N_SMALL ? vt__list_ready(h, i) : VT_NOT_DRAWN;
        h->draw[i].n_in_turn = h->draw[i].n_to_draw = 0;
        if (i < VT_N_SMALL) h->listed_bytes += h->draw[i].left * vt__class_bytes(i);
    }
    h->random = 0;
}

/* Forgets all countdowns if the rate changed since they were drawn. */
static void look_at_rate(struct heap *h) {
    /* relaxed: a change may be noticed one refill late */
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    if (vt_likely(h->sample_epoch == now)) return;
    vt__draws_settle_all(h);
    h->sample_epoch = now;
    vt__draws_init(h);
}

/* Whoever changes it sees the effect with the next malloc, but for small blocks that are in its lists already
 * (vt__heap_drop_thread_cache() before gives them back); other threads with a refill, or after COUNTDOWN_MAX mallocs of a medium
 * class. */
void vt__heap_sampling_changed(void) {
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    if (vt__tls.real == NULL || !vt__enter()) return;
    look_at_rate(vt__tls.real);
    vt__leave();
}

static void begin_medium(struct heap *h, unsigned cls, uint32_t n) {
    h->countdown[cls] = (uint32_t)vt_min(n, COUNTDOWN_MAX);
    h->draw[cls].left = n - h->countdown[cls];
}

static unsigned times_of(const struct heap *h, unsigned draw) {
    return h->draw[draw].n_in_turn < IN_TURN_MIN ? 1 : IN_TURN_TIMES;
}

/* How many are to be drawn until the next sample. */
static unsigned take_to_draw(struct heap *h, unsigned draw) {
    struct draw *d = &h->draw[draw];
    unsigned n = d->n_to_draw != 0 ? d->n_to_draw : times_of(h, draw);
    d->n_to_draw = 0;
    return n;
}

static uint32_t draw_count(struct heap *h, unsigned draw, size_t n_bytes) {
    return vt__probe_draw_count(n_bytes, take_to_draw(h, draw), &h->random);
}

/* At any time that has nothing to do with the samples, some are drawn that the next one will stand for; but not just after it. Where
 * it ends the turns, as many less are counted after it: any number below IN_TURN_TIMES, one as often as the other. */
static unsigned to_draw_after_turns(const struct heap *h) {
    return 1 + (unsigned)((h->random * UINT64_C(0xd1342543de82ef95)) >> 32) % IN_TURN_TIMES;
}

static void draw_small(struct heap *h, unsigned cls) {
    h->countdown[cls] = draw_count(h, cls, vt__class_bytes(cls));
    h->draw[cls].left += h->countdown[cls];
}

/* The malloc that brought us here is counted at once, unless it is the sample: who looks at heap.bytes sees it move. Rare, but
 * every program does it: not marked as cold, which would lead to another window of code. */
static VT_NOINLINE void begin_small(struct heap *h, unsigned cls) {
    draw_small(h, cls);
    if (h->countdown[cls] == 1) return;
    h->bytes.allocated += vt__class_bytes(cls);
    h->small_allocated += vt__class_bytes(cls);
    h->listed_bytes -= vt__class_bytes(cls);
    h->draw[cls].left--;
}

bool vt__draw_small(struct heap *h, unsigned cls) {
    look_at_rate(h);
    if (vt_unlikely(h->countdown[cls] == 0)) begin_small(h, cls);
    return h->countdown[cls] == 1;
}

VT_COLD void vt__draw_failed(struct heap *h, unsigned cls) {
    if (h->draw[cls].left != h->countdown[cls] - 1) return; /* it was not counted */
    h->bytes.allocated -= vt__class_bytes(cls);
    h->small_allocated -= vt__class_bytes(cls);
    h->listed_bytes += vt__class_bytes(cls);
    h->draw[cls].left++;
}

bool vt__draw_single(struct heap *h, unsigned cls) {
    look_at_rate(h);
    if (h->countdown[cls] == 0) draw_small(h, cls);
    if (h->countdown[cls] == 1) return true;
    h->countdown[cls]--;
    h->draw[cls].left--;
    return false;
}

bool vt__draw_medium(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    look_at_rate(h);
    if (d->left == VT_NOT_DRAWN) {
        begin_medium(h, cls, draw_count(h, cls, vt__class_bytes(cls)));
        return --h->countdown[cls] == 0 && d->left == 0; /* this malloc */
    }
    if (d->left == 0) return true;
    begin_medium(h, cls, d->left);
    return false;
}

unsigned vt__draw_of_large(size_t n_bytes) {
    return VT_N_CLASSES + (unsigned)vt_min(vt_log2(n_bytes) - vt_log2(VT_MEDIUM_MAX), 31);
}

bool vt__draw_large(struct heap *h, unsigned draw, size_t n_bytes) {
    struct draw *d = &h->draw[draw];
    size_t n_pages = n_bytes / VT_OS_PAGE;
    look_at_rate(h);
    if (d->left == VT_NOT_DRAWN) d->left = take_to_draw(h, draw);
    uint32_t *countdown = &h->countdown[draw];
    if (*countdown == 0) *countdown = vt__probe_draw_count(VT_OS_PAGE, 1, &h->random);
    if (*countdown > n_pages) {
        *countdown -= (uint32_t)n_pages;
        return false;
    }
    *countdown = 0;
    return --d->left == 0; /* a block counts once, however many of its pages are drawn */
}

unsigned vt__draw_again(struct heap *h, unsigned draw) {
    struct draw *d = &h->draw[draw];
    unsigned n_drawn = times_of(h, draw);
    if (d->n_live > 0) {
        d->n_in_turn = 0;
        if (n_drawn > 1) d->n_to_draw = to_draw_after_turns(h);
    } else if (d->n_in_turn < IN_TURN_MIN) {
        d->n_in_turn++;
    }
    d->n_live++;
    if (draw >= VT_N_CLASSES) d->left = VT_NOT_DRAWN;
    if (draw < VT_N_SMALL) {
        vt__draws_settle(h, draw);
        d->left -= h->countdown[draw];
    }
    h->countdown[draw] = 0;
    if (draw >= VT_N_SMALL && draw < VT_N_CLASSES)
        begin_medium(h, draw, draw_count(h, draw, vt__class_bytes(draw)));
    return n_drawn;
}

void vt__draw_ended(struct heap *h, unsigned draw, enum vt_probe_known known) {
    struct draw *d = &h->draw[draw];
    if (known == VT_KNOWN_MINE && d->n_live > 0) d->n_live--;
}
