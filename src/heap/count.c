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

/* The list is away meanwhile: a signal handler that allocates must not get a block of it. One that did may have made a ring of it. */
VT_INLINE uint32_t number_list(struct heap *h, unsigned cls, struct block *list) {
    uint32_t n = 0, most = vt__classes[cls].capacity;
    h->list[cls] = (struct block *)&vt__nil;
    atomic_signal_fence(memory_order_seq_cst);
    for (struct block *b = list; b != NULL && n < most; b = link_next(b, cls), n++)
        if (VT_HARDEN < 2) b->mark = n; /* blocks of the secure build stay as they are */
    if (VT_HARDEN < 2) h->bin[cls].list_kind = LIST_IS_NUMBERED;
    h->bin[cls].n_listed = n;
    atomic_signal_fence(memory_order_seq_cst);
    h->list[cls] = list;
    return n;
}

VT_INLINE uint32_t list_ready(struct heap *h, unsigned cls) {
    struct block *b = h->list[cls];
    if (b == &vt__nil) return 0;
    if (h->bin[cls].list_kind == LIST_IS_NUMBERED) return h->bin[cls].n_listed - (uint32_t)b->mark;
    return number_list(h, cls, b);
}

uint32_t vt__list_ready(struct heap *h, unsigned cls) { return list_ready(h, cls); }

/* ---- allocated ---- */

/* Answers the blocks that wait. */
VT_INLINE uint32_t settle(struct heap *h, unsigned cls) {
    struct draw *d = &h->draw[cls];
    uint32_t n_ready = list_ready(h, cls), to_come = h->countdown[cls] + n_ready;
    uint64_t bytes = (d->left - to_come) * vt__class_bytes(cls);
    h->bytes.allocated += bytes;
    h->small_allocated += bytes;
    h->listed_bytes -= bytes;
    d->left = to_come;
    return n_ready;
}

void vt__draws_settle(struct heap *h, unsigned cls) { (void)settle(h, cls); }

/* Heaps of own.c use the countdowns without a refill: `used` does not know of these. */
uint64_t vt__draws_settle_all(struct heap *h) {
    VT_AUDIT(vt__draws_are_valid(h));
    uint64_t n_bytes = 0;
    uint64_t used = h->own_caches == NULL ? h->used : ~UINT64_C(0);
    for (; used != 0; used &= used - 1) {
        unsigned c = (unsigned)__builtin_ctzll(used);
        n_bytes += settle(h, c) * vt__class_bytes(c);
    }
    return n_bytes;
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

static uint64_t n_out_of_queue(slab_id first, size_t *n_slabs) {
    uint64_t n = 0;
    for (slab_id i = first; i != 0; i = vt__slab(i)->next, ++*n_slabs)
        n += vt__slab_n_out(vt__slab(i));
    return n;
}

static uint64_t small_out_bytes(struct heap *h) {
    uint64_t bytes = 0;
    h->pace.n_steps = 0;
    for (uint64_t used = h->used; used != 0; used &= used - 1) {
        unsigned c = (unsigned)__builtin_ctzll(used);
        const struct bin *bin = &h->bin[c];
        size_t n_slabs = bin->current != 0;
        uint64_t n = n_slabs != 0 ? vt__slab_n_out(vt__slab(bin->current)) : 0;
        n += n_out_of_queue(bin->partial, &n_slabs) + n_out_of_queue(bin->full, &n_slabs);
        bytes += n * vt__class_bytes(c);
        h->pace.n_steps += n_slabs;
    }
    return bytes;
}

VT_COLD bool vt__heap_count_freed(struct heap *h, uint64_t ready_bytes, size_t n_short) {
    if (!vt__pace_allows(&h->pace, n_short)) return false;
    if (vt__has_remote(h)) vt__remote_collect(h, /* has_heaps_lock */ false);
    uint64_t out = small_out_bytes(h);
    uint64_t in_use = out - vt_min(out, ready_bytes);
    if (h->is_taken_over) {
        h->small_taken_over = in_use - vt_min(in_use, h->small_allocated);
        h->is_taken_over = false;
    }
    uint64_t had = h->small_allocated + h->small_taken_over;
    uint64_t freed = had - vt_min(in_use, had);
    if (freed <= h->small_freed) return true;
    h->bytes.freed += freed - h->small_freed;
    h->small_freed = freed;
    return true;
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
    uint64_t ready_bytes = vt__draws_settle_all(h);
    if (wanted != VT_BYTES_ALLOCATED) (void)vt__heap_count_freed(h, ready_bytes, SHORT_WALK);
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
