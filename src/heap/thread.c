/* thread.c - heaps and the threads that use them.
 *
 * A thread gets a heap at its first slow malloc and gives it up when it ends. The heap then waits in a pool, newest
 * first, with its slabs: the next thread takes it over as it is, so thread turnover costs no slab traffic, and a
 * thread's blocks stay local to its successor. A few small ones wait warm, with their lists and current slabs; the others
 * gave those up. A heap in the pool has no owner; whoever holds the heaps lock acts for it: collects remote frees, or lets
 * a live heap adopt one of its slabs.
 *
 * Heaps are never unmapped, so a stale pointer to one is harmless.
 *
 * Climate: malloc.   Owns: all heaps, the pool.   Locks: heaps.
 */
#include "heap/estate.h"
#include "heap/impl.h"
#include "heap/link.h"
#include "heap/own_cache.h"
#include "heap/secure.h"
#include "heap/stock.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define ADOPT_LOOK 64       /* heaps of ended threads to look into before taking new memory */
#define WARM_BYTES KiB(256) /* that a heap may keep, carved, while it waits; see lists.md */
#define WARM_BYTES_ALL MiB(1)

#if VT_HARDEN == 0 /* the bare build does not test for NULL: an all-empty heap stands in */
#define NIL ((struct block *)&vt__nil)
#define NIL4 NIL, NIL, NIL, NIL
#define NIL16 NIL4, NIL4, NIL4, NIL4
static const struct heap empty_heap = {.list = {NIL16, NIL16, NIL16, NIL16}};
#define NO_HEAP ((struct heap *)&empty_heap)
#else
#define NO_HEAP NULL
#endif

__thread struct vt_tls vt__tls __attribute__((tls_model("initial-exec"))) = {.heap = NO_HEAP};

struct vt_lock vt__heaps_lock = VT_LOCK_INIT(VT_LOCK_HEAPS);

static struct {
    struct heap *all;
    struct heap *pool;
    _Atomic uint32_t n_pooled; /* read without the lock, as a hint */
    _Atomic size_t warm_bytes; /* the same */
    uint32_t n_heaps, n_numbers;
    struct heap *common; /* no thread's: first blocks of many threads; always in state POOLED */
    /* Bit for each class of which a heap in the pool may have a slab to adopt: who needs one does not take the lock in vain. Written
     * under the lock. */
    _Atomic uint64_t has_small, has_medium;
} heaps;

struct heap *vt__heaps_first(void) {
    /* acquire: without the lock, too, `next` of each is there. Pairs with the release in heap_new. */
    return __atomic_load_n(&heaps.all, __ATOMIC_ACQUIRE);
}

size_t vt__heaps_count(size_t *n_live) {
    vt_lock(&vt__heaps_lock);
    size_t n = heaps.n_heaps;
    *n_live =
        n - atomic_load_explicit(&heaps.n_pooled, memory_order_relaxed) - (heaps.common != NULL);
    vt_unlock(&vt__heaps_lock);
    return n;
}

VT_READS_RACILY size_t vt__heaps_live(void) {
    uint32_t n_pooled = atomic_load_explicit(&heaps.n_pooled, memory_order_relaxed);
    return heaps.n_heaps > n_pooled ? heaps.n_heaps - n_pooled : 1;
}

static struct heap *heap_new(void) {
    struct heap *h = vt__arena_take(sizeof(*h), VT_OS_PAGE);
    if (h == NULL) return NULL;
    for (unsigned c = 0; c < VT_N_SMALL; c++) h->list[c] = (struct block *)&vt__nil;
    vt__draws_init(h);
    h->is_first = heaps.all == NULL;
    h->next = heaps.all;
    h->number = ++heaps.n_numbers;
    h->shelf_salt = (uintptr_t)(++heaps.n_heaps % 0xfffe + 1) << VT_SALT_SHIFT;
    __atomic_store_n(&heaps.all, h, __ATOMIC_RELEASE); /* see vt__heaps_first */
    return h;
}

/* Where malloc finds lists and free its own slabs: in the heap, or in exact mode nowhere, so that both take their slow paths.
 * Under the heaps lock; any thread's. */
static void point_fast_paths(struct heap *h, bool is_exact) {
    __atomic_store_n(&h->tls->heap, is_exact || h->is_diverted ? NO_HEAP : h, __ATOMIC_RELAXED);
    __atomic_store_n(&h->tls->tag, is_exact ? 0 : (uintptr_t)h, __ATOMIC_RELAXED);
}

