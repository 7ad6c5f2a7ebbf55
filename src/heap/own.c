/* own.c - heaps beside the threads': each has slabs and runs of its own, and all its blocks can be given back at once.
 *
 *   slab    owner = the heap's address | VT_OWNER_OWN; state SHARED, so room == blocks out. Of each class one queue: slabs with a
 *           block to hand out first, used up ones behind them. Every slab of the heap is in it, so that destroying finds all.
 *   run     LARGE like any other; `free` names its heap, next and prev are its list
 *
 * Any thread may take from such a heap and free to it, under its lock; of small blocks each keeps some at hand (own_cache.h). No
 * other shelf, list or remote stack ever holds one of its blocks: what is neither in the slab's `free` nor marked as kept is the
 * program's. vt__free meets them on its slow path, as VT_OWNER_OWN has the bit of LARGE. A sampled block stays in its slab,
 * which counts them in `run_slices`.
 *
 * A heap may have blocks in memory that the program brought, beside these or alone: they are its holding's (holding.c).
 *
 * A heap may be deleted while other threads free its blocks; who destroys one must know that nobody uses it.
 *
 * Climate: malloc.   Owns: all such heaps.   Locks: own (16, by the heap's number); heaps for the list of unused ones.
 * Heaps are never unmapped, only used again.
 */
#include <errno.h>

#include "heap/estate.h"
#include "heap/fast.h"
#include "heap/impl.h"
#include "heap/own_cache.h"
#include "heap/queue.h"
#include "heap/upcalls.h"
#include "os/os.h"

struct vt_own {
    struct own_head head; /* see own_cache.h; first, and changed under the lock */
    struct vt_lock *lock;
    struct vt_tract *tract;             /* where its memory comes from; NULL: as everybody's */
    _Atomic(struct vt_estate *) estate; /* the same, of memory that was brought: holding.c has it */
    struct vt_holding *holding;         /* NULL: it never had such memory */
    /* under the lock */
    bool
        is_live; /* false: deleted; slabs in which a block is sampled or kept, or of a tract, stay until they are empty */
    slab_id runs;
    struct queue slabs[VT_N_CLASSES];
    bool is_counted; /* threads keep none of its blocks: what it counts is exact */
    uint64_t n_taken[VT_N_CLASSES], n_runs_taken; /* since it is live */
    /* under the heaps lock */
    struct vt_own *next_unused, *next_made;
} VT_ALIGNED(VT_CACHE_LINE);

#define N_LOCKS (VT_LOCK_OWN_LAST - VT_LOCK_OWN + 1)
static struct vt_lock locks[N_LOCKS] = {
    VT_LOCK_INIT_FOUR(VT_LOCK_OWN), VT_LOCK_INIT_FOUR(VT_LOCK_OWN + 4),
    VT_LOCK_INIT_FOUR(VT_LOCK_OWN + 8), VT_LOCK_INIT_FOUR(VT_LOCK_OWN + 12)};

static struct {
    struct vt_own *unused, *last_made;
    uint32_t n;
} owns;

void vt__owns_fork_prepare(void) {
    for (unsigned i = 0; i < N_LOCKS; i++) vt_lock(&locks[i]);
}

void vt__owns_fork_done(bool is_child) {
    for (unsigned i = N_LOCKS; i-- > 0;) vt_lock_forked(&locks[i], is_child);
}

static uintptr_t tag_of(const struct vt_own *o) { return (uintptr_t)o | VT_OWNER_OWN; }

static void count_sampled(struct slab *s, uint32_t n_more) { /* under the lock */
    __atomic_store_n(&s->run_slices, s->run_slices + n_more, __ATOMIC_RELAXED);
}

/* The heap a run is in; it may be asked about while the heap is being deleted. */
static struct vt_own *run_own(const struct slab *s) {
    return (struct vt_own *)__atomic_load_n(&s->free, __ATOMIC_RELAXED);
}
static void set_run_own(struct slab *s, struct vt_own *o) { /* under the lock */
    __atomic_store_n(&s->free, (struct block *)o, __ATOMIC_RELAXED);
}

