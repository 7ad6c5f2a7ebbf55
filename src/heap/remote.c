/* remote.c - blocks freed by another thread than the one whose heap they come from.
 *
 * The freeing thread puts them on its shelf and uses them itself. What it has too much of it sends home, sorted by slab: one
 * compare-and-swap puts a batch on the slab's `remote` list, and the first batch since the owner last looked puts the
 * slab on the owner's `pending` stack. The owner's next refill collects slabs, not blocks.
 *
 *   remote   63..49 count   48 queued: the slab is on, or on its way to, some pending stack   47..0 first block
 *
 * A slab whose blocks have all come back that way, and whose owner does not look (it sleeps, perhaps for good), is
 * discarded by the thread that freed the last one: its pages go back to the system, and a mark takes the list's place.
 *
 * While a block is on its way its second word bears a mark and its link a salt (shelf.h): a second free finds the mark; if it does not
 * look for one, because it is the owner's, it writes another link, and then the batch does not lead on where it did. The owner makes
 * links of its own of them.
 *
 * A slab may change owner (its thread ended, another adopted it) while it is on the old owner's stack: whoever collects
 * it forwards it to the new one. `queued` keeps a slab from being on two stacks.
 *
 * Climate: malloc.   Owns: slab.remote, heap.pending.   Locks: none, but for heaps without a thread (thread.c).
 */
#include "heap/fast.h"
#include "heap/shelf.h"
#include "heap/impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define BLOCK_MASK ((UINT64_C(1) << 48) - 1)
#define QUEUED (UINT64_C(1) << 48)
#define COUNT_SHIFT 49
#define WHOLE_PENDING_MAX 16 /* slabs */

/* In place of the first block: */
#define DISCARDING 1 /* somebody is giving the pages back: come again later */
#define DISCARDED 2  /* all blocks are free, and the pages are gone */

static uint64_t count_of(uint64_t remote) { return remote >> COUNT_SHIFT; }
static struct block *block_of(uint64_t remote) {
    return (struct block *)(uintptr_t)(remote & BLOCK_MASK);
}

/* ---- notifying ---- */

/* s, whose `queued` we set, onto the stack of its owner; answers the owner. A slab with remote blocks is never empty,
 * so it has one. */
static struct heap *push_pending(struct slab *s) {
    /* acquire: pairs with vt__slab_change_owner; we follow the pointer */
    struct heap *h = heap_of_owner(atomic_load_explicit(&s->owner, memory_order_acquire));
    slab_id head = atomic_load_explicit(&h->pending, memory_order_relaxed);
    do atomic_store_explicit(&s->pending_next, head, memory_order_relaxed);
    /* seq_cst: the caller reads the heap's state after the push is visible; pairs with vt__heap_detach_thread, which sets
     * the state and then looks at the stack. One of the two sees the other. The release half publishes pending_next. */
    while (!atomic_compare_exchange_weak_explicit(&h->pending, &head, vt__slab_id(s),
                                                  memory_order_seq_cst, memory_order_relaxed));
    return h;
}

static bool is_pooled(struct heap *h) {
    return atomic_load_explicit(&h->state, memory_order_seq_cst) == HEAP_POOLED;
}

/* Is every block of s in this list, once? A block that was freed twice makes up for one that is still in use: then the user
 * hears of it, and the block in use keeps its contents. */
static void check_is_whole(const struct slab *s, uint64_t remote) {
    uint32_t seen[VT_SLAB_MAX_BLOCKS / 32] = {0};
    struct block *b = block_of(remote);
    for (uint64_t n = count_of(remote); n > 0; n--) {
        size_t k =
            ((uintptr_t)b - vt__slice_address(vt__slab_id(s))) / vt__classes[s->cls].block_bytes;
        if ((seen[k / 32] >> (k % 32) & 1) != 0) vt__double_free(b, s);
        seen[k / 32] |= UINT32_C(1) << (k % 32);
        b = n > 1 ? link_next_salted(b, s->cls, VT_SALT_REMOTE) : NULL;
    }
}

/* `remote` says that every block of s is in the list. If it still does, nobody but the owner can touch s any more, and
 * the mark keeps the owner away. */
