/* medium.c - slabs of medium blocks, a thread's own or everybody's, and those of sampled blocks.
 *
 *   own       blocks of 1 to 64 KiB; the thread takes from them and gives back to them without a lock. What others free comes home
 *             as it does to small slabs (remote.c)
 *   shared    the same blocks; every thread takes and gives under the lock of the class
 *   sampled   blocks of any class that the probes watch: their owner is nobody's tag, so free meets them on its slow path
 *
 * Threads keep free blocks of both in their magazines (magazine.h), and come here for many at a time.
 *
 * A slab of 32 KiB holds few medium blocks. If each thread had its own of each class, most of that memory would lie idle. So a
 * thread shares, class by class, until it has come back SHARED_TRIPS times and what is shared is used up; and it shares where it hands its blocks over: what
 * others freed would lie idle with a thread that sleeps. docs/decisions/medium.md has the numbers.
 *
 * Climate: malloc.   Owns: these slabs, all fields but `owner` under their lock, or by their thread.   Locks: medium, sampled.
 */
#include "heap/exchange.h"
#include "heap/fast.h"
#include "heap/impl.h"
#include "heap/queue.h"
#include "heap/magazine.h"

#define N_MEDIUM VT_N_MEDIUM
#define N_SAMPLED_LOCKS (VT_LOCK_SAMPLED_LAST - VT_LOCK_SAMPLED + 1)
#define SHARED_TRIPS 8
/* A class is handed over when so many blocks came home, and that part of those that went out. */
#define HOME_MIN 8
#define HOME_PART 8
#define STOCK_MIN 8
/* A block that waits for another thread keeps its slab in use: at most so many blocks may be in that. */
#define EXCHANGE_CAPACITY 2

/* Queues have slabs with a block to hand out, freed or fresh. The longest there comes first: the others gather blocks meanwhile. */
static struct medium {
    struct vt_lock lock;
    struct queue queue;
} VT_ALIGNED(VT_CACHE_LINE) medium[N_MEDIUM];

/* Few locks for all classes: samples are rare. */
static struct sampled {
    struct vt_lock lock;
    slab_id kept; /* the last that became empty; it may be in use again */
} VT_ALIGNED(VT_CACHE_LINE) sampled[N_SAMPLED_LOCKS];
static struct queue sampled_queue[VT_N_CLASSES];

static struct sampled *sampled_of(unsigned cls) { return &sampled[cls % N_SAMPLED_LOCKS]; }

static struct medium *medium_of(unsigned cls) { return &medium[cls - VT_N_SMALL]; }

void vt__medium_open(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) medium[i].lock.rank = VT_LOCK_MEDIUM + i;
    for (unsigned i = 0; i < N_SAMPLED_LOCKS; i++) sampled[i].lock.rank = VT_LOCK_SAMPLED + i;
}

void vt__medium_fork_prepare(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) vt_lock(&medium[i].lock);
    for (unsigned i = 0; i < N_SAMPLED_LOCKS; i++) vt_lock(&sampled[i].lock);
}

void vt__medium_fork_done(bool is_child) {
    for (unsigned i = N_SAMPLED_LOCKS; i-- > 0;) vt_lock_forked(&sampled[i].lock, is_child);
    if (is_child) vt__exchange_forked();
    for (unsigned i = N_MEDIUM; i-- > 0;) vt_lock_forked(&medium[i].lock, is_child);
}

/* ---- taking ---- */

static uintptr_t owner_of(const struct slab *s) {
    return atomic_load_explicit(&s->owner, memory_order_relaxed);
}

static uintptr_t own(const struct heap *h) { return (uintptr_t)h | VT_OWNER_MEDIUM; }

static struct queue *own_queue(struct heap *h, unsigned cls) {
    return &h->medium_slabs[cls - VT_N_SMALL];
}

static struct magazine_use *use_of(struct heap *h, unsigned cls) {
    return &h->magazines.use[magazine_of(cls)];
}

static struct slab *new_slab(struct queue *q, uintptr_t owner, unsigned cls) {
    struct slab *s = vt__slab_new(owner, cls);
    if (s == NULL) return NULL;
    s->state = SLAB_SHARED;
    queue_append(q, s);
    return s;
}

/* A slab with a block to hand out, first in its queue. Under the lock, if there is one. NULL: no memory. */
static struct slab *slab_to_take_from(struct queue *q, uintptr_t owner, unsigned cls) {
    return q->first != 0 ? vt__slab(q->first) : new_slab(q, owner, cls);
}