/* ---- queues ---- */

static void put_first(struct queue *q, struct slab *s) {
    s->prev = 0;
    s->next = q->first;
    if (q->first != 0)
        vt__slab(q->first)->prev = vt__slab_id(s);
    else
        q->last = vt__slab_id(s);
    q->first = vt__slab_id(s);
}

static bool is_only_one(const struct queue *q) { return q->first == q->last; }

/* ---- heaps come and go ---- */

/* Whatever threads keep of it is void. Under the lock. */
static void begin_generation(struct vt_own *o, bool is_live) {
    o->head.n_caches = 0;
    /* relaxed: own_cache_is_of says who may look at them, and when */
    __atomic_store_n(&o->head.stamp, o->head.stamp + 1, __ATOMIC_RELAXED);
    o->head.generation++;
    o->is_live = is_live;
}

static struct vt_own *fresh_own(void) {
    struct vt_own *o = vt__arena_take(sizeof(*o), VT_CACHE_LINE);
    if (o == NULL) return NULL;
    o->head.number = ++owns.n;
    o->lock = &locks[o->head.number % N_LOCKS];
    o->next_made = owns.last_made;
    owns.last_made = o;
    return o;
}

static struct vt_own *new_own(struct vt_tract *tract, bool is_counted) {
    if (vt__life_start() != 0 || !vt__enter()) return NULL;
    vt_lock(&vt__heaps_lock);
    struct vt_own *o = owns.unused;
    if (o != NULL)
        owns.unused = o->next_unused;
    else
        o = fresh_own();
    if (o != NULL) {
        vt_lock(o->lock);
        begin_generation(o, /* live */ true);
        o->is_counted = is_counted;
        o->tract = tract;
        o->n_runs_taken = 0;
        for (unsigned c = 0; c < VT_N_CLASSES; c++) o->n_taken[c] = 0;
        vt_unlock(o->lock);
    }
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    return o;
}

struct vt_own *vt__own_new(void) {
    return new_own(/* tract */ NULL, /* counted */ false);
}
struct vt_own *vt__own_new_counted(void) {
    return new_own(/* tract */ NULL, /* counted */ true);
}
struct vt_own *vt__own_new_in(struct vt_tract *t) {
    vt__tract_set_apart(t);
    return new_own(t, /* counted */ false);
}

bool vt__own_use(struct vt_own *o, struct vt_estate *e) {
    if (!vt__enter()) return false;
    vt_lock(o->lock);
    if (e != NULL && o->holding == NULL) o->holding = vt__holding_new();
    bool is_done = e == NULL || o->holding != NULL;
    if (is_done && e != NULL && !vt__holding_is_in(o->holding, e))
        vt__holding_begin(o->holding, o, e);
    /* release: its holding; pairs with estate_of */
    if (is_done) atomic_store_explicit(&o->estate, e, memory_order_release);
    vt_unlock(o->lock);
    vt__leave();
    return is_done;
}

struct vt_own *vt__own_new_on(struct vt_estate *e) {
    struct vt_own *o = vt__own_new();
    if (o == NULL || vt__own_use(o, e)) return o;
    vt__own_destroy(o);
    return NULL;
}

static struct vt_estate *estate_of(struct vt_own *o) {
    return atomic_load_explicit(&o->estate, memory_order_acquire);
}

/* It has no more blocks there. By who destroys or deletes it. */
static void leave_estate(struct vt_own *o) {
    atomic_store_explicit(&o->estate, NULL, memory_order_relaxed);
    if (o->holding != NULL) vt__holding_begin(o->holding, o, /* estate */ NULL);
}

static bool is_empty(const struct vt_own *o) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        if (o->slabs[c].first != 0) return false;
    return o->runs == 0;
}

