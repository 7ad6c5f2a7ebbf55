/* remote.c - blocks freed by another thread than the one whose heap they come from.
 *
 * The freeing thread puts them on its shelves. What it has too much of it sends home, sorted by heap: one compare-and-swap puts a
 * batch of blocks, of whatever slabs, into the `inbox` of the heap. The owner's next refill takes all of it.
 *
 *   inbox    63..48 count                                                                     47..0 first block
 *
 * Where many wait for a while, the owner seems to sleep. Then, and before somebody counts, the blocks go on to their slabs:
 *
 *   remote   63..49 count   48 queued: the slab is on, or on its way to, some pending stack   47..0 first block
 *
 * The first batch of a slab puts it on the owner's `pending` stack, which the owner collects as well. A slab whose blocks have all
 * come back that way, and whose owner does not look (it sleeps, perhaps for good), is discarded by the thread that sent the last
 * one: its pages go back to the system, and a mark takes the list's place.
 *
 * While a block is on its way its second word bears a mark and its link a salt (shelf.h): a second free finds the mark; if it does not
 * look for one, because it is the owner's, it writes another link, and then the batch does not lead on where it did. The owner makes
 * links of its own of them.
 *
 * A slab may change owner (its thread ended, another adopted it) while blocks of it are in the old owner's inbox, or it is on the
 * old owner's stack: whoever collects forwards to the new one. `queued` keeps a slab from being on two stacks.
 *
 * Climate: malloc.   Owns: heap.inbox, slab.remote, heap.pending.   Locks: none, but for heaps without a thread (thread.c).
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
#define MAILED_SHIFT 48
#define MAILED_MAX 60000  /* blocks in an inbox: there are bits for a few more */
#define ASLEEP_BLOCKS 512 /* in the inbox of who does not look ... */
#define ASLEEP_MS 20      /* ... for so long */

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

/* ---- to slabs ---- */

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

static uint64_t mailed(uint64_t inbox) { return inbox >> MAILED_SHIFT; }

/* The block behind b in an inbox, which has `left` more. s: the slab of b, which starts in its first slice. */
static struct block *next_mailed(const struct slab *s, const struct block *b, uint64_t left) {
    struct block *next = shelf_next(b, s->cls, VT_SALT_REMOTE);
    if ((next == NULL) != (left == 0)) vt__double_free(b, s); /* it stands there twice */
    return next;
}

/* What was in an inbox goes on to the slabs. */
static void sort(uint64_t inbox) {
    struct batch batch[N_BATCHES];
    struct block *b = block_of(inbox);
    for (unsigned i = 0; i < N_BATCHES; i++) batch[i].slab = NULL;
    for (uint64_t left = mailed(inbox); left-- > 0;) {
        slab_id i = vt__slice_of(b);
        struct slab *s = vt__slab(i);
        if (VT_HARDEN > 0 && !is_of_a_heap(s, s->cls)) vt__no_block(b);
        struct block *next = next_mailed(s, b, left);
        add_to_batch(&batch[i % N_BATCHES], s, b);
        b = next;
    }
    for (unsigned i = 0; i < N_BATCHES; i++)
        if (batch[i].slab != NULL) send(batch[i].slab, batch[i].head, batch[i].tail, batch[i].n);
}

/* All of it, for who takes it. */
static uint64_t empty_inbox(struct heap *h) {
    /* acquire: pairs with the release in post: the blocks' links are visible. seq_cst: see vt__remote_collect. */
    if (atomic_load_explicit(&h->inbox, memory_order_seq_cst) == 0) return 0;
    return atomic_exchange_explicit(&h->inbox, 0, memory_order_seq_cst);
}

void vt__remote_sort(void) {
    for (struct heap *h = vt__heaps_first(); h != NULL; h = h->next) sort(empty_inbox(h));
}

/* ---- to inboxes ---- */

/* Has the owner not looked for a while, though there was something? relaxed: a hint */
static bool has_not_looked(struct heap *h) {
    uint32_t now = (uint32_t)vt__os_now_ms() | 1;
    uint32_t since = atomic_load_explicit(&h->unseen_since_ms, memory_order_relaxed);
    if (since == 0) atomic_store_explicit(&h->unseen_since_ms, now, memory_order_relaxed);
    return since != 0 && now - since >= ASLEEP_MS;
}

