/* count.c - what a thread allocated and freed, counted when it asks: malloc and free count nothing.
 *
 *   allocated   what refills put into lists is known from the countdowns (draw.c); what still waits in the lists is not allocated
 *   freed       what was allocated, less what is out of the thread's slabs and not in a list. What an earlier thread left in use in
 *               them is seen when the thread first asks
 *
 * Blocks that wait are numbered by the first question after a refill, in the word behind their link. Then the first block of a list
 * tells how many are gone, until the next refill.
 *
 * Climate: malloc.   Owns: heap.bytes, heap.pace.   Locks: none; the heap's owner calls.
 */
#include "heap/impl.h"
#include "heap/link.h"
#include "heap/magazine.h"
#include "heap/pace.h"

#define SHORT_WALK 256     /* slabs */
#define STEP_BYTES KiB(64) /* a step of a walk is paid for by so much that was allocated */

/* ---- blocks that wait in lists ---- */

/* The list is away meanwhile: a signal handler that allocates must not get a block of it. One that did may have made a ring of it.
 * By itself, so that the question's loop keeps its registers. */
static VT_NOINLINE size_t number_list(struct heap *h, size_t cls, struct block *list) {
    size_t n = 0, most = vt__classes[cls].capacity;
    h->list[cls] = (struct block *)&vt__nil;
    atomic_signal_fence(memory_order_seq_cst);
    for (struct block *b = list; b != NULL && n < most; b = link_next(b, (unsigned)cls), n++)
        if (VT_HARDEN < 2) b->mark = n; /* blocks of the secure build stay as they are */
    if (VT_HARDEN < 2) h->bin[cls].list_kind = LIST_IS_NUMBERED;
    h->bin[cls].n_listed = (uint32_t)n;
    atomic_signal_fence(memory_order_seq_cst);
    h->list[cls] = list;
    return n;
}

VT_INLINE uint32_t list_ready(struct heap *h, size_t cls) {
    struct block *b = h->list[cls];
    const struct bin *bin = &h->bin[cls];
    if (b == &vt__nil) return 0;
    if (vt_likely(bin->list_kind == LIST_IS_NUMBERED)) return bin->n_listed - (uint32_t)b->mark;
    return (uint32_t)number_list(h, cls, b);
}

uint32_t vt__list_ready(struct heap *h, unsigned cls) { return list_ready(h, cls); }

/* ---- one look at every class in use ---- */

/* How many blocks were taken from the class since this was last asked. */
VT_INLINE uint32_t take_count(struct heap *h, size_t cls, uint32_t n_ready) {
    struct draw *d = &h->draw[cls];
    uint32_t to_come = h->countdown[cls] + n_ready, n = d->left - to_come;
    d->left = to_come;
    return n;
}

struct walk {
    uint64_t n_out; /* blocks of one class */
    size_t n_slabs;
};

VT_INLINE void walk_queue(struct walk *w, slab_id first) {
    for (slab_id i = first; i != 0; i = vt__slab(i)->next, w->n_slabs++)
        w->n_out += vt__slab_n_out(vt__slab(i));
}

VT_INLINE void walk_bin(struct walk *w, const struct bin *bin) {
    w->n_out = 0;
    if (bin->current != 0) {
        VT_ASSERT(vt__slab(bin->current)->state == SLAB_CURRENT);
        w->n_out = vt__slab(bin->current)->room - 1;
        w->n_slabs++;
    }
    walk_queue(w, bin->partial);
    walk_queue(w, bin->full);
}

/* Bytes: that wait in lists, and that are out of the slabs, those included. */
struct seen {
    uint64_t ready, out;
};

static void add_allocated(struct heap *h, uint64_t n_bytes) {
    h->bytes.allocated += n_bytes;
    h->small_allocated += n_bytes;
    h->listed_bytes -= n_bytes;
}

/* Inlined, so that each question pays for what it wants: with `settles` heap.bytes has all that was allocated, with `walks` it is seen
 * what is out. Heaps of own.c use the countdowns without a refill: `used` does not know of these. */
VT_INLINE struct seen see(struct heap *h, bool settles, bool walks) {
    VT_AUDIT(vt__draws_are_valid(h));
    struct walk w = {0, 0};
    struct seen seen = {0, 0}; /* in steps of VT_BLOCK_ALIGN, as classes are */
    uint64_t taken = 0, used = h->own_caches == NULL ? h->used : ~UINT64_C(0);
    for (; used != 0; used &= used - 1) {
        size_t c = (size_t)__builtin_ctzll(used);
        uint32_t n_ready = settles ? list_ready(h, c) : 0;
        if (settles) taken += take_count(h, c, n_ready) * (c + 1);
        seen.ready += n_ready * (c + 1);
        if (!walks) continue;
        walk_bin(&w, &h->bin[c]);
        seen.out += w.n_out * (c + 1);
    }
    if (walks) h->pace.n_steps = w.n_slabs;
    if (settles) add_allocated(h, taken * VT_BLOCK_ALIGN);
    return (struct seen){seen.ready * VT_BLOCK_ALIGN, seen.out * VT_BLOCK_ALIGN};
}