/* Not live, and empty: by whoever made it so. */
static void put_away(struct vt_own *o) {
    vt_lock(&vt__heaps_lock);
    o->next_unused = owns.unused;
    owns.unused = o;
    vt_unlock(&vt__heaps_lock);
}

/* ---- taking ---- */

static struct heap *begin(void) {
    vt__poll();
    struct heap *h = vt__tls.real != NULL ? vt__tls.real : vt__heap_attach();
    if (h != NULL && vt__enter()) return h;
    errno = ENOMEM;
    return NULL;
}

static bool is_exact(void) {
    /* acquire: as in alloc.c's watch */
    return (atomic_load_explicit(&vt__watch, memory_order_acquire) & VT_WATCH_EXACT) != 0;
}

static void *end(struct heap *h, void *p, size_t n_bytes) {
    if (p != NULL && is_exact()) vt__probe_exact_allocated(p, n_bytes);
    vt__leave();
    if (vt_unlikely(h->has_chores)) vt__heap_do_chores(h);
    if (vt_unlikely(p == NULL)) errno = ENOMEM;
    return p;
}

/* Is this malloc of the calling thread to be sampled? Its countdown knows of both kinds of heaps. */
static bool is_drawn(struct heap *h, unsigned cls) {
    if (cls < VT_N_SMALL) return vt__draw_single(h, cls);
    return --h->countdown[vt_min(cls, VT_N_CLASSES - 1)] == 0 && vt__draw_medium(h, cls);
}

static struct slab *slab_to_take_from(struct vt_own *o, unsigned cls) {
    struct queue *q = &o->slabs[cls];
    if (q->first != 0 && !is_used_up(vt__slab(q->first))) return vt__slab(q->first);
    struct slab *s = vt__slab_new_in(o->tract, tag_of(o), cls);
    if (s == NULL) return NULL;
    s->state = SLAB_SHARED;
    s->run_slices = 0;
    put_first(q, s);
    return s;
}

/* Some blocks for a thread to keep, of a slab that it takes from anyway. */
static void take_to_keep(struct slab *s, struct own_cache *c) {
    bool is_zero;
    struct own_shelf *f = &c->shelf[s->cls];
    for (unsigned n = f->max / 4; n > 0 && !is_used_up(s); n--) {
        struct block *b = vt__slab_take(s, &is_zero);
        own_cache_put(f, b, own_mark(b, c->key));
    }
}

/* c: the calling thread's place, NULL if the heap has none. */
static struct block *take(struct vt_own *o, unsigned cls, struct own_cache *c, bool is_sampled,
                          bool *is_zero) {
    struct block *b = NULL;
    vt_lock(o->lock);
    struct slab *s = slab_to_take_from(o, cls);
    if (s != NULL) {
        VT_AUDIT(vt__slab_is_valid(s));
        b = vt__slab_take(s, is_zero);
        o->n_taken[cls]++;
        if (is_sampled) count_sampled(s, 1);
        if (c != NULL && c->shelf[cls].top == NULL) take_to_keep(s, c);
        if (is_used_up(s)) {
            queue_unlink(&o->slabs[cls], s);
            queue_append(&o->slabs[cls], s);
        }
    }
    vt_unlock(o->lock);
    return b;
}

static void *take_block(struct vt_own *o, struct heap *h, unsigned cls, size_t n_bytes, bool zero) {
    bool is_zero = false;
    size_t block_bytes = vt__class_bytes(cls);
    bool is_sampled = is_drawn(h, cls);
    struct own_cache *c = cls < VT_N_SMALL && !o->is_counted ? vt__own_cache_claim(h, o) : NULL;
    struct block *b = take(o, cls, c, is_sampled, &is_zero);
    unsigned n_drawn = is_sampled ? vt__draw_again(h, cls) : 1;
    if (b == NULL) return NULL;
    h->bytes.allocated += block_bytes;
    if (is_sampled) vt__probe_allocated(b, n_bytes, block_bytes, n_drawn);
    if (zero && is_zero) b->link = 0;
    if (zero && !is_zero) __builtin_memset(b, 0, block_bytes);
    return b;
}