/* n blocks, linked. The heap may have lost its thread: then whoever has the heaps lock acts for it. Who has it already sorts nothing:
 * that may want the lock for yet another heap. He forwards few, and there are bits for these. */
static void post(struct heap *to, struct block *head, struct block *tail, uint64_t n,
                 bool has_heaps_lock) {
    uint64_t old = atomic_load_explicit(&to->inbox, memory_order_relaxed), new;
    do {
        if (vt_unlikely(mailed(old) + n > MAILED_MAX) && !has_heaps_lock) {
            tail->link = link_salted(NULL, tail, VT_SALT_REMOTE);
            sort(n << MAILED_SHIFT | (uint64_t)(uintptr_t)head);
            return;
        }
        tail->link = link_salted(block_of(old), tail, VT_SALT_REMOTE);
        new = (mailed(old) + n) << MAILED_SHIFT | (uint64_t)(uintptr_t)head;
        /* release: the blocks' links are visible before the owner can reach them; pairs with empty_inbox. seq_cst: we read the
         * heap's state after the blocks can be found; pairs with vt__heap_detach_thread, as push_pending does. */
    } while (!atomic_compare_exchange_weak_explicit(&to->inbox, &old, new, memory_order_seq_cst,
                                                    memory_order_relaxed));
    if (vt_unlikely(is_pooled(to))) {
        if (has_heaps_lock)
            vt__remote_collect(to, true);
        else
            vt__heap_collect_pooled(to);
        return;
    }
    if (has_not_looked(to) && mailed(new) >= ASLEEP_BLOCKS && !has_heaps_lock)
        sort(empty_inbox(to));
}

static void mail_one(struct vt_mail *m) {
    if (m->to != NULL) post(m->to, m->head, m->tail, m->n, /* has_heaps_lock */ false);
    m->to = NULL;
}

void vt__mail_add(struct vt_mail mail[VT_N_MAILS], unsigned cls, struct block *list,
                  uintptr_t salt) {
    while (list != NULL) {
        struct block *b = list;
        const struct slab *s = vt__slab(vt__slice_of(b));
        list = shelf_next(b, cls, salt);
        if (VT_HARDEN > 0 && !is_of_a_heap(s, cls)) vt__already_free(b, vt__class_bytes(cls));
        struct heap *to = heap_of_owner(atomic_load_explicit(&s->owner, memory_order_acquire));
        struct vt_mail *m = &mail[((uintptr_t)to / sizeof(struct heap)) % VT_N_MAILS];
        if (m->to != to) {
            mail_one(m);
            *m = (struct vt_mail){to, NULL, b, 0};
        }
        b->link = link_salted(m->head, b, VT_SALT_REMOTE);
        m->head = b;
        m->n++;
    }
}

void vt__mail_send(struct vt_mail mail[VT_N_MAILS]) {
    for (unsigned i = 0; i < VT_N_MAILS; i++) mail_one(&mail[i]);
}