static void set_watch(uint8_t who, bool on) {
    if (!vt__enter()) return;
    vt_lock(&vt__heaps_lock);
    uint8_t before = atomic_load_explicit(&vt__watch, memory_order_relaxed);
    uint8_t after = (uint8_t)(on ? before | who : before & ~who);
    atomic_store_explicit(&vt__watch, after, memory_order_release); /* see is_watched */
    for (struct heap *h = heaps.all; h != NULL; h = h->next)
        if (h->tls != NULL) point_fast_paths(h, after != 0);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
}

void vt__heap_set_exact(bool on) { set_watch(VT_WATCH_EXACT, on); }

void vt__heap_set_hooks(const struct vt_heap_hooks *hooks) {
    /* release: what they need is there before they are called; pairs with the acquire of the watch */
    if (hooks != NULL) atomic_store_explicit(&vt__hooks, hooks, memory_order_release);
    set_watch(VT_WATCH_HOOKS, hooks != NULL);
}

void vt__heap_divert(bool on) {
    struct heap *h = vt__tls.real != NULL ? vt__tls.real : vt__heap_attach();
    if (h == NULL || !vt__enter()) return;
    vt_lock(&vt__heaps_lock);
    h->is_diverted = on;
    point_fast_paths(h, atomic_load_explicit(&vt__watch, memory_order_relaxed) != 0);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
}

/* What it may keep while it waits for the next thread; 0: nothing. What the lists hold was counted off by the settings of this
 * thread: only if these are everybody's. */
static size_t bytes_to_stay_warm(const struct heap *h) {
    size_t all = atomic_load_explicit(&heaps.warm_bytes, memory_order_relaxed), n_bytes = 0;
    if (h->is_diverted || h->sampling != VT_SAMPLING_AS_ALL ||
        atomic_load_explicit(&vt__watch, memory_order_relaxed) != 0)
        return 0;
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        if (h->bin[c].current != 0)
            n_bytes += vt__slab(h->bin[c].current)->carved * vt__class_bytes(c);
    return n_bytes <= WARM_BYTES && all + n_bytes <= WARM_BYTES_ALL ? n_bytes : 0;
}

/* Under the heaps lock. */
static void set_warm(struct heap *h, size_t n_bytes) {
    atomic_fetch_add_explicit(&heaps.warm_bytes, n_bytes - h->warm_bytes, memory_order_relaxed);
    h->warm_bytes = n_bytes;
}

void vt__heaps_cool(void) {
    vt_lock(&vt__heaps_lock);
    for (struct heap *h = heaps.pool; h != NULL; h = h->pool_next) {
        if (h->warm_bytes == 0) continue;
        vt__heap_drop_empty(h, /* has_heaps_lock */ true);
        set_warm(h, 0);
    }
    vt_unlock(&vt__heaps_lock);
}

static struct heap *take_heap(void) {
    vt_lock(&vt__heaps_lock);
    struct heap *h = heaps.pool;
    if (h != NULL) {
        heaps.pool = h->pool_next;
        atomic_fetch_sub_explicit(&heaps.n_pooled, 1, memory_order_relaxed);
        set_warm(h, 0);
    } else {
        h = heap_new();
    }
    if (h != NULL) {
        atomic_store_explicit(&h->state, HEAP_LIVE, memory_order_seq_cst);
        h->tls = &vt__tls;
        vt__tls.real = h;
        point_fast_paths(h, atomic_load_explicit(&vt__watch, memory_order_relaxed) != 0);
    }
    vt_unlock(&vt__heaps_lock);
    return h;
}

struct heap *vt__heap_attach(void) {
    if (vt__life_start() != 0) return NULL;
    if (vt__tls.real != NULL) return vt__tls.real; /* the start itself allocated */
    if (!vt__enter()) return NULL;                 /* a signal handler interrupted a slow path */
    struct heap *h = take_heap();
    vt__leave();
    if (h == NULL) return NULL;
    h->has_chores = h->is_borrowed =
        false; /* its last thread may have borrowed it; what follows may allocate (glibc, from the 33rd key on) */
    h->has_chores = h->is_borrowed = !vt__life_thread_attached();
    return h;
}

void **vt__heap_probe_slot(enum vt_probe_slot which) {
    return vt__tls.real != NULL ? &vt__tls.real->probe_slot[which] : NULL;
}

uint32_t vt__heap_thread_number(void) { return vt__tls.real != NULL ? vt__tls.real->number : 0; }