/* p is a new LARGE block, or NULL. */
static void *take_run(struct vt_own *o, struct heap *h, void *p, size_t n_bytes) {
    if (vt__take_large(h, p, n_bytes) == NULL) return NULL;
    struct slab *s = vt__slab(vt__slice_of(p));
    vt_lock(o->lock);
    set_run_own(s, o);
    o->n_runs_taken++;
    s->prev = 0;
    s->next = o->runs;
    if (o->runs != 0) vt__slab(o->runs)->prev = vt__slab_id(s);
    o->runs = vt__slab_id(s);
    vt_unlock(o->lock);
    return p;
}

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

/* The block's size is what it would be in the window. */
static struct vt_wish wish_for(size_t align, size_t skipped, size_t n_bytes, bool zero) {
    struct vt_wish w = {.align = align, .skipped = skipped, .cls = VT_CLASS_NONE, .zero = zero};
    size_t n = vt_round_up(n_bytes + (n_bytes == 0), vt_max(align, VT_BLOCK_ALIGN));
    if (skipped == 0 && align <= VT_SLICE && n <= VT_MEDIUM_MAX) {
        w.cls = vt__class_aligned(n, align);
        w.block_bytes = vt__class_bytes(w.cls);
    } else {
        w.block_bytes = vt_round_up(skipped + vt_max(n_bytes, 1), VT_OS_PAGE) - skipped;
    }
    return w;
}

static void *take_brought(struct vt_own *o, struct heap *h, struct vt_wish *w, size_t n_bytes) {
    void *p = vt__holding_take(o->holding, w);
    if (p == NULL) return NULL;
    h->bytes.allocated += w->block_bytes;
    if (!w->is_sampled) return p;
    unsigned draw = w->cls != VT_CLASS_NONE ? w->cls : vt__draw_of_large(w->block_bytes);
    vt__probe_allocated(p, n_bytes, w->block_bytes, vt__draw_again(h, draw));
    return p;
}

/* Each turn with no lock held in between: who brings memory may allocate. */
static void *alloc_brought(struct vt_own *o, struct vt_estate *e, struct vt_wish w,
                           size_t n_bytes) {
    int err = errno;
    for (bool is_first = true;; is_first = false) {
        struct heap *h = begin();
        if (h == NULL) return NULL;
        if (is_first)
            w.is_sampled = w.cls != VT_CLASS_NONE
                               ? is_drawn(h, w.cls)
                               : vt__draw_large(h, vt__draw_of_large(w.block_bytes), w.block_bytes);
        void *p = end(h, take_brought(o, h, &w, n_bytes), n_bytes);
        if (p != NULL) {
            errno = err; /* a turn without success has set it, and a hook may */
            return p;
        }
        size_t n_pages = vt__wish_pages(&w);
        if (!vt__estate_cut(e, n_pages, w.align) && !vt__estate_grow(e, n_pages, w.align))
            return no_memory();
    }
}

static void *alloc_by_lock(struct vt_own *o, size_t align, size_t n_bytes, bool zero) {
    if (n_bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2) return no_memory();
    struct vt_estate *e = estate_of(o);
    if (e != NULL)
        return alloc_brought(o, e, wish_for(align, /* skipped */ 0, n_bytes, zero), n_bytes);
    struct heap *h = begin();
    if (h == NULL) return NULL;
    size_t n = vt_round_up(n_bytes + (n_bytes == 0), vt_max(align, VT_BLOCK_ALIGN));
    if (align > VT_SLICE || n > VT_MEDIUM_MAX) {
        void *run = vt__large_alloc_in(o->tract, n_bytes, vt_max(align, VT_SLICE),
                                       /* skipped */ 0, zero);
        return end(h, take_run(o, h, run, n_bytes), n_bytes);
    }
    return end(h, take_block(o, h, vt__class_aligned(n, align), n_bytes, zero), n_bytes);
}