void vt__remote_send(unsigned cls, struct block *list, uintptr_t salt) {
    struct vt_mail mail[VT_N_MAILS] = {{NULL, NULL, NULL, 0}};
    vt__mail_add(mail, cls, list, salt);
    vt__mail_send(mail);
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
static void check_list(const struct heap *h, unsigned cls) {
    const struct slab *s = vt__slab(h->bin[cls].current);
    if (h->list[cls] == &vt__nil) return;
    unsigned n = 0,
             most = vt__classes[cls].capacity; /* a signal handler may have made a ring of it */
    for (struct block *b = h->list[cls]; b != NULL && n < most; b = link_next(b, cls), n++)
        if (vt_unlikely(!vt__slab_is_out(s, number_in_slab(b, s)))) vt__double_free(b, s);
}

/* Where blocks came back, once for all. */
static void check_lists(const struct heap *h, uint64_t classes) {
    for (; VT_HARDEN > 0 && classes != 0; classes &= classes - 1)
        check_list(h, (unsigned)__builtin_ctzll(classes));
}

/* b becomes one of those that join their slab's free list. */
static void take_home(struct batch *t, struct block *b) {
    if (VT_HARDEN > 0) check_comes_back(t->slab, b);
    b->link = link_encode(t->head, b);
    if (t->slab->cls < VT_N_SMALL) b->mark = 0; /* a medium one bears it until it is handed out */
    if (t->n++ == 0) t->tail = b;
    t->head = b;
}

/* They are there. A slab that is empty by then is released, so t->slab may be gone when this returns. Answers the class whose
 * list is to be checked, as a bit. */
static uint64_t arrive(struct heap *h, struct batch *t) {
    struct slab *s = t->slab;
    if (t->n == 0) return 0;
    if (s->cls >= VT_N_SMALL) {
        vt__medium_absorb(h, s, t->head, t->tail, t->n);
        return 0;
    }
    uint64_t changed = s->state == SLAB_CURRENT ? UINT64_C(1) << s->cls : 0;
    vt__slab_put_chain(s, t->head, t->tail, t->n);
    return changed;
}

/* Blocks others freed join the slab's own free list, each checked as a local free would be. */
static void absorb(struct heap *h, struct slab *s, uint64_t remote) {
    struct batch t = {s, NULL, NULL, 0};
    struct block *b = block_of(remote);
    if ((uintptr_t)b == DISCARDED) {
        vt__slab_start_over(s);
        return;
    }
    for (uint64_t left = count_of(remote); left > 0; left--) {
        struct block *next = link_next_salted(b, s->cls, VT_SALT_REMOTE);
        if ((next == NULL) != (left == 1)) vt__double_free(b, s); /* it stands there twice */
        take_home(&t, b);
        b = next;
    }
    check_lists(h, arrive(h, &t));
}

static bool is_of(struct heap *h, const struct slab *s) {
    return heap_of_owner(atomic_load_explicit(&s->owner, memory_order_relaxed)) == h;
}

/* The slab of b has another owner by now. Answers the block behind b. */
static VT_COLD struct block *forward(struct slab *s, struct block *b, uint64_t left,
                                     bool has_heaps_lock) {
    if (VT_HARDEN > 0 && !is_of_a_heap(s, s->cls)) vt__no_block(b);
    struct block *next = next_mailed(s, b, left);
    struct heap *owner = heap_of_owner(atomic_load_explicit(&s->owner, memory_order_acquire));
    post(owner, b, b, 1, has_heaps_lock);
    return next;
}

/* What the inbox has. Blocks of one slab mostly follow one another. */
static void absorb_mail(struct heap *h, uint64_t inbox, bool has_heaps_lock) {
    struct batch t = {vt__slab(0), NULL, NULL, 0}; /* which is none */
    struct block *b = block_of(inbox);
    uint64_t changed = 0;
    for (uint64_t left = mailed(inbox); left-- > 0;) {
        struct slab *s = vt__slab(vt__slice_of(b));
        struct block *next;
        if (s != t.slab) {
            changed |= arrive(h, &t);
            t = (struct batch){s, NULL, NULL, 0};
        }
        if (vt_likely(is_of(h, s))) {
            next = next_mailed(s, b, left);
            take_home(&t, b);
        } else {
            next = forward(s, b, left, has_heaps_lock);
        }
        b = next;
    }
    check_lists(h, changed | arrive(h, &t));
}

/* relaxed: a figure, and only the owner adds to it */
static void count_remote_frees(struct heap *h, uint64_t n) {
    uint64_t before = atomic_load_explicit(&h->n_remote_frees, memory_order_relaxed);
    atomic_store_explicit(&h->n_remote_frees, before + n, memory_order_relaxed);
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
    uint64_t inbox = empty_inbox(h);
    atomic_store_explicit(&h->unseen_since_ms, 0, memory_order_relaxed);
    atomic_store_explicit(&h->n_whole_pending, 0, memory_order_relaxed);
    if (inbox != 0) {
        count_remote_frees(h, mailed(inbox));
        absorb_mail(h, inbox, has_heaps_lock);
    }
    /* acquire: pairs with the push: pending_next of each slab is visible. seq_cst, because vt__heap_detach_thread has just
     * said that the heap is pooled: a push that comes after this exchange must see that. */
    if (atomic_load_explicit(&h->pending, memory_order_seq_cst) == 0) return;
    slab_id i = atomic_exchange_explicit(&h->pending, 0, memory_order_seq_cst);
    while (i != 0) {
        struct slab *s = vt__slab(i);
        i = atomic_load_explicit(&s->pending_next,
                                 memory_order_relaxed); /* before somebody may queue it again */
        if (is_of(h, s)) {
            uint64_t remote = take_remote(s);
            if ((remote & BLOCK_MASK) == DISCARDING) {
                push_pending(s); /* still queued: the next look finds it done */
                continue;
            }
            count_remote_frees(h, count_of(remote));
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