static struct block *take(struct queue *q, struct slab *s, bool *is_zero) {
    VT_AUDIT(vt__slab_is_valid(s));
    struct block *b = vt__slab_take(s, is_zero);
    if (is_used_up(s)) queue_unlink(q, s);
    return b;
}

/* When no lock is held: it may be touched for the first time. */
static struct block *unmark(struct block *b) {
    if (b != NULL) b->mark = 0;
    return b;
}

/* A thread that frees nothing has empty magazines; if it comes often, there is room for a few blocks in them all the same. */
static int stock_goal(struct heap *h, unsigned cls) {
    size_t m = magazine_of(cls);
    if (VT_HARDEN > 1) return 0;
    bool is_often = h->magazines.use[m].n_trips >= SHARED_TRIPS;
    while (is_often && h->magazines.most[m] < STOCK_MIN && vt__magazine_can_grow(h, cls)) {}
    return (h->magazines.most[m] + 1) / 2;
}

/* Fills half of the magazine with freed blocks, which are resident: the next mallocs will want them. A slab holds few, so it may take
 * several; those that have waited longest come first. */
static void stock_magazine(struct heap *h, struct queue *q, unsigned cls) {
    size_t m = magazine_of(cls);
    int n = stock_goal(h, cls);
    bool is_zero;
    for (slab_id i = q->first, next; i != 0 && h->magazines.n[m] < n; i = next) {
        struct slab *s = vt__slab(i);
        next = s->next;
        while (s->free != NULL && h->magazines.n[m] < n) magazine_put(h, m, take(q, s, &is_zero));
    }
}

/* A block for malloc, and some for the magazine. */
static struct block *take_some(struct heap *h, struct queue *q, struct slab *s, bool *is_zero) {
    unsigned cls = s->cls, n_before = magazine_n(h, cls);
    struct block *b = take(q, s, is_zero);
    stock_magazine(h, q, cls);
    size_t n = magazine_n(h, cls) - n_before + 1;
    h->bytes.allocated += n * vt__classes[cls].block_bytes;
    h->medium_held += (int64_t)(n * vt__classes[cls].block_bytes);
    return b;
}

static struct block *take_shared(struct heap *h, unsigned cls, bool *is_zero) {
    struct medium *m = medium_of(cls);
    vt_lock(&m->lock);
    struct slab *s = slab_to_take_from(&m->queue, VT_OWNER_MEDIUM, cls);
    struct block *b = s != NULL ? take_some(h, &m->queue, s, is_zero) : NULL;
    vt_unlock(&m->lock);
    return b;
}

static bool is_handed_over(const struct magazine_use *u) {
    return u->n_home >= HOME_MIN && u->n_home >= u->n_out / HOME_PART;
}

/* A hint: no lock is held. */
VT_READS_RACILY static bool shared_are_used_up(unsigned cls) {
    return medium_of(cls)->queue.first == 0;
}

/* What is in slabs of its own comes first. The only thread of a program has nobody to share with. */
static bool wants_shared(struct heap *h, unsigned cls) {
    struct magazine_use *u = use_of(h, cls);
    bool is_alone = h->is_first && vt__heaps_first() == h;
    if (is_alone || own_queue(h, cls)->first != 0) return false;
    /* what is there is used up first, if that is not too long */
    unsigned n_trips = shared_are_used_up(cls) ? SHARED_TRIPS : 2 * SHARED_TRIPS;
    return u->n_trips < n_trips || is_handed_over(u);
}

bool vt__medium_take_over(struct heap *h, struct heap *from, unsigned cls) {
    struct queue *q = own_queue(from, cls);
    if (q->first == 0) return false;
    struct slab *s = vt__slab(q->first);
    queue_unlink(q, s);
    vt__slab_change_owner(s, own(h));
    queue_append(own_queue(h, cls), s);
    return true;
}

/* One with a block to hand out. NULL: no memory. */
static struct slab *own_slab(struct heap *h, unsigned cls) {
    struct queue *q = own_queue(h, cls);
    if (q->first == 0) (void)vt__adopt(h, cls);
    return slab_to_take_from(q, own(h), cls);
}

static struct block *take_own(struct heap *h, unsigned cls, bool *is_zero) {
    struct magazine_use *u = use_of(h, cls);
    struct slab *s = own_slab(h, cls);
    if (s == NULL) return NULL;
    unsigned n_before = magazine_n(h, cls);
    struct block *b = take_some(h, own_queue(h, cls), s, is_zero);
    u->n_out += magazine_n(h, cls) - n_before + 1;
    if (u->n_out >= UINT32_MAX / 2) u->n_out /= 2, u->n_home /= 2;
    return b;
}