void *vt__own_alloc(struct vt_own *o, size_t align, size_t n_bytes, bool zero) {
    if (align <= VT_BLOCK_ALIGN && n_bytes - 1 < VT_SMALL_MAX) {
        void *p = own_cache_take(o, n_bytes);
        if (p != NULL && zero) __builtin_memset(p, 0, vt__class_bytes(vt__class_of(n_bytes)));
        if (p != NULL) return p;
    }
    return alloc_by_lock(o, align, n_bytes, zero);
}

void *vt__own_alloc_behind(struct vt_own *o, size_t skipped, size_t n_bytes, bool zero) {
    struct vt_estate *e = estate_of(o);
    if (e != NULL) return alloc_brought(o, e, wish_for(VT_SLICE, skipped, n_bytes, zero), n_bytes);
    struct heap *h = begin();
    if (h == NULL) return NULL;
    void *run = vt__large_alloc_in(o->tract, n_bytes, VT_SLICE, skipped, zero);
    return end(h, take_run(o, h, run, n_bytes), n_bytes);
}

/* ---- giving back ---- */

static void destroy_slabs(slab_id first);

/* Under the lock. True: the slab is empty, and in no queue any more: it is to be released. */
static bool give(struct vt_own *o, struct slab *s, struct block *b) {
    if (mark_free(s, number_in_slab(b, s))) vt__double_free(b, s);
    struct queue *q = &o->slabs[s->cls];
    if (is_used_up(s)) {
        queue_unlink(q, s);
        put_first(q, s);
    }
    b->link = link_encode(s->free, b);
    s->free = b;
    s->room--;
    /* the last one of a class stays: a loop that takes and gives one block would else come for slices each time */
    bool is_done = s->room == 0 && !(o->is_live && is_only_one(q));
    if (is_done) queue_unlink(q, s);
    return is_done;
}

bool vt__own_free(struct slab *s, uintptr_t owner, void *p) {
    struct vt_own *o = vt__own_of_owner(owner);
    /* before the block may be another's */
    bool was_sampled = n_sampled(s) > 0 && vt__probe_freed(p) != VT_KNOWN_NOTHING;
    struct block *b = p;
    vt_lock(o->lock);
    if (atomic_load_explicit(&s->owner, memory_order_relaxed) != owner) { /* o was just deleted */
        vt_unlock(o->lock);
        return false;
    }
    if (was_sampled) count_sampled(s, UINT32_MAX);
    if (o->is_counted && vt__tls.real != NULL) vt__tls.real->bytes.freed += vt__class_bytes(s->cls);
    bool is_done = give(o, s, b);
    bool is_gone = is_done && !o->is_live && is_empty(o);
    vt_unlock(o->lock);
    if (is_done) vt__slab_release(s);
    if (is_gone) put_away(o);
    return true;
}

void vt__own_add_cache(struct own_cache *c, struct vt_own *o) {
    vt_lock(o->lock);
    c->own = o;
    c->generation = o->head.generation;
    c->stamp = o->head.stamp;
    c->key = own_mark_key(o);
    o->head.n_caches++;
    vt_unlock(o->lock);
}

void vt__own_remove_cache(const struct own_cache *c) {
    vt_lock(c->own->lock);
    if (c->own->head.generation == c->generation) c->own->head.n_caches--;
    vt_unlock(c->own->lock);
}

