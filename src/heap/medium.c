/* medium.c - blocks of 1 to 64 KiB. Their slabs belong to nobody: every thread takes from them and gives back to them under
 * the lock of the class, a few blocks at a time, and keeps those few on its shelf (shelf.h).
 *
 * A slab of 32 KiB holds few such blocks. If each thread had its own slabs of each class, most of that memory would lie
 * idle; docs/decisions/medium.md has the numbers.
 *
 * Climate: malloc.   Owns: medium slabs, all fields but `owner` under the lock of their class.   Locks: medium.
 */
#include "heap/fast.h"
#include "heap/impl.h"
#include "heap/shelf.h"

#define N_MEDIUM (VT_N_CLASSES - VT_N_SMALL)

/* Slabs with a block to hand out, freed or fresh. The longest there comes first: the others gather blocks meanwhile. */
static struct medium {
    struct vt_lock lock;
    slab_id first, last;
} VT_ALIGNED(VT_CACHE_LINE) medium[N_MEDIUM];

static struct medium *medium_of(unsigned cls) { return &medium[cls - VT_N_SMALL]; }

void vt__medium_open(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) medium[i].lock.rank = VT_LOCK_MEDIUM + i;
}

void vt__medium_fork_prepare(void) {
    for (unsigned i = 0; i < N_MEDIUM; i++) vt_lock(&medium[i].lock);
}

void vt__medium_fork_done(bool is_child) {
    for (unsigned i = N_MEDIUM; i-- > 0;)
        if (is_child)
            vt_lock_reset(&medium[i].lock);
        else
            vt_unlock(&medium[i].lock);
}

/* ---- the queue of a class ---- */

static bool is_used_up(const struct slab *s) {
    return s->free == NULL && s->carved == vt__classes[s->cls].capacity;
}

static void append(struct medium *m, struct slab *s) {
    s->next = 0;
    s->prev = m->last;
    if (m->last != 0)
        vt__slab(m->last)->next = vt__slab_id(s);
    else
        m->first = vt__slab_id(s);
    m->last = vt__slab_id(s);
}

static void unlink_slab(struct medium *m, struct slab *s) {
    if (s->prev != 0)
        vt__slab(s->prev)->next = s->next;
    else
        m->first = s->next;
    if (s->next != 0)
        vt__slab(s->next)->prev = s->prev;
    else
        m->last = s->prev;
}

/* ---- taking ---- */

/* Freed blocks of s that the next mallocs will want: they are resident anyway. */
static void stock_shelf(struct heap *h, struct slab *s) {
    unsigned n = vt__classes[s->cls].shelf_max / 2u;
    bool is_zero;
    while (n-- > 0 && s->free != NULL) shelf_push(h, s->cls, vt__slab_take(s, &is_zero));
}

struct block *vt__medium_take(struct heap *h, unsigned cls, bool *out_is_zero) {
    struct medium *m = medium_of(cls);
    struct block *b = NULL;
    bool is_zero = false;
    vt_lock(&m->lock);
    struct slab *s = vt__slab(m->first);
    if (m->first == 0 && (s = vt__slab_new(VT_OWNER_MEDIUM, cls)) != NULL) {
        s->state = SLAB_MEDIUM;
        append(m, s);
    }
    if (s != NULL) {
        VT_AUDIT(vt__slab_is_valid(s));
        b = vt__slab_take(s, &is_zero);
        b->mark = 0;
        if (VT_HARDEN < 2) stock_shelf(h, s);
        if (is_used_up(s)) unlink_slab(m, s);
    }
    vt_unlock(&m->lock);
    if (out_is_zero != NULL) *out_is_zero = is_zero;
    return b;
}

/* ---- giving back ---- */

/* One block, under the lock. True when its slab is empty now, and out of the queue: the caller releases it. */
static bool give(struct medium *m, struct slab *s, struct block *b) {
    VT_AUDIT(vt__slab_is_valid(s));
    if (is_used_up(s)) append(m, s);
    /* the secure build has marked it already */
    if (VT_HARDEN == 1 && mark_free(s, number_in_slab(b, s))) vt__double_free(b, s);
    b->link = link_encode(s->free, b);
    s->free = b;
    s->room--;
    if (s->room > 0) return false;
    unlink_slab(m, s);
    return true;
}

/* An empty slab in no queue. Its blocks bear their marks to the end; the memory's next user must not meet them. */
static void release(struct slab *s) {
    size_t bytes = vt__classes[s->cls].block_bytes;
    char *first = (char *)vt__slice_address(vt__slab_id(s));
    if (VT_HARDEN == 1)
        for (size_t k = 0; k < s->carved; k++) ((struct block *)(first + k * bytes))->mark = 0;
    vt__slab_release(s);
}

/* It is, unless a block was freed twice and its slab released meanwhile. */
static bool is_of_class(const struct slab *s, unsigned cls) {
    return atomic_load_explicit(&s->owner, memory_order_relaxed) == VT_OWNER_MEDIUM &&
           s->cls == cls;
}

void vt__medium_give(unsigned cls, struct block *list) {
    struct medium *m = medium_of(cls);
    slab_id empty = 0; /* released when no lock is held: that may call the system */
    vt_lock(&m->lock);
    while (list != NULL) {
        struct block *b = list;
        struct slab *s = vt__slab(vt__slice_of(b)); /* each starts in the first slice of its slab */
        list = shelf_next(b, cls);
        if (VT_HARDEN > 0 && !is_of_class(s, cls)) vt__double_free(b, s);
        if (!give(m, s, b)) continue;
        s->next = empty;
        empty = vt__slab_id(s);
    }
    vt_unlock(&m->lock);
    while (empty != 0) {
        struct slab *s = vt__slab(empty);
        empty = s->next;
        release(s);
    }
}

#if VT_HARDEN > 1
void vt__medium_mark(struct slab *s, struct block *b) {
    struct medium *m = medium_of(s->cls);
    vt_lock(&m->lock);
    bool was_free = mark_free(s, number_in_slab(b, s));
    vt_unlock(&m->lock);
    if (was_free) vt__double_free(b, s);
}
#endif