/* The next thread of this heap will perhaps do as the last one did. */
void vt__medium_begin_anew(struct heap *h) {
    for (unsigned i = 0; i < N_MEDIUM; i++) {
        struct magazine_use *u = &h->magazines.use[i];
        u->n_trips -= u->n_trips / 4;
        u->n_out = u->n_home = 0;
    }
}

struct block *vt__medium_take(struct heap *h, unsigned cls, bool *out_is_zero) {
    bool is_zero = false;
    struct block *b = NULL;
    if (vt__has_remote(h)) vt__remote_collect(h, /* has_heaps_lock */ false);
    use_of(h, cls)->n_spilled = 0;
    /* relaxed: who comes too early takes another block */
    if (atomic_load_explicit(&vt__exchange_is_used, memory_order_relaxed))
        b = vt__exchange_take(h, cls);
    if (b != NULL) {
        if (out_is_zero != NULL) *out_is_zero = false;
        return unmark(b);
    }
    if (wants_shared(h, cls) && !(shared_are_used_up(cls) && vt__adopt(h, cls))) {
        struct magazine_use *u = use_of(h, cls);
        if (u->n_trips < 2 * SHARED_TRIPS) u->n_trips++;
        b = take_shared(h, cls, &is_zero);
    } else {
        b = take_own(h, cls, &is_zero);
    }
    if (out_is_zero != NULL) *out_is_zero = is_zero;
    return unmark(b);
}

/* Made without the lock: that may call the system. Two threads may come, and both make one. */
static void add_sampled_slab(struct sampled *a, unsigned cls) {
    vt_unlock(&a->lock);
    struct slab *s = vt__slab_new(VT_OWNER_SAMPLED, cls);
    vt_lock(&a->lock);
    if (s == NULL) return;
    s->state = SLAB_SHARED;
    queue_append(&sampled_queue[cls], s);
}

struct block *vt__sampled_take(unsigned cls, bool *is_zero) {
    struct sampled *a = sampled_of(cls);
    struct queue *q = &sampled_queue[cls];
    vt_lock(&a->lock);
    if (q->first == 0) add_sampled_slab(a, cls);
    struct block *b = q->first != 0 ? take(q, vt__slab(q->first), is_zero) : NULL;
    vt_unlock(&a->lock);
    return unmark(b);
}

void vt__medium_join(struct slab *s) {
    struct medium *m = medium_of(s->cls);
    vt_lock(&m->lock);
    vt__slab_change_owner(s, VT_OWNER_MEDIUM);
    if (!is_used_up(s)) queue_append(&m->queue, s);
    vt_unlock(&m->lock);
}

/* ---- giving back ---- */

/* One block, under the lock that keeps the queue, if there is one. True when its slab is empty now, and out of the queue: the caller releases it. */
static bool give(struct queue *q, struct slab *s, struct block *b) {
    VT_AUDIT(vt__slab_is_valid(s));
    if (is_used_up(s)) queue_append(q, s);
    if (VT_HARDEN > 0 && mark_free(s, number_in_slab(b, s))) vt__double_free(b, s);
    b->link = link_encode(s->free, b);
    s->free = b;
    s->room--;
    if (s->room > 0) return false;
    queue_unlink(q, s);
    return true;
}

/* An empty slab in no queue. Its blocks bear their marks to the end; the memory's next user must not meet them. */
static void release(struct slab *s) {
    size_t bytes = vt__classes[s->cls].block_bytes;
    char *first = (char *)vt__slice_address(vt__slab_id(s));
    if (VT_HARDEN > 0 && is_medium_owner(owner_of(s)))
        for (size_t k = 0; k < s->carved; k++) ((struct block *)(first + k * bytes))->mark = 0;
    vt__slab_release(s);
}

/* Empty ones, in no queue. */
static void release_chain(slab_id first) {
    while (first != 0) {
        struct slab *s = vt__slab(first);
        first = s->next;
        release(s);
    }
}

/* Of slabs that all threads share, linked. */
static void give_shared(unsigned cls, struct block *list) {
    struct medium *m = medium_of(cls);
    slab_id empty = 0; /* released when no lock is held: that may call the system */
    vt_lock(&m->lock);
    while (list != NULL) {
        struct block *b = list;
        struct slab *s = vt__slab(vt__slice_of(b)); /* each starts in the first slice of its slab */
        list = shelf_next(b, cls, /* salt */ 0);
        /* else it was freed twice, and its slab released meanwhile */
        if (VT_HARDEN > 0 && !(owner_of(s) == VT_OWNER_MEDIUM && s->cls == cls))
            vt__double_free(b, s);
        if (!give(&m->queue, s, b)) continue;
        s->next = empty;
        empty = vt__slab_id(s);
    }
    vt_unlock(&m->lock);
    release_chain(empty);
}