/* ---- allocated ---- */

void vt__draws_settle(struct heap *h, unsigned cls) {
    add_allocated(h, (uint64_t)take_count(h, cls, list_ready(h, cls)) * vt__class_bytes(cls));
}

uint64_t vt__draws_settle_all(struct heap *h) {
    return see(h, /* settles */ true, /* walks */ false).ready;
}

uint64_t vt__draws_taken_bytes(const struct heap *h) {
    return h->bytes.allocated + h->listed_bytes;
}

#ifdef VT_WITH_AUDIT
bool vt__draws_are_valid(const struct heap *h) {
    uint64_t n = 0;
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        n += (uint64_t)(h->draw[c].left - h->countdown[c]) * vt__class_bytes(c);
    return n == h->listed_bytes;
}
#endif

/* ---- freed ---- */

static void note_freed(struct heap *h, uint64_t out, uint64_t ready) {
    uint64_t in_use = out - vt_min(out, ready);
    if (h->is_taken_over) {
        h->small_taken_over = in_use - vt_min(in_use, h->small_allocated);
        h->is_taken_over = false;
    }
    uint64_t had = h->small_allocated + h->small_taken_over;
    uint64_t freed = had - vt_min(in_use, had);
    if (freed <= h->small_freed) return;
    h->bytes.freed += freed - h->small_freed;
    h->small_freed = freed;
}

bool vt__heap_count_freed(struct heap *h, uint64_t ready_bytes, size_t n_short) {
    if (!vt__pace_allows(&h->pace, n_short)) return false;
    if (vt__has_remote(h)) vt__remote_collect(h, /* has_heaps_lock */ false);
    note_freed(h, see(h, /* settles */ false, /* walks */ true).out, ready_bytes);
    return true;
}

static void count_both(struct heap *h) {
    if (vt__has_remote(h)) vt__remote_collect(h, /* has_heaps_lock */ false);
    struct seen seen = see(h, /* settles */ true, /* walks */ true);
    note_freed(h, seen.out, seen.ready);
}

/* ---- in use ---- */

/* Nothing is freed by this count but what a walk saw; what waits in lists counts as in use. */
static int64_t in_use_at_most(const struct heap *h) {
    return h->left_bytes +
           (int64_t)(vt__draws_taken_bytes(h) - h->bytes.freed - vt__magazines_bytes(h));
}

int64_t vt__heap_in_use(bool wants_walk) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return 0;
    if (!wants_walk) return in_use_at_most(h);
    uint64_t ready_bytes = vt__draws_settle_all(h);
    if (h->bytes.allocated >= h->walk_at) {
        (void)vt__heap_count_freed(h, ready_bytes, SIZE_MAX);
        h->walk_at = h->bytes.allocated + h->pace.n_steps * STEP_BYTES;
    }
    return in_use_at_most(h) - (int64_t)ready_bytes;
}

bool vt__heap_look_is_due(void) {
    struct heap *h = vt__tls.real;
    return h != NULL && h->bytes.allocated - h->small_allocated >= h->look_at;
}

void vt__heap_look_after(uint64_t n_bytes) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return;
    uint64_t at_hand = vt__magazines_bytes(h); /* comes into use without being counted */
    h->look_at = h->bytes.allocated - h->small_allocated + n_bytes - vt_min(n_bytes, at_hand);
}

void vt__heap_leave_in_use(struct heap *h) {
    if (h->probe_slot[VT_SLOT_SAMPLES] == NULL) return; /* nobody asked */
    h->left_bytes = vt__heap_in_use(/* wants_walk */ true);
}

/* ---- questions ---- */

/* The next malloc of each class is counted at once. */
static void empty_lists(struct heap *h) {
    vt__heap_drop_empty(h, /* has_heaps_lock */ false);
    (void)vt__draws_settle_all(h);
    for (unsigned c = 0; c < VT_N_SMALL; c++) h->countdown[c] = h->draw[c].left = 0;
    h->listed_bytes = 0;
}

const struct vt_thread_bytes *vt__heap_thread_bytes(enum vt_bytes_wanted wanted) {
    struct heap *h = vt_likely(vt__tls.real != NULL) ? vt__tls.real : vt__heap_attach();
    if (h == NULL || !vt__enter()) return h != NULL ? &h->bytes : NULL;
    if (wanted == VT_BYTES_TO_WATCH) empty_lists(h);
    if (wanted != VT_BYTES_ALLOCATED && vt__pace_allows(&h->pace, SHORT_WALK))
        count_both(h);
    else
        (void)vt__draws_settle_all(h);
    vt__leave();
    return &h->bytes;
}

/* A look for a peak would see nothing new. */
void vt__heap_count_again(size_t n_bytes) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return;
    h->bytes.allocated += n_bytes;
    h->bytes.freed += n_bytes;
    h->peak.look_at += n_bytes;
    h->peak.paid_at += n_bytes;
}

uint64_t vt__heap_new_bytes(void) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return 0;
    uint64_t before = h->told_allocated, now = vt__draws_taken_bytes(h);
    if (now <= before) return 0; /* what was ready is no more */
    h->told_allocated = now;
    return now - before;
}