uint32_t vt__heap_label_now(void) { return vt__tls.real != NULL ? vt__tls.real->label : 0; }

static struct heap *own_heap(void) {
    return vt__tls.real != NULL ? vt__tls.real : vt__heap_attach();
}

uint32_t *vt__heap_label(void) {
    struct heap *h = own_heap();
    return h != NULL ? &h->label : NULL;
}

uint8_t *vt__heap_sampling(void) {
    struct heap *h = own_heap();
    return h != NULL ? &h->sampling : NULL;
}

uint64_t *vt__heap_dialect_word(void) {
    struct heap *h = own_heap();
    return h != NULL ? &h->dialect_word : NULL;
}

size_t vt__heap_count_words(uint64_t mask, uint64_t value) {
    size_t n = 0;
    if (!vt__enter()) return 0;
    vt_lock(&vt__heaps_lock);
    for (const struct heap *h = heaps.all; h != NULL; h = h->next)
        if (h->tls != NULL)
            n += (__atomic_load_n(&h->dialect_word, __ATOMIC_RELAXED) & mask) == value;
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    return n;
}

uint32_t vt__heap_renumber_thread(uint32_t number) {
    vt_lock(&vt__heaps_lock);
    if (number == 0) number = ++heaps.n_numbers;
    vt__tls.real->number = number;
    vt_unlock(&vt__heaps_lock);
    return number;
}

/* h is in the pool, or what was freed of its blocks came home there. Under the heaps lock. */
static void note_what_it_has(const struct heap *h) {
    /* relaxed, here and below: who sees an old value adopts nothing this time */
    uint64_t small = atomic_load_explicit(&heaps.has_small, memory_order_relaxed);
    uint64_t medium = atomic_load_explicit(&heaps.has_medium, memory_order_relaxed);
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        if (h->bin[c].partial != 0 || h->bin[c].current != 0) small |= UINT64_C(1) << c;
    for (unsigned i = 0; i < VT_N_MEDIUM; i++)
        if (h->medium_slabs[i].first != 0) medium |= UINT64_C(1) << i;
    atomic_store_explicit(&heaps.has_small, small, memory_order_relaxed);
    atomic_store_explicit(&heaps.has_medium, medium, memory_order_relaxed);
}

void vt__heap_detach_thread(void) {
    struct heap *h = vt__tls.real;
    if (h == NULL || !vt__enter()) return;
    vt__secure_flush(h); /* what was kept may come onto the shelves */
    vt__shelves_clear(h);
    vt__medium_begin_anew(h);
    vt__own_caches_clear(h);
    size_t warm_bytes = bytes_to_stay_warm(h);
    if (warm_bytes == 0) vt__heap_drop_empty(h, /* has_heaps_lock */ false);
    (void)vt__stock_clear(h);
    h->label = 0;
    h->dialect_word = 0;
    (void)vt__draws_settle_all(h);
    vt__heap_leave_in_use(h);
    h->bytes = (struct vt_thread_bytes){0}; /* the next thread's begin anew */
    h->small_allocated = h->small_freed = h->small_taken_over = 0;
    h->walk_at = h->look_at = 0;
    h->told_allocated = vt__draws_taken_bytes(h); /* what waits in lists */
    h->is_taken_over = true;
    h->pace = (struct vt_pace){0};
    h->peak = (struct peak){0};
    h->sampling = VT_SAMPLING_AS_ALL;
    vt_lock(&vt__heaps_lock);
    h->tls = NULL;
    h->is_diverted = false;
    vt__tls.heap = NO_HEAP;
    vt__tls.real = NULL;
    vt__tls.tag = 0;
    /* seq_cst: pairs with push_pending in remote.c; what was pushed before is collected here, what comes later is
     * collected by whoever pushed it */
    atomic_store_explicit(&h->state, HEAP_POOLED, memory_order_seq_cst);
    vt__remote_collect(h, /* has_heaps_lock */ true);
    set_warm(h, warm_bytes);
    h->pool_next = heaps.pool;
    heaps.pool = h;
    note_what_it_has(h);
    atomic_fetch_add_explicit(&heaps.n_pooled, 1, memory_order_relaxed);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
}

void vt__heap_collect_pooled(struct heap *h) {
    vt_lock(&vt__heaps_lock);
    if (atomic_load_explicit(&h->state, memory_order_relaxed) == HEAP_POOLED) {
        vt__remote_collect(h, true);
        note_what_it_has(h);
    }
    vt_unlock(&vt__heaps_lock);
}