static void push(struct block **list, struct block *b) {
    b->link = link_encode(*list, b);
    *list = b;
}

/* Who has the slab of a block that comes back. */
static uintptr_t owner_at_return(const struct slab *s, const struct block *b, unsigned cls) {
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if (VT_HARDEN > 0 && !is_shelved(b)) vt__bad_link(b, cls);
    /* else it was freed twice, and its slab released meanwhile */
    if (VT_HARDEN > 0 && !(is_medium_owner(owner) && s->cls == cls)) vt__double_free(b, s);
    return owner;
}

static void count_given(struct heap *h, size_t n_bytes) {
    h->bytes.freed += n_bytes;
    h->medium_held -= (int64_t)n_bytes;
}

/* h may be NULL. may_wait: blocks of shared slabs go by way of h's parcel. */
static void give_list(struct heap *h, unsigned cls, struct block *const *list, unsigned n,
                      bool may_wait) {
    struct block *shared = NULL, *others = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct block *b = list[i];
        struct slab *s = vt__slab(vt__slice_of(b));
        uintptr_t owner = owner_at_return(s, b, cls);
        if (owner == VT_OWNER_MEDIUM && may_wait)
            vt__exchange_put(h, b);
        else if (owner == VT_OWNER_MEDIUM)
            push(&shared, b);
        else if (h == NULL || owner != own(h))
            push(&others, b);
        else if (give(own_queue(h, cls), s, b))
            release(s);
    }
    if (shared != NULL) give_shared(cls, shared);
    if (others != NULL) vt__remote_send(cls, others, /* salt */ 0);
}

void vt__medium_give_away(struct heap *h, unsigned cls, struct block *const *list, unsigned n) {
    give_list(h, cls, list, n, /* may_wait */ false);
}

void vt__medium_give_some(struct heap *h, unsigned cls, struct block *const *list, unsigned n) {
    if (h != NULL) count_given(h, (size_t)n * vt__classes[cls].block_bytes);
    give_list(h, cls, list, n, /* may_wait */ false);
}

void vt__medium_pass_on(struct heap *h, unsigned cls, struct block *const *list, unsigned n) {
    count_given(h, (size_t)n * vt__classes[cls].block_bytes);
    give_list(h, cls, list, n, vt__classes[cls].capacity <= EXCHANGE_CAPACITY);
}

void vt__medium_absorb(struct heap *h, struct slab *s, struct block *head, struct block *tail,
                       uint32_t n) {
    struct queue *q = own_queue(h, s->cls);
    if (is_used_up(s)) queue_append(q, s);
    tail->link = link_encode(s->free, tail);
    s->free = head;
    s->room -= n;
    h->medium_held -= (int64_t)(n * vt__classes[s->cls].block_bytes);
    use_of(h, s->cls)->n_home += n;
    if (s->room > 0) return;
    queue_unlink(q, s);
    release(s);
}

/* A slab that has become empty stays, and the one that stayed until now goes, if it still is. A sampled block is often alone in its
 * slab: where that were released at once, a second free of it could meet whatever is there now, and go unnoticed. Under the lock. */
static struct slab *keep_instead(struct sampled *a, struct slab *s) {
    struct slab *before = a->kept != 0 ? vt__slab(a->kept) : NULL;
    queue_append(&sampled_queue[s->cls], s);
    a->kept = vt__slab_id(s);
    if (before == NULL || before == s || before->room != 0) return NULL;
    queue_unlink(&sampled_queue[before->cls], before);
    return before;
}

void vt__sampled_give_some(struct block *const *b, unsigned n) {
    slab_id empty = 0;
    struct sampled *locked = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct slab *s =
            vt__slab(vt__slice_of(b[i])); /* each starts in the first slice of its slab */
        struct sampled *a = sampled_of(s->cls);
        if (a != locked) {
            if (locked != NULL) vt_unlock(&locked->lock);
            vt_lock(&a->lock);
            locked = a;
        }
        struct slab *gone = give(&sampled_queue[s->cls], s, b[i]) ? keep_instead(a, s) : NULL;
        if (gone == NULL) continue;
        gone->next = empty;
        empty = vt__slab_id(gone);
    }
    if (locked != NULL) vt_unlock(&locked->lock);
    release_chain(empty);
}

void vt__sampled_give(struct slab *s, struct block *b) {
    (void)s;
    vt__sampled_give_some(&b, 1);
}