static void discard(struct slab *s, uint64_t remote) {
    uint64_t mark = (remote & ~BLOCK_MASK) | DISCARDING;
    /* acquire: the owner may have collected it first; then it is not ours to discard */
    if (!atomic_compare_exchange_strong_explicit(&s->remote, &remote, mark, memory_order_acquire,
                                                 memory_order_relaxed))
        return;
    /* The slab may have been released and be another one by now, whose list looks the same (the word knows neither). */
    bool is_done = count_of(remote) == vt__classes[s->cls].capacity;
    if (is_done) {
        check_is_whole(s, remote);
        size_t n_bytes = vt__classes[s->cls].n_slices * VT_SLICE;
        is_done = vt__os_purge((void *)vt__slice_address(vt__slab_id(s)), n_bytes) == 0;
    }
    /* release: the purge happens before the owner uses the memory again. If nothing was done, the list is as it was. */
    atomic_store_explicit(&s->remote, is_done ? (remote & ~BLOCK_MASK) | DISCARDED : remote,
                          memory_order_release);
}

/* Does the owner seem to sleep? It has not looked since a good number of whole slabs came back. */
static bool seems_asleep(struct heap *h) {
    return atomic_fetch_add_explicit(&h->n_whole_pending, 1, memory_order_relaxed) >=
           WHOLE_PENDING_MAX; /* relaxed: a hint */
}

/* A batch of n blocks, linked from head to tail, goes home. */
static void send(struct slab *s, struct block *head, struct block *tail, uint64_t n) {
    /* Once the batch is gone the owner may release s: what we want to know of it later is read now. Heaps stay. */
    unsigned capacity = vt__classes[s->cls].capacity;
    struct heap *sleeper = heap_of_owner(atomic_load_explicit(&s->owner, memory_order_acquire));
    uint64_t old = atomic_load_explicit(&s->remote, memory_order_relaxed);
    uint64_t new;
    do {
        while (vt_unlikely((old & BLOCK_MASK) ==
                           DISCARDING)) { /* by mistake, see discard: it will be undone */
            vt_pause();
            old = atomic_load_explicit(&s->remote, memory_order_relaxed);
        }
        tail->link = link_salted(block_of(old), tail, VT_SALT_REMOTE);
        new = (count_of(old) + n) << COUNT_SHIFT | QUEUED | (uint64_t)(uintptr_t)head;
        /* release: the blocks' links must be visible before the owner can reach them; acquire: the owner that took the
         * list before us has read pending_next, which we are about to write. Both pair with take_remote. On failure we
         * only retry, so relaxed. */
    } while (!atomic_compare_exchange_weak_explicit(&s->remote, &old, new, memory_order_acq_rel,
                                                    memory_order_relaxed));
    if ((old & QUEUED) == 0) {
        struct heap *owner = push_pending(s);
        if (is_pooled(owner)) vt__heap_collect_pooled(owner);
    } else if (vt_unlikely(count_of(new) == capacity) && seems_asleep(sleeper)) {
        discard(s, new);
    }
}

/* ---- the freeing side ---- */

/* Blocks of one slab on their way home. */
struct batch {
    struct slab *slab;
    struct block *head, *tail;
    uint32_t n;
};
#define N_BATCHES 8

static void add_to_batch(struct batch *t, struct slab *s, struct block *b) {
    if (t->slab != s && t->slab != NULL) {
        send(t->slab, t->head, t->tail, t->n);
        t->slab = NULL;
    }
    if (t->slab == NULL) *t = (struct batch){s, NULL, b, 0};
    b->link = link_salted(t->head, b, VT_SALT_REMOTE);
    t->head = b;
    t->n++;
}

/* It is, unless a block was freed twice and its slab released meanwhile. */
static bool is_of_a_heap(const struct slab *s, unsigned cls) {
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_relaxed);
    return owner > VT_OWNER_SAMPLED && (owner & VT_OWNER_OWN) != VT_OWNER_OWN && s->cls == cls;
}

void vt__remote_send(unsigned cls, struct block *list, uintptr_t salt) {
    struct batch batch[N_BATCHES];
    for (unsigned i = 0; i < N_BATCHES; i++) batch[i].slab = NULL;
    while (list != NULL) {
        struct block *b = list;
        slab_id i = vt__slice_of(b);
        list = shelf_next(b, cls, salt);
        if (VT_HARDEN > 0 && !is_of_a_heap(vt__slab(i), cls))
            vt__already_free(b, vt__class_bytes(cls));
        add_to_batch(&batch[i % N_BATCHES], vt__slab(i), b);
    }
    for (unsigned i = 0; i < N_BATCHES; i++)
        if (batch[i].slab != NULL) send(batch[i].slab, batch[i].head, batch[i].tail, batch[i].n);
}

/* ---- the owner's side ---- */

/* Is b, of which a batch of s speaks, a block that can come back? It becomes free. */
static void check_comes_back(struct slab *s, struct block *b) {
    size_t k = block_number((uintptr_t)b & (VT_SLICE - 1), s);
    if (vt_unlikely(vt__slice_of(b) != vt__slab_id(s) || k >= s->carved)) vt__bad_free(b);
    if (vt_unlikely(mark_free(s, k))) vt__double_free(b, s);
    if (vt_unlikely(!is_shelved(b))) vt__bad_link(b, s->cls);
}