void vt__own_give_list(const struct own_cache *c, unsigned cls, struct block *list) {
    struct vt_own *o = c->own;
    slab_id done = 0; /* a list through `next` */
    vt_lock(o->lock);
    if (o->head.generation != c->generation) list = NULL;
    while (list != NULL) {
        struct block *b = list;
        struct slab *s = vt__slab(vt__slice_of(b));
        list = link_next_salted(b, cls, 0);
        b->mark = 0;
        if (!give(o, s, b)) continue;
        s->next = done;
        done = vt__slab_id(s);
    }
    bool is_gone = done != 0 && !o->is_live && is_empty(o);
    vt_unlock(o->lock);
    destroy_slabs(done);
    if (is_gone) put_away(o);
}

void vt__own_forget_run(struct slab *s) {
    struct vt_own *o = run_own(s);
    if (o == NULL) return;
    vt_lock(o->lock);
    if (run_own(s) == o) { /* else o was just deleted */
        if (s->prev != 0)
            vt__slab(s->prev)->next = s->next;
        else
            o->runs = s->next;
        if (s->next != 0) vt__slab(s->next)->prev = s->prev;
        set_run_own(s, NULL);
    }
    vt_unlock(o->lock);
}

static void *block_at(const struct slab *s, size_t k) {
    return (char *)vt__slice_address(vt__slab_id(s)) + k * vt__classes[s->cls].block_bytes;
}

/* The probes hear of every block that goes. */
static void tell_all_freed(struct slab *s) {
    bool tells = is_exact();
    if (n_sampled(s) == 0 && !tells) return;
    for (size_t k = 0; k < s->carved; k++) {
        if (!vt__slab_is_out(s, k)) continue;
        if (tells) vt__probe_exact_freed(block_at(s, k));
        if (n_sampled(s) > 0) (void)vt__probe_freed(block_at(s, k));
    }
}

/* A list through `next`, of slabs in no queue. */
static void destroy_slabs(slab_id first) {
    while (first != 0) {
        struct slab *s = vt__slab(first);
        first = s->next;
        tell_all_freed(s);
        s->room = 0;
        s->free = NULL;
        vt__slab_release(s);
    }
}

static void destroy_runs(slab_id first) {
    while (first != 0) {
        struct slab *s = vt__slab(first);
        void *p = vt__large_start(s);
        first = s->next;
        if (is_exact()) vt__probe_exact_freed(p);
        vt__large_free(s, p);
    }
}

/* Its runs become nobody's, in one list. Under the lock. */
static slab_id take_runs(struct vt_own *o) {
    slab_id first = o->runs;
    o->runs = 0;
    for (slab_id i = first; i != 0; i = vt__slab(i)->next) set_run_own(vt__slab(i), NULL);
    return first;
}

/* Every block is freed. It must have been entered. */
static void free_all(struct vt_own *o, bool stays_live) {
    slab_id slabs = 0;
    vt_lock(o->lock);
    slab_id runs = take_runs(o);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct queue *q = &o->slabs[c];
        if (q->first == 0) continue;
        vt__slab(q->last)->next = slabs;
        slabs = q->first;
        *q = (struct queue){0, 0};
    }
    begin_generation(o, stays_live);
    vt_unlock(o->lock);
    destroy_runs(runs);
    destroy_slabs(slabs);
    if (o->holding != NULL) vt__holding_free_all(o->holding);
}

void vt__own_destroy(struct vt_own *o) {
    if (!vt__enter())
        return; /* in a handler: the heap is lost, which is better than half destroyed */
    free_all(o, /* stays_live */ false);
    leave_estate(o);
    put_away(o);
    vt__leave();
    vt__poll();
}

void vt__own_reset(struct vt_own *o) {
    if (!vt__enter()) return; /* in a handler: its blocks stay */
    free_all(o, /* stays_live */ true);
    vt__leave();
    vt__poll();
}

/* A slab with a sampled block stays: free must meet that on its slow path for as long as it lives. So do all while another thread
 * keeps blocks of the heap, and those of a tract: others' blocks have no place in it. */
