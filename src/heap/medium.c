/* medium.c - slabs that belong to nobody: every thread takes from them and gives back to them under a lock.
 *
 *   medium    blocks of 1 to 64 KiB; a lock per class; threads keep a few of them on their shelves (shelf.h)
 *   sampled   blocks of any class that the probes watch: their owner is nobody's tag, so free meets them on its slow path
 *
 * A slab of 32 KiB holds few medium blocks. If each thread had its own slabs of each class, most of that memory would lie
 * idle; docs/decisions/medium.md has the numbers.
 *
 * Climate: malloc.   Owns: these slabs, all fields but `owner` under their lock.   Locks: medium, sampled.
 */
#include "heap/fast.h"
#include "heap/impl.h"
#include "heap/queue.h"
#include "heap/shelf.h"

#define N_MEDIUM (VT_N_CLASSES - VT_N_SMALL)

/* Queues have slabs with a block to hand out, freed or fresh. The longest there comes first: the others gather blocks meanwhile. */
static struct medium {
    struct vt_lock lock;
    struct queue queue;
} VT_ALIGNED(VT_CACHE_LINE) medium[N_MEDIUM];

static struct {
    struct vt_lock lock; /* one for all: samples are rare */
    struct queue queue[VT_N_CLASSES];
    slab_id kept; /* the last that became empty; it may be in use again */
} sampled = {.lock = VT_LOCK_INIT(VT_LOCK_SAMPLED)};

static struct medium *medium_of(unsigned cls) { return &medium[cls - VT_N_SMALL]; }

void vt__medium_open(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) medium[i].lock.rank = VT_LOCK_MEDIUM + i;
}

void vt__medium_fork_prepare(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) vt_lock(&medium[i].lock);
    vt_lock(&sampled.lock);
}

void vt__medium_fork_done(bool is_child) {
    vt_lock_forked(&sampled.lock, is_child);
    for (unsigned i = N_MEDIUM; i-- > 0;) vt_lock_forked(&medium[i].lock, is_child);
}

/* ---- taking ---- */

/* Freed blocks of s that the next mallocs will want: they are resident anyway. */
static void stock_shelf(struct heap *h, struct slab *s) {
    unsigned n = vt__classes[s->cls].shelf_max / 2u;
    bool is_zero;
    if (s->free == NULL) return;
    /* one stays for the malloc that brought us here */
    for (; n > 0 && link_next(s->free, s->cls) != NULL; n--)
        shelf_push(h, s->cls, vt__slab_take(s, &is_zero));
}

/* A slab with a block to hand out, first in its queue. Under the lock. NULL: no memory. */
static struct slab *slab_to_take_from(struct queue *q, uintptr_t owner, unsigned cls) {
    if (q->first != 0) return vt__slab(q->first);
    struct slab *s = vt__slab_new(owner, cls);
    if (s == NULL) return NULL;
    s->state = SLAB_SHARED;
    queue_append(q, s);
    return s;
}

static struct block *take(struct queue *q, struct slab *s, bool *is_zero) {
    VT_AUDIT(vt__slab_is_valid(s));
    struct block *b = vt__slab_take(s, is_zero);
    b->mark = 0;
    if (is_used_up(s)) queue_unlink(q, s);
    return b;
}

struct block *vt__medium_take(struct heap *h, unsigned cls, bool *out_is_zero) {
    struct medium *m = medium_of(cls);
    struct block *b = NULL;
    bool is_zero = false;
    vt_lock(&m->lock);
    struct slab *s = slab_to_take_from(&m->queue, VT_OWNER_MEDIUM, cls);
    uint32_t n_before = h->shelf[cls].n;
    if (s != NULL) {
        if (VT_HARDEN < 2) stock_shelf(h, s);
        b = take(&m->queue, s, &is_zero);
        h->bytes.allocated += (h->shelf[cls].n - n_before + 1) * vt__classes[cls].block_bytes;
    }
    vt_unlock(&m->lock);
    if (out_is_zero != NULL) *out_is_zero = is_zero;
    return b;
}

struct block *vt__sampled_take(unsigned cls, bool *is_zero) {
    struct queue *q = &sampled.queue[cls];
    vt_lock(&sampled.lock);
    struct slab *s = slab_to_take_from(q, VT_OWNER_SAMPLED, cls);
    struct block *b = s != NULL ? take(q, s, is_zero) : NULL;
    vt_unlock(&sampled.lock);
    return b;
}

void vt__medium_join(struct slab *s) {
    struct medium *m = medium_of(s->cls);
    vt_lock(&m->lock);
    vt__slab_change_owner(s, VT_OWNER_MEDIUM);
    if (!is_used_up(s)) queue_append(&m->queue, s);
    vt_unlock(&m->lock);
}

/* ---- giving back ---- */

static bool is_medium(const struct slab *s) {
    return atomic_load_explicit(&s->owner, memory_order_relaxed) == VT_OWNER_MEDIUM;
}

/* One block, under the lock. True when its slab is empty now, and out of the queue: the caller releases it. */
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
    if (VT_HARDEN > 0 && is_medium(s))
        for (size_t k = 0; k < s->carved; k++) ((struct block *)(first + k * bytes))->mark = 0;
    vt__slab_release(s);
}

void vt__medium_give(unsigned cls, struct block *list, uintptr_t salt) {
    struct medium *m = medium_of(cls);
    size_t n_bytes = 0;
    slab_id empty = 0; /* released when no lock is held: that may call the system */
    vt_lock(&m->lock);
    while (list != NULL) {
        struct block *b = list;
        struct slab *s = vt__slab(vt__slice_of(b)); /* each starts in the first slice of its slab */
        list = shelf_next(b, cls, salt);
        n_bytes += vt__classes[cls].block_bytes;
        /* else it was freed twice, and its slab released meanwhile */
        if (VT_HARDEN > 0 && !(is_medium(s) && s->cls == cls)) vt__double_free(b, s);
        if (!give(&m->queue, s, b)) continue;
        s->next = empty;
        empty = vt__slab_id(s);
    }
    vt_unlock(&m->lock);
    if (vt__tls.real != NULL) vt__tls.real->bytes.freed += n_bytes;
    while (empty != 0) {
        struct slab *s = vt__slab(empty);
        empty = s->next;
        release(s);
    }
}

/* A slab that has become empty stays, and the one that stayed until now goes, if it still is. A sampled block is often alone in its
 * slab: where that were released at once, a second free of it could meet whatever is there now, and go unnoticed. Under the lock. */
static struct slab *keep_instead(struct slab *s) {
    struct slab *before = sampled.kept != 0 ? vt__slab(sampled.kept) : NULL;
    queue_append(&sampled.queue[s->cls], s);
    sampled.kept = vt__slab_id(s);
    if (before == NULL || before == s || before->room != 0) return NULL;
    queue_unlink(&sampled.queue[before->cls], before);
    return before;
}

void vt__sampled_give(struct slab *s, struct block *b) {
    struct slab *empty = NULL;
    vt_lock(&sampled.lock);
    if (give(&sampled.queue[s->cls], s, b)) empty = keep_instead(s);
    vt_unlock(&sampled.lock);
    if (empty != NULL) release(empty);
}