/* A block in the list that the owner's malloc takes from is not free for the bits. One that came back by another way was freed
 * twice: once before it came into the list. */
static void check_list(const struct slab *s) {
    const struct heap *h = (struct heap *)atomic_load_explicit(&s->owner, memory_order_relaxed);
    if (s->state != SLAB_CURRENT || h->list[s->cls] == &vt__nil) return;
    for (struct block *b = h->list[s->cls]; b != NULL; b = link_next(b, s->cls))
        if (vt_unlikely(!vt__slab_is_out(s, number_in_slab(b, s)))) vt__double_free(b, s);
}

/* Blocks others freed join the slab's own free list, each checked as a local free would be. A slab that is empty
 * by then is released, so s may be gone when this returns. */
static void absorb(struct heap *h, struct slab *s, uint64_t remote) {
    uint64_t n = count_of(remote);
    struct block *b = block_of(remote);
    if ((uintptr_t)b == DISCARDED) {
        vt__slab_start_over(s);
        return;
    }
    struct block *head = b, *tail = b;
    for (uint64_t left = n; left > 0; left--) {
        if (VT_HARDEN > 0) check_comes_back(s, b);
        struct block *next = link_next_salted(b, s->cls, VT_SALT_REMOTE);
        if ((next == NULL) != (left == 1)) vt__double_free(b, s); /* it stands there twice */
        b->link = link_encode(next, b);
        if (s->cls < VT_N_SMALL) b->mark = 0; /* a medium one bears it until it is handed out */
        tail = b;
        b = next;
    }
    if (s->cls >= VT_N_SMALL) {
        vt__medium_absorb(h, s, head, tail, (uint32_t)n); /* may release s, as does the other */
        return;
    }
    if (VT_HARDEN > 0) check_list(s);
    vt__slab_put_chain(s, head, tail, (uint32_t)n);
}

/* The whole list, unless it is being discarded right now: then it stays. */
static uint64_t take_remote(struct slab *s) {
    uint64_t remote = atomic_load_explicit(&s->remote, memory_order_relaxed);
    do {
        if ((remote & BLOCK_MASK) == DISCARDING) return remote;
        /* acquire: pairs with the release in send and in discard; the blocks' links are visible. release: we are done with
         * pending_next before a sender finds the slab not queued and writes it. */
    } while (!atomic_compare_exchange_weak_explicit(&s->remote, &remote, 0, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return remote;
}

void vt__remote_collect(struct heap *h, bool has_heaps_lock) {
    atomic_store_explicit(&h->n_whole_pending, 0, memory_order_relaxed);
    /* acquire: pairs with the push: pending_next of each slab is visible. seq_cst, because vt__heap_detach_thread has just
     * said that the heap is pooled: a push that comes after this exchange must see that. */
    slab_id i = atomic_exchange_explicit(&h->pending, 0, memory_order_seq_cst);
    while (i != 0) {
        struct slab *s = vt__slab(i);
        i = atomic_load_explicit(&s->pending_next,
                                 memory_order_relaxed); /* before somebody may queue it again */
        if (heap_of_owner(atomic_load_explicit(&s->owner, memory_order_relaxed)) == h) {
            uint64_t remote = take_remote(s);
            if ((remote & BLOCK_MASK) == DISCARDING) {
                push_pending(s); /* still queued: the next look finds it done */
                continue;
            }
            /* relaxed: a figure, and only the owner adds to it */
            atomic_store_explicit(&h->n_remote_frees,
                                  atomic_load_explicit(&h->n_remote_frees, memory_order_relaxed) +
                                      count_of(remote),
                                  memory_order_relaxed);
            absorb(h, s, remote);
            continue;
        }
        struct heap *owner = push_pending(s); /* it moved: still queued, now with its new owner */
        if (!is_pooled(owner)) continue;
        if (has_heaps_lock)
            vt__remote_collect(owner, true);
        else
            vt__heap_collect_pooled(owner);
    }
}

VT_NORETURN void vt__remote_double_free(const struct slab *s, uint64_t remote_word) {
    vt__double_free(block_of(remote_word), s);
}

/* ---- for statistics ---- */

uint64_t vt__remote_count(uint64_t remote_word) { return count_of(remote_word); }

bool vt__remote_is_discarded(uint64_t remote_word) {
    return (uintptr_t)block_of(remote_word) == DISCARDED;
}