static void hand_over(struct queue *q, struct slab *s, struct heap *h, bool is_kept) {
    if (s->room != 0 && (is_kept || n_sampled(s) > 0)) return;
    queue_unlink(q, s);
    if (s->room == 0)
        vt__slab_release(s);
    else if (s->cls < VT_N_SMALL)
        vt__slab_join(h, s);
    else
        vt__medium_join(s);
}

/* All under the lock: other threads may free blocks of it meanwhile, and find its slabs in a queue or another's. */
void vt__own_delete(struct vt_own *o) {
    struct heap *h = begin();
    if (h == NULL) return;
    vt__own_cache_leave(h, o);
    vt_lock(o->lock);
    (void)take_runs(o);
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        for (slab_id i = o->slabs[c].first, next; i != 0; i = next) {
            next = vt__slab(i)->next;
            hand_over(&o->slabs[c], vt__slab(i), h, o->head.n_caches > 0 || o->tract != NULL);
        }
    __atomic_store_n(&o->head.stamp, o->head.stamp + 1, __ATOMIC_RELAXED); /* as above */
    o->is_live = false;
    bool is_gone = is_empty(o);
    if (o->holding != NULL) vt__holding_leave_all(o->holding);
    leave_estate(o);
    vt_unlock(o->lock);
    if (is_gone) put_away(o);
    vt__leave();
    if (h->is_borrowed) vt__heap_detach_thread();
    vt__poll();
}

/* Slabs kept as spares go back. */
void vt__own_collect(struct vt_own *o) {
    slab_id empty = 0;
    if (!vt__enter()) return;
    if (vt__tls.real != NULL) vt__own_cache_leave(vt__tls.real, o);
    vt_lock(o->lock);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct queue *q = &o->slabs[c];
        if (q->first == 0 || vt__slab(q->first)->room != 0) continue;
        struct slab *s = vt__slab(q->first);
        queue_unlink(q, s);
        s->next = empty;
        empty = vt__slab_id(s);
    }
    vt_unlock(o->lock);
    destroy_slabs(empty);
    vt__leave();
}

/* ---- asking ---- */

struct vt_own *vt__own_of(const void *p) {
    struct vt_brought b;
    if (!vt__is_in_window(p)) return vt__brought_find(p, &b) ? b.own : NULL;
    struct slab *s = vt__slab(vt__slice_of(p));
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if (owner == VT_OWNER_LARGE) return run_own(s);
    return owner > VT_OWNER_OWN && (owner & VT_OWNER_OWN) == VT_OWNER_OWN ? vt__own_of_owner(owner)
                                                                          : NULL;
}

static bool is_live(struct vt_own *o) {
    vt_lock(o->lock);
    bool is = o->is_live;
    vt_unlock(o->lock);
    return is;
}

struct vt_own *vt__own_next(const struct vt_own *o) {
    if (!vt__enter()) return NULL;
    vt_lock(&vt__heaps_lock);
    struct vt_own *next = o != NULL ? o->next_made : owns.last_made;
    while (next != NULL && !is_live(next)) next = next->next_made;
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    return next;
}

uint32_t vt__own_number(const struct vt_own *o) { return o->head.number; }

static void describe_run(const struct slab *s, struct vt_own_area *out) {
    size_t n_bytes = vt__large_usable(s);
    *out = (struct vt_own_area){.at = vt__large_start(s),
                                .n_bytes = n_bytes,
                                .block_bytes = n_bytes,
                                .n_carved = 1,
                                .n_used = 1};
    out->is_used[0] = 1;
}

VT_READS_RACILY static void describe_slab(const struct slab *s, uintptr_t mark_key,
                                          struct vt_own_area *out) {
    const struct vt_class *k = &vt__classes[s->cls];
    *out = (struct vt_own_area){.at = (void *)vt__slice_address(vt__slab_id(s)),
                                .n_bytes = (size_t)k->capacity * k->block_bytes,
                                .block_bytes = k->block_bytes,
                                .n_carved = s->carved};
    for (size_t i = 0; i < s->carved; i++) {
        if (!vt__slab_is_out(s, i) || is_kept(block_at(s, i), mark_key)) continue;
        out->is_used[i / 32] |= UINT32_C(1) << (i % 32);
        out->n_used++;
    }
}