struct block *vt__take_shared(unsigned cls) {
    struct block *b = NULL;
    vt_lock(&vt__heaps_lock);
    if (heaps.common == NULL) heaps.common = heap_new();
    if (heaps.common != NULL) {
        vt__remote_collect(heaps.common, /* has_heaps_lock */ true);
        b = vt__take_one(heaps.common, cls);
    }
    vt_unlock(&vt__heaps_lock);
    return b;
}

/* Under the heaps lock. */
static bool adopt_from(struct heap *h, struct heap *from, unsigned cls) {
    struct slab *s;
    if (cls >= VT_N_SMALL) return vt__medium_take_over(h, from, cls);
    if (from->bin[cls].partial != 0) {
        s = vt__slab(from->bin[cls].partial);
        vt__queue_remove(from, s);
    } else {
        s = vt__slab_let_go(from, cls);
    }
    if (s == NULL) return false;
    vt__slab_take_over(h, s);
    vt__make_current(h, s);
    return true;
}

bool vt__adopt(struct heap *h, unsigned cls) {
    _Atomic uint64_t *has = cls < VT_N_SMALL ? &heaps.has_small : &heaps.has_medium;
    uint64_t bit = UINT64_C(1) << (cls < VT_N_SMALL ? cls : cls - VT_N_SMALL);
    if (atomic_load_explicit(&heaps.n_pooled, memory_order_relaxed) == 0) return false;
    if ((atomic_load_explicit(has, memory_order_relaxed) & bit) == 0) return false;
    bool is_done = false;
    vt_lock(&vt__heaps_lock);
    struct heap *from = heaps.pool;
    for (unsigned n = 0; from != NULL && n < ADOPT_LOOK && !is_done; from = from->pool_next, n++)
        is_done = adopt_from(h, from, cls);
    if (!is_done && from == NULL)
        atomic_store_explicit(has, atomic_load_explicit(has, memory_order_relaxed) & ~bit,
                              memory_order_relaxed);
    vt_unlock(&vt__heaps_lock);
    return is_done;
}

/* May be called again after a failure: each step that succeeded stays as it is. */
int vt__heap_start(void) {
    vt__classes_init();
    vt__medium_open();
    int err = vt__window.n_bytes == 0 ? vt__window_open() : 0;
    return err != 0 ? err : vt__chunks_open();
}

bool vt__heap_owns(const void *p) {
    struct vt_brought b;
    if (!vt__is_in_window(p)) return vt__brought_find(p, &b);
    return atomic_load_explicit(&vt__slab(vt__slice_of(p))->owner, memory_order_relaxed) !=
           VT_OWNER_NONE;
}

/* All locks, in order, so that the child finds every shared structure whole. The heaps of the other threads are not
 * whole: nobody in the child touches them again, and what is freed into them piles up there, harmless. */
void vt__heap_fork_prepare(void) {
    /* A signal handler that forks in the middle of a slow path: what is locked may be locked by us. Parent and child both go
     * on with it when the handler returns. */
    if (vt__tls.is_busy && vt__tls.fork_depth == 0) return;
    if (vt__tls.fork_depth++ > 0) return;
    (void)vt__enter(); /* a handler that comes before we have them all must not wait for us */
    vt__probe_fork_prepare();
    vt_lock(&vt__heaps_lock);
    vt__owns_fork_prepare();
    vt__estates_fork_prepare();
    vt__medium_fork_prepare();
    vt__chunks_fork_prepare();
    vt__arena_fork_prepare();
    vt__lock_has_all = true; /* handlers registered before ours run after it, and may malloc */
    vt__leave();
}

void vt__heap_fork_done(bool is_child) {
    if (vt__tls.fork_depth == 0)
        return; /* the child of a fork in a handler goes on with the fork around it */
    if (!is_child && --vt__tls.fork_depth > 0) return;
    vt__tls.fork_depth = 0;
    bool is_entered = vt__enter(); /* false: a handler forked while we took them */
    vt__lock_has_all = false;
    vt__arena_fork_done(is_child);
    vt__chunks_fork_done(is_child);
    vt__medium_fork_done(is_child);
    vt__estates_fork_done(is_child);
    vt__owns_fork_done(is_child);
    vt_lock_forked(&vt__heaps_lock, is_child);
    vt__probe_fork_done(is_child);
    if (is_entered) vt__leave();
}