/* By number, not by place: the visitor may allocate and free meanwhile, so a slab that was seen may be gone. */
bool vt__own_area(struct vt_own *o, size_t n, struct vt_own_area *out) {
    bool is_there = false;
    if (!vt__enter()) return false;
    vt_lock(o->lock);
    for (unsigned c = 0; c < VT_N_CLASSES && !is_there; c++)
        for (slab_id i = o->slabs[c].first; i != 0 && !is_there; i = vt__slab(i)->next)
            if (n-- == 0) {
                describe_slab(vt__slab(i), own_mark_key(o), out);
                is_there = true;
            }
    for (slab_id i = o->runs; i != 0 && !is_there; i = vt__slab(i)->next)
        if (n-- == 0) {
            describe_run(vt__slab(i), out);
            is_there = true;
        }
    if (!is_there && o->holding != NULL) is_there = vt__holding_area(o->holding, &n, out);
    vt_unlock(o->lock);
    vt__leave();
    return is_there;
}

static void count_slab(const struct slab *s, struct vt_class_stats *out) {
    const struct vt_class *k = &vt__classes[s->cls];
    out->n_slabs++;
    out->n_blocks += k->capacity;
    out->n_live += s->room;
    out->n_free += s->carved - s->room;
    out->n_full += s->room == k->capacity;
    out->slab_bytes += k->n_slices * VT_SLICE;
    out->resident_bytes += vt_round_up((size_t)s->carved * k->block_bytes, VT_OS_PAGE);
}

void vt__own_stats(struct vt_own *o, struct vt_own_stats *out,
                   void (*visit_run)(void *arg, size_t n_bytes), void *arg) {
    *out = (struct vt_own_stats){.n_runs_taken = 0};
    if (!vt__enter()) return;
    vt_lock(o->lock);
    out->n_runs_taken = o->n_runs_taken;
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        out->n_taken[c] = o->n_taken[c];
        for (slab_id i = o->slabs[c].first; i != 0; i = vt__slab(i)->next)
            count_slab(vt__slab(i), &out->classes[c]);
    }
    for (slab_id i = o->runs; i != 0; i = vt__slab(i)->next)
        visit_run(arg, vt__large_usable(vt__slab(i)));
    if (o->holding != NULL) vt__holding_stats(o->holding, out, visit_run, arg);
    vt_unlock(o->lock);
    vt__leave();
}

void vt__own_brought_stats(struct vt_own *o, struct vt_own_stats *out,
                           void (*visit_run)(void *arg, size_t n_bytes), void *arg) {
    *out = (struct vt_own_stats){.n_runs_taken = 0};
    if (!vt__enter()) return;
    vt_lock(o->lock);
    if (o->holding != NULL) vt__holding_stats(o->holding, out, visit_run, arg);
    vt_unlock(o->lock);
    vt__leave();
}

#ifdef VT_WITH_AUDIT
void vt__own_audit(struct vt_own *o) {
    vt_lock(o->lock);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        bool is_behind = false; /* the used up ones */
        for (slab_id i = o->slabs[c].first; i != 0; i = vt__slab(i)->next) {
            struct slab *s = vt__slab(i);
            VT_ASSERT(vt__slab_is_valid(s));
            VT_ASSERT(s->cls == c && s->state == SLAB_SHARED);
            VT_ASSERT(atomic_load_explicit(&s->owner, memory_order_relaxed) == tag_of(o));
            VT_ASSERT(!is_behind || is_used_up(s));
            is_behind = is_used_up(s);
        }
    }
    for (slab_id i = o->runs; i != 0; i = vt__slab(i)->next) VT_ASSERT(run_own(vt__slab(i)) == o);
    vt_unlock(o->lock);
}
#endif
