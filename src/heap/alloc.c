/* alloc.c - the malloc family when the fast path does not suffice, and the rules C has for it.
 *
 * Climate: malloc.   Owns: nothing.   Callers: fast.h, dialect/.
 */
#include <errno.h>

#include "heap/estate.h"
#include "heap/fast.h"
#include "heap/impl.h"
#include "heap/magazine.h"
#include "heap/shelf.h"
#include "heap/spare.h"
#include "heap/upcalls.h"
#include "vitrine-control.h"

#define POLLS_PER_LOOK 64
#define STEPS_FROM_BYTES 128

_Atomic uint8_t vt__purge_wants;
_Atomic bool vt__dump_is_wanted;
_Atomic uint8_t vt__watch;
_Atomic(const struct vt_heap_hooks *) vt__hooks;
_Atomic int vt__dump_cause;

/* Frees of an interrupted slow path, for the next one that is not: a stack through the blocks' first words. */
static _Atomic(struct block *) deferred;
static void free_deferred(void);

/* In a handler, or while we fork: locks are held. */
static bool is_in_between(void) { return vt__tls.is_busy || vt__lock_has_all; }

static VT_COLD void dump_as_asked(void) {
    if (is_in_between()) return;
    if (atomic_exchange_explicit(&vt__dump_is_wanted, false, memory_order_relaxed))
        vt__life_dump_wanted(atomic_load_explicit(&vt__dump_cause, memory_order_relaxed));
}

static VT_COLD void do_as_asked(void) {
    if (is_in_between()) return;
    dump_as_asked();
    if (__atomic_load_n(&vt_control.wanted, __ATOMIC_RELAXED) != 0) vt__life_control_wanted();
}

/* Free memory is kept. To look at the clock costs as much as a medium block, so few do; who takes slices does it anyway. */
static VT_COLD void purge_by_the_way(void) {
    if ((atomic_load_explicit(&vt__purge_wants, memory_order_relaxed) & VT_PURGE_TOLD) != 0) {
        atomic_store_explicit(&vt__purge_wants, VT_PURGE_KEPT, memory_order_relaxed);
        vt__life_purge_wanted();
    }
    if (++vt__tls.n_polls % POLLS_PER_LOOK != 0 || vt__lock_has_all || !vt__enter()) return;
    vt__purge_what_is_due();
    vt__leave();
}

void vt__poll(void) {
    if (vt_unlikely(atomic_load_explicit(&deferred, memory_order_relaxed) != NULL)) free_deferred();
    bool is_asked = atomic_load_explicit(&vt__dump_is_wanted, memory_order_relaxed) ||
                    __atomic_load_n(&vt_control.wanted, __ATOMIC_RELAXED) != 0;
    if (vt_unlikely(is_asked)) do_as_asked();
    if (vt_unlikely(atomic_load_explicit(&vt__purge_wants, memory_order_relaxed) != 0))
        purge_by_the_way();
}

/* A block that the probes watch; free will meet it on its slow path. */
static void *take_sampled(struct heap *h, unsigned cls, size_t n_bytes, bool *is_zero) {
    struct block *b = vt__spare_take(h, cls, is_zero);
    unsigned n_drawn = vt__draw_again(h, cls);
    if (b == NULL) return NULL;
    h->bytes.allocated += vt__classes[cls].block_bytes;
    vt__probe_allocated(b, n_bytes, vt__class_bytes(cls), n_drawn);
    return b;
}

/* A small block: from the list, which is refilled when empty, and if possible before the next malloc finds it empty. */
static void *take_small(struct heap *h, unsigned cls, size_t n_bytes) {
    struct block *b = h->list[cls];
    if (b == &vt__nil) {
        bool is_zero;
        if (vt_unlikely(vt__draw_small(h, cls))) {
            h->bin[cls].list_kind = LIST_AS_IT_CAME;
            return take_sampled(h, cls, n_bytes, &is_zero);
        }
        if (vt_unlikely(!vt__refill(h, cls)) && !(vt__give_kept() && vt__refill(h, cls))) {
            vt__draw_failed(h, cls);
            return NULL;
        }
        b = h->list[cls];
    }
    struct block *next = link_next(b, cls);
    h->list[cls] = next != NULL ? next : vt__refill_freed(h, cls, b);
    return b;
}

/* Where every slow malloc begins. Chores that need all locks free come first, not last: they may allocate (a thread to
 * purge), and calloc asks afterwards where the block it got came from. */
static struct heap *my_heap(void) {
    vt__poll();
    return vt_likely(vt__tls.real != NULL) ? vt__tls.real : vt__heap_attach();
}

/* A slow path holds locks and has lists half changed. A signal handler that interrupts it and calls us again finds
 * is_busy set: its malloc fails and its frees are put aside (deferred.next), but nothing waits for itself. Only the slow
 * paths know; docs/design.md tells what remains unsafe about malloc in a handler. */
bool vt__enter(void) {
    if (vt_unlikely(vt__tls.is_busy)) return false;
    vt__tls.is_busy = true;
    atomic_signal_fence(
        memory_order_seq_cst); /* the handler runs on this thread: order for the compiler suffices */
    return true;
}

void vt__leave(void) {
    atomic_signal_fence(memory_order_seq_cst);
    vt__tls.is_busy = false;
}

VT_COLD static void *no_memory(size_t n_bytes) {
    vt__life_no_memory(n_bytes);
    errno = ENOMEM;
    return NULL;
}

/* What follows a slow malloc: a borrowed heap goes back, and the rules about failing. */
static void *finish(struct heap *h, void *p, size_t n_bytes) {
    vt__leave();
    if (vt_unlikely(h->has_chores)) vt__heap_do_chores(h);
    return vt_likely(p != NULL) ? p : no_memory(n_bytes);
}

static uint8_t watch(void) {
    /* acquire: what the watchers made ready for it; pairs with the release in set_watch */
    return atomic_load_explicit(&vt__watch, memory_order_acquire);
}

static bool is_watched(void) { return vt_unlikely(watch() != 0); }
static bool is_exact(void) { return vt_unlikely((watch() & VT_WATCH_EXACT) != 0); }

static VT_COLD void call_hooks_allocated(const void *p, size_t n_bytes) {
    atomic_load_explicit(&vt__hooks, memory_order_relaxed)->allocated(p, n_bytes);
}

static VT_COLD void call_hooks_freed(const void *p) {
    atomic_load_explicit(&vt__hooks, memory_order_relaxed)->freed(p);
}

static VT_COLD void call_hooks_resized(const void *from, const void *to, size_t n_bytes) {
    const struct vt_heap_hooks *hooks = atomic_load_explicit(&vt__hooks, memory_order_relaxed);
    if (hooks->resized != NULL) {
        hooks->resized(to, n_bytes);
        return;
    }
    hooks->freed(from);
    hooks->allocated(to, n_bytes);
}

static void tell_hooks_allocated(const void *p, size_t n_bytes) {
    if (vt_unlikely((watch() & VT_WATCH_HOOKS) != 0)) call_hooks_allocated(p, n_bytes);
}

static void tell_hooks_freed(const void *p) {
    if (vt_unlikely((watch() & VT_WATCH_HOOKS) != 0)) call_hooks_freed(p);
}

static void tell_hooks_resized(const void *from, const void *to, size_t n_bytes) {
    if (vt_unlikely((watch() & VT_WATCH_HOOKS) != 0)) call_hooks_resized(from, to, n_bytes);
}

/* A dump that this block is the cause of has it. Nothing else that waits for a poll: that might allocate, and calloc asks
 * afterwards where the block it got came from. */
static void poll_for_dump(void) {
    if (vt_unlikely(atomic_load_explicit(&vt__dump_is_wanted, memory_order_relaxed)))
        dump_as_asked();
}

/* Not marked as cold: what exact mode takes is measured. */
static VT_NOINLINE void *tell(void *p, size_t n_bytes) {
    if (vt_likely((watch() & VT_WATCH_EXACT) != 0) && p != NULL && vt__enter()) {
        vt__probe_exact_allocated(p, n_bytes);
        vt__leave();
        poll_for_dump();
    }
    tell_hooks_allocated(p, n_bytes);
    return p;
}

/* Every block is told to those who watch. */
static void *told(void *p, size_t n_bytes) { return is_watched() ? tell(p, n_bytes) : p; }

/* A block that got another size where it is counts as freed and allocated again, by who asked for that. */
static void *told_again(void *p, size_t n_bytes) {
    if (!is_watched()) return p;
    if (is_exact() && vt__enter()) {
        vt__probe_exact_freed(p);
        vt__probe_exact_allocated(p, n_bytes);
        vt__leave();
        poll_for_dump();
    }
    tell_hooks_resized(p, p, n_bytes);
    return p;
}

/* A sampled block is another size for its program where it is: its record says what was asked for last. */
static VT_NOINLINE void *ask_again(void *p, size_t n_bytes) {
    if (vt__enter()) {
        vt__probe_requested(p, n_bytes);
        vt__leave();
    }
    return told_again(p, n_bytes);
}

static bool is_sampled(const struct slab *s) {
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_relaxed);
    return owner == VT_OWNER_SAMPLED || (owner == VT_OWNER_LARGE && s->state == SLAB_SAMPLED);
}

static void *stays(const struct slab *s, void *p, size_t n_bytes) {
    return vt_unlikely(is_sampled(s)) ? ask_again(p, n_bytes) : told_again(p, n_bytes);
}

/* Not from the magazine, but from a slab, and by the way some for the magazine; or a sample. is_zero may be NULL. */
VT_NOINLINE static void *take_medium_slow(unsigned cls, size_t n_bytes, bool *is_zero) {
    bool unused;
    struct heap *h = my_heap();
    if (vt_unlikely(h == NULL || !vt__enter())) return no_memory(n_bytes);
    if (vt_unlikely(--h->countdown[cls] == 0) && vt__draw_medium(h, cls))
        return finish(h, take_sampled(h, cls, n_bytes, is_zero != NULL ? is_zero : &unused),
                      n_bytes);
    struct block *b = magazine_take(h, cls); /* it may have been the countdown */
    if (b == NULL) b = vt__medium_take(h, cls, is_zero);
    if (vt_unlikely(b == NULL) && vt__give_kept()) b = vt__medium_take(h, cls, is_zero);
    return finish(h, b, n_bytes);
}

/* The thread's heap where nobody watches and nothing else is to be done; NULL: the slow way. */
VT_INLINE struct heap *undisturbed_heap(void) {
    if (VT_HARDEN > 0) return vt_racy_read(vt__tls.heap); /* NULL while somebody watches */
    return is_watched() ? NULL : vt__tls.real;
}

/* NULL: it takes the slow way. The malloc is counted then, if the thread has a heap. */
VT_INLINE void *take_medium_fast(unsigned cls) {
    struct heap *h = undisturbed_heap();
    if (vt_unlikely(h == NULL) || vt_unlikely(h->countdown[cls] == 1)) return NULL;
    struct block *b = magazine_take(h, cls);
    if (vt_likely(b != NULL)) h->countdown[cls]--;
    return b;
}

VT_INLINE void *take_medium(unsigned cls, size_t n_bytes, bool *is_zero) {
    void *p = take_medium_fast(cls);
    return vt_likely(p != NULL) ? p : told(take_medium_slow(cls, n_bytes, is_zero), n_bytes);
}

/* Counts a large block off. True: the probes want to watch it. */
static bool is_large_drawn(struct heap *h, const struct slab *s) {
    size_t block_bytes = vt__large_usable(s);
    return vt_unlikely(vt__draw_large(h, vt__draw_of_large(block_bytes), block_bytes));
}

static void sample_large(struct heap *h, struct slab *s, void *p, size_t n_bytes) {
    size_t block_bytes = vt__large_usable(s);
    s->state = SLAB_SAMPLED;
    vt__probe_allocated(p, n_bytes, block_bytes, vt__draw_again(h, vt__draw_of_large(block_bytes)));
}

void *vt__take_large(struct heap *h, void *p, size_t n_bytes) {
    if (p == NULL) return NULL;
    struct slab *s = vt__slab(vt__slice_of(p));
    h->bytes.allocated += vt__large_usable(s);
    if (is_large_drawn(h, s)) sample_large(h, s, p, n_bytes);
    return p;
}

/* Not a medium block. */
static VT_NOINLINE void *malloc_rest(size_t n_bytes) {
    struct heap *h = my_heap();
    if (vt_unlikely(h == NULL || !vt__enter())) return no_memory(n_bytes);
    if (n_bytes <= VT_SMALL_MAX)
        return told(
            finish(h, take_small(h, vt__class_of(n_bytes + (n_bytes == 0)), n_bytes), n_bytes),
            n_bytes);
    void *p = vt__large_alloc(n_bytes, VT_SLICE, /* zero */ false);
    return told(finish(h, vt__take_large(h, p, n_bytes), n_bytes), n_bytes);
}

static VT_NOINLINE void *malloc_medium_slow(size_t n_bytes) {
    return told(take_medium_slow(vt__class_of(n_bytes), n_bytes, NULL), n_bytes);
}

void *vt__malloc_slow(size_t n_bytes) {
    if (n_bytes <= VT_SMALL_MAX || n_bytes > VT_MEDIUM_MAX) return malloc_rest(n_bytes);
    void *p = take_medium_fast(vt__class_of(n_bytes));
    return vt_likely(p != NULL) ? p : malloc_medium_slow(n_bytes);
}

void *vt__malloc(size_t n_bytes) { return vt__fast_malloc(n_bytes); }

/* All of the block, not only what was asked for: a program may use the rest, and rallocx counts on it. is_clean: where p came
 * from was never used: only the link is not zero. */
static void *zeroed(void *p, size_t block_bytes, bool is_clean) {
    VT_KEEP_IN_RCX(
        block_bytes); /* who knows that it is a multiple of 16 writes a loop of its own */
    if (is_clean)
        ((struct block *)p)->link = 0;
    else
        __builtin_memset(p, 0, block_bytes);
    return p;
}

static void *calloc_medium(size_t n_bytes) {
    bool is_zero = false;
    unsigned cls = vt__class_of(n_bytes);
    void *p = take_medium(cls, n_bytes, &is_zero);
    return p != NULL ? zeroed(p, vt__class_bytes(cls), is_zero) : NULL;
}

void *vt__calloc(size_t n, size_t each_bytes) {
    size_t n_bytes;
    if (__builtin_mul_overflow(n, each_bytes, &n_bytes)) return no_memory(SIZE_MAX);
    if (n_bytes > VT_MEDIUM_MAX) {
        struct heap *h = my_heap();
        if (h == NULL || !vt__enter()) return no_memory(n_bytes);
        void *large = vt__large_alloc(n_bytes, VT_SLICE, /* zero */ true);
        return told(finish(h, vt__take_large(h, large, n_bytes), n_bytes), n_bytes);
    }
    if (n_bytes > VT_SMALL_MAX) return calloc_medium(n_bytes);
    void *p = vt__fast_malloc(n_bytes);
    if (vt_unlikely(p == NULL)) return NULL;
    unsigned cls = vt__class_of(n_bytes + (n_bytes == 0));
    const struct heap *h = vt__tls.heap; /* NULL: the thread is ending, and the heap was borrowed */
    return zeroed(p, ((size_t)cls + 1) * VT_BLOCK_ALIGN,
                  h != NULL && h->bin[cls].list_kind == LIST_IS_ZERO);
}

/* malloc was told the size of the class; the probes are to know what was asked for. Hooks do not. */
VT_COLD static void *aligned_exactly(size_t n, size_t n_bytes) {
    void *p = vt__fast_malloc(n);
    if (p != NULL && vt__enter()) {
        vt__probe_exact_requested(p, n_bytes);
        vt__leave();
    }
    return p;
}

/* Blocks of a class whose size is a multiple of align are aligned by arithmetic. A small size that is a multiple itself
 * is a class; of the eight medium classes of a doubling, one is. */
void *vt__aligned_alloc(size_t align, size_t n_bytes) {
    if (n_bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2) return no_memory(n_bytes);
    size_t n = vt_round_up(n_bytes + (n_bytes == 0), vt_max(align, VT_BLOCK_ALIGN));
    if (n <= VT_SMALL_MAX) return is_exact() ? aligned_exactly(n, n_bytes) : vt__fast_malloc(n);
    if (align <= VT_SLICE && n <= VT_MEDIUM_MAX)
        return take_medium(vt__class_aligned(n, align), n_bytes, NULL);
    struct heap *h = my_heap();
    if (vt_unlikely(h == NULL || !vt__enter())) return no_memory(n_bytes);
    void *p = vt__large_alloc(n_bytes, vt_max(align, VT_SLICE), /* zero */ false);
    return told(finish(h, vt__take_large(h, p, n_bytes), n_bytes), n_bytes);
}

void *vt__alloc_behind(size_t skipped, size_t n_bytes, bool zero) {
    struct heap *h = my_heap();
    if (vt_unlikely(h == NULL || !vt__enter())) return no_memory(n_bytes);
    void *p = vt__large_alloc_behind(n_bytes, skipped, zero);
    return told(finish(h, vt__take_large(h, p, n_bytes), n_bytes), n_bytes);
}

/* ---- free ---- */

/* What is freed starts a block that is not free. A medium block bears its mark until it is handed out again; of a small one of
 * another thread that is no longer on a shelf, the slab knows, and finds out when it comes home: the bits' line would travel
 * with every free. The slab may be carved further meanwhile, but b was before we could hold it. */
VT_INLINE void check_block(const struct slab *s, const struct block *b) {
    if (VT_HARDEN == 0) return;
    size_t k = block_number((uintptr_t)b & (VT_SLICE - 1), s);
    if (vt_unlikely(k >= vt_racy_read(s->carved))) vt__bad_free(b);
    if (vt_unlikely(is_shelved(b))) vt__double_free(b, s);
}

static void defer(void *p) {
    struct block *b = p;
    struct block *head = atomic_load_explicit(&deferred, memory_order_relaxed);
    do b->link = (uintptr_t)head;
    /* release: the link is visible before the block; pairs with the acquire in free_deferred */
    while (!atomic_compare_exchange_weak_explicit(&deferred, &head, b, memory_order_release,
                                                  memory_order_relaxed));
}

VT_COLD static void free_deferred(void) {
    struct block *b = atomic_exchange_explicit(&deferred, NULL, memory_order_acquire);
    while (b != NULL) {
        struct block *next = (struct block *)b->link;
        vt__free(b);
        b = next;
    }
}

/* By a thread that is ending, or has just begun. Does all that the others do not. */
static void free_without_heap(struct slab *s, struct block *b) {
    if (vt__life_thread_is_staying() && vt__heap_attach() != NULL) {
        vt__free(b); /* from the start: that heap may be the slab's */
        return;
    }
    check_block(s, b);
    if (!vt__enter()) {
        defer(b);
        return;
    }
    shelf_prepare_alone(b);
    vt__send_home(s->cls, b, /* salt */ 0);
    vt__leave();
    vt__poll();
}

static void count_freed(size_t n_bytes) {
    if (vt__tls.real != NULL) vt__tls.real->bytes.freed += n_bytes;
}

static void free_large(struct slab *s, void *p) {
    if (!vt__enter()) {
        defer(p);
        return;
    }
    count_freed(vt__large_usable(s));
    vt__large_free(s, p);
    vt__leave();
    vt__poll();
}

/* Of memory that the program brought. */
static VT_COLD void free_brought(void *p) {
    struct vt_estate *e;
    if (!vt__enter()) {
        defer(p);
        return;
    }
    count_freed(vt__brought_free(p, &e));
    vt__leave();
    vt__estate_settle(e);
    vt__poll();
}

void vt__free_outside(void *p) {
    bool is_brought = p != NULL && vt__is_brought(p);
    if ((p == NULL || is_brought) && is_watched()) tell_hooks_freed(p);
    if (is_brought)
        free_brought(p);
    else if (p != NULL)
        vt__life_foreign_free(p);
}

static void free_sampled(struct slab *s, struct block *b) {
    check_block(s, b);
    if (!vt__enter()) {
        defer(b);
        return;
    }
    struct heap *h = vt__tls.real;
    count_freed(vt__class_bytes(s->cls));
    if (h != NULL) {
        vt__draw_ended(h, s->cls, vt__probe_rests(b));
        vt__spare_keep(h, s->cls, b);
    } else {
        (void)vt__probe_freed(b);
        vt__sampled_give(s, b);
    }
    vt__leave();
    vt__poll();
}

/* Of a heap that is no thread's. */
void vt__free_of_own(void *p, struct slab *s, uintptr_t owner) {
    if (block_number((uintptr_t)p & (VT_SLICE - 1), s) >= vt_racy_read(s->carved)) vt__bad_free(p);
    if (!vt__enter()) {
        defer(p);
        return;
    }
    bool is_done = vt__own_free(s, owner, p);
    vt__leave();
    if (is_done)
        vt__poll();
    else
        vt__free(p);
}

VT_NOINLINE static void free_rare(struct slab *s, uintptr_t owner, void *p) {
    if (owner == VT_OWNER_LARGE)
        free_large(s, p);
    else if (owner == VT_OWNER_SAMPLED)
        free_sampled(s, p);
    else if (owner == VT_OWNER_NONE || (owner & VT_OWNER_INNER) != 0)
        vt__bad_free(p);
    else
        free_without_heap(s, p);
}

/* In a signal handler the block is put aside: there may be no slot for it. */
VT_NOINLINE static void free_to_full_magazine(struct heap *h, struct slab *s, struct block *b) {
    unsigned cls = s->cls;
    size_t m = magazine_of(cls);
    if (!vt__enter()) {
        defer(b);
        return;
    }
    if (h->magazines.n[m] >= h->magazines.most[m]) vt__magazine_overflow(h, cls);
    if (h->magazines.n[m] < h->magazines.most[m]) {
        magazine_put(h, m, b);
    } else {
        if (VT_HARDEN > 0) b->mark = shelf_mark(b);
        vt__medium_pass_on(h, cls, &b, 1);
    }
    vt__leave();
    vt__poll();
}

VT_NOINLINE static void shelves_overflow(struct heap *h) {
    if (!vt__enter()) return; /* a signal handler: the next free will do it */
    vt__shelves_send(h);
    vt__leave();
    vt__poll();
}

/* While somebody watches every free comes here. True when the block was one of our own, which the fast path did not see. A
 * thread without a heap gets one, and comes again. */
VT_NOINLINE static bool free_watched(struct slab *s, uintptr_t owner, void *p) {
    if (vt__tls.real != NULL || !vt__life_thread_is_staying()) tell_hooks_freed(p);
    if (vt_likely((watch() & VT_WATCH_EXACT) != 0) && vt__enter()) {
        vt__probe_exact_freed(p);
        vt__leave();
        poll_for_dump();
    }
    if (vt__tls.real == NULL || owner != (uintptr_t)vt__tls.real) return false;
    free_own(s, (uintptr_t)p - vt__map.base, p);
    return true;
}

static VT_NOINLINE void free_rest(void *p, struct slab *s, uintptr_t owner) {
    struct heap *h = vt__tls.real;
    if (is_watched() && free_watched(s, owner, p)) return;
    if (vt_unlikely((owner & (VT_OWNER_LARGE | VT_OWNER_INNER)) != 0 || h == NULL)) {
        if ((owner & (VT_OWNER_OWN | VT_OWNER_INNER)) == VT_OWNER_OWN)
            vt__own_cache_free(p, s, owner);
        else
            free_rare(s, owner, p);
        return;
    }
    check_block(s, p); /* a slab without an owner has no blocks either */
    if (VT_HARDEN > 1) {
        vt__secure_free(s, p);
    } else if ((owner & VT_OWNER_MEDIUM) != 0) {
        free_to_full_magazine(h, s, p);
    } else {
        shelf_push(h, s->cls, p);
        if (vt_unlikely(shelves_are_too_full(h))) shelves_overflow(h);
    }
}

/* A medium block, into the magazine. False: there is no room in it, or something is wrong with the block; free_rest() knows. */
VT_INLINE bool free_medium_fast(struct heap *h, const struct slab *s, struct block *b) {
    size_t m = magazine_of(s->cls);
    int32_t n = h->magazines.n[m];
    if (vt_unlikely(n >= h->magazines.most[m])) return false;
    if (VT_HARDEN > 0) {
        size_t k = block_number((uintptr_t)b & (VT_SLICE - 1), s);
        if (vt_unlikely(k >= vt_racy_read(s->carved)) || vt_unlikely(is_shelved(b))) return false;
    }
    magazine_put(h, m, b);
    return true;
}

void vt__free_other(void *p, struct slab *s) {
    /* acquire: pairs with vt__slab_change_owner: the slab's class and shape are visible */
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    struct heap *h = undisturbed_heap();
    if (VT_HARDEN > 1 || vt_unlikely(!is_medium_owner(owner)) || vt_unlikely(h == NULL) ||
        !free_medium_fast(h, s, p))
        free_rest(p, s, owner);
}

void vt__free_attend(void *p) {
    struct slab *s = vt__slab(vt__slice_of(p));
    if (!vt__enter()) {
        s->room = 1; /* interrupted: the next free asks again */
        return;
    }
    vt__slab_attend(s);
    vt__leave();
    vt__poll();
}

void vt__free(void *p) { vt__fast_free(p); }

/* ---- sizes ---- */

/* Does a block that was not freed start at p? Of another thread's small blocks we do not ask its slab. */
static bool is_live(const struct slab *s, uintptr_t owner, const void *p) {
    size_t offset = (uintptr_t)p & (VT_SLICE - 1);
    if (owner == VT_OWNER_LARGE) return offset == s->carved;
    size_t k = block_number(offset, s);
    if (k >= vt_racy_read(s->carved) || is_shelved(p)) return false;
    return owner != (uintptr_t)vt__tls.real || vt__slab_is_out(s, k);
}

/* The slab or run p is a block of; ends the process if it is none. NULL when p is not ours at all. */
static struct slab *head_of(const void *p) {
    if (!vt__is_in_window(p)) return NULL;
    struct slab *s = vt__slab(vt__slice_of(p));
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if (owner == VT_OWNER_NONE || (owner & VT_OWNER_INNER) != 0) vt__bad_free(p);
    if (VT_HARDEN > 0 && !is_live(s, owner, p)) vt__bad_free(p);
    return s;
}

static bool is_large(const struct slab *s) {
    return atomic_load_explicit(&s->owner, memory_order_relaxed) == VT_OWNER_LARGE;
}

static size_t usable_of(const struct slab *s) {
    return is_large(s) ? vt__large_usable(s) : vt__classes[s->cls].block_bytes;
}

VT_NOINLINE static size_t usable_size_slow(const void *p) {
    if (p == NULL) return 0;
    const struct slab *s = head_of(p);
    if (s != NULL) return usable_of(s);
    return vt__is_brought(p) ? vt__brought_usable(p) : vt__life_foreign_usable_size(p);
}

/* Some programs (redis) ask this as often as they call malloc. A freed block that is not noticed here is noticed by what
 * follows. */
size_t vt__usable_size(const void *p) {
    uintptr_t offset = (uintptr_t)p - vt__map.base;
    size_t slice = offset >> VT_SLICE_SHIFT;
    if (vt_unlikely(slice >= vt_racy_read(vt__map.n_slices))) return usable_size_slow(p);
    const struct slab *s = &vt__map.slabs[slice];
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_relaxed);
    if (vt_unlikely((owner & (VT_OWNER_LARGE | VT_OWNER_INNER)) != 0 ||
                    block_number(offset & (VT_SLICE - 1), s) >= vt_racy_read(s->carved)))
        return usable_size_slow(p);
    return vt__classes[s->cls].block_bytes;
}

void vt__free_sized(void *p, size_t n_bytes) {
    (void)n_bytes;
    vt__fast_free(p);
}

bool vt__heap_block(const void *p, struct vt_heap_block *out) {
    if (!vt__is_in_window(p)) return false;
    const struct slab *s = vt__slab(vt__slice_of(p));
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    size_t offset = (uintptr_t)p & (VT_SLICE - 1);
    out->slice = vt__slice_of(p);
    if (owner == VT_OWNER_LARGE) {
        out->number = 0;
        out->n_bytes = vt__large_usable(s);
        return offset == s->carved;
    }
    if (owner == VT_OWNER_NONE || (owner & VT_OWNER_INNER) != 0) return false;
    out->number = VT_HARDEN > 0 ? block_number(offset, s) : offset * s->recip >> 32;
    out->n_bytes = vt__classes[s->cls].block_bytes;
    return out->number < vt_racy_read(s->carved);
}

/* One that grows by little will do so again: a block of a quarter more than it had saves the next copies. */
static bool grows_by_steps(size_t old_bytes, size_t n_bytes) {
    return n_bytes > old_bytes && old_bytes >= STEPS_FROM_BYTES &&
           n_bytes - old_bytes <= old_bytes / 8;
}

/* The probes are told of what was asked for. */
static void *alloc_with_room(size_t with_room, size_t n_bytes) {
    unsigned cls = vt__class_of(with_room);
    if (cls >= VT_N_SMALL) return take_medium(cls, n_bytes, NULL);
    struct heap *h = my_heap();
    if (h == NULL || !vt__enter()) return no_memory(n_bytes);
    return told(finish(h, take_small(h, cls, n_bytes), n_bytes), n_bytes);
}

/* A block that grows past a certain size will grow again: it gets a run with free slices behind it, where growing is
 * free of copying. */
static void *alloc_for_realloc(size_t old_bytes, size_t n_bytes) {
    if (grows_by_steps(old_bytes, n_bytes) && n_bytes < VT_GROWING_MIN)
        return alloc_with_room(old_bytes + old_bytes / 4, n_bytes);
    if (n_bytes <= old_bytes || n_bytes < VT_GROWING_MIN) return vt__fast_malloc(n_bytes);
    struct heap *h = my_heap();
    if (h == NULL || !vt__enter()) return no_memory(n_bytes);
    return told(finish(h, vt__take_large(h, vt__large_alloc_growing(n_bytes), n_bytes), n_bytes),
                n_bytes);
}

/* The size of a block that was asked for with this one, in few steps where that is easy. */
static size_t room_for(const void *p, size_t n_bytes) {
    return n_bytes <= VT_SMALL_MAX ? vt_round_up(n_bytes, VT_BLOCK_ALIGN) : vt__usable_size(p);
}

/* Copies all that both blocks have room for: what the program keeps behind the size it asked for stays, as zeros do. */
static void *realloc_by_copy(void *p, size_t old_bytes, size_t n_bytes) {
    void *to = alloc_for_realloc(old_bytes, n_bytes);
    if (to == NULL)
        return n_bytes <= old_bytes ? told_again(p, n_bytes) : NULL; /* shrinking never fails */
    __builtin_memcpy(to, p, n_bytes >= old_bytes ? old_bytes : room_for(to, n_bytes));
    vt__fast_free(p);
    return to;
}

static void count_resized(struct heap *h, size_t old_bytes, size_t new_bytes) {
    h->bytes.allocated += new_bytes - vt_min(new_bytes, old_bytes);
    h->bytes.freed += old_bytes - vt_min(new_bytes, old_bytes);
}

/* A run that got another size where it is counts as freed, and as allocated by who asked for that, as it does when it moves. */
static void note_resized(struct slab *s, void *p, size_t old_bytes, size_t n_bytes) {
    struct heap *h = vt__tls.real;
    if (vt__large_usable(s) == old_bytes) return;
    if (h != NULL) count_resized(h, old_bytes, vt__large_usable(s));
    bool is_drawn = h != NULL && is_large_drawn(h, s);
    if (vt_unlikely(s->state == SLAB_SAMPLED)) {
        s->state = SLAB_FREE; /* not sampled */
        (void)(is_drawn ? vt__probe_rests(p) : vt__probe_freed(p));
    }
    if (is_drawn) sample_large(h, s, p, n_bytes);
}

/* A large block stays a run: here or, if that is cheaper than a copy, elsewhere. NULL: it does not. What exact mode knows of the
 * old one is taken first: when it has moved, its place may be another's already. It counts as freed unless a copy that grows is to
 * come, which may fail: a block that shrinks counts as allocated anew where it is if there is no memory for a copy. */
static void *realloc_large(struct slab *s, void *p, size_t n_bytes) {
    size_t usable = vt__large_usable(s);
    struct vt_exact_known known = {0};
    if (is_exact()) known = vt__probe_exact_take(p);
    void *to = vt__large_realloc(s, p, n_bytes);
    /* It becomes a block of a class by a copy. What that leaves behind is cut off first: free would keep it for the next. */
    if (to == NULL && n_bytes < VT_GROWING_MIN && usable > VT_GROWING_MIN)
        if (vt__large_resize(s, VT_GROWING_MIN)) note_resized(s, p, usable, VT_GROWING_MIN);
    if (to == p)
        note_resized(s, p, usable, n_bytes);
    else if (vt__tls.real != NULL && vt__take_large(vt__tls.real, to, n_bytes) != NULL)
        count_freed(usable);
    bool is_freed = to != NULL || n_bytes <= usable;
    if (known.word[0] != 0 && is_freed) vt__probe_exact_taken_freed(known, usable);
    if (known.word[0] != 0 && !is_freed) vt__probe_exact_put_back(p, known);
    if (is_exact() && to != NULL) vt__probe_exact_allocated(to, n_bytes);
    return to;
}

static VT_COLD bool resize_brought(void *p, size_t n_bytes) {
    return vt__is_brought(p) && vt__brought_resize(p, n_bytes);
}

/* Half of a block may be left over before it moves to a smaller one. There is none smaller than the smallest. */
bool vt__size_stays(size_t usable, size_t n_bytes) {
    return n_bytes <= usable && (n_bytes >= usable / 2 || usable <= VT_BLOCK_ALIGN);
}

bool vt__resize_in_place(void *p, size_t n_bytes) {
    struct slab *s = head_of(p);
    if (n_bytes > PTRDIFF_MAX) return false;
    if (s == NULL) return resize_brought(p, n_bytes);
    if (!is_large(s)) return n_bytes <= usable_of(s);
    if (!vt__enter()) return false;
    size_t usable = vt__large_usable(s);
    bool is_done = vt__large_resize(s, n_bytes);
    if (is_done) note_resized(s, p, usable, n_bytes);
    vt__leave();
    vt__poll();
    if (is_done) (void)told_again(p, n_bytes);
    return is_done;
}

/* One that is not large stays as it was. One that is gives its end back, unless it is too small then, or who brought its memory
 * does not let it be cut: that is no reason to keep twice as much and more. */
bool vt__realloc_in_place(void *p, size_t n_bytes) {
    size_t usable = vt__usable_size(p);
    if (n_bytes >= usable || vt__size_stays(usable, n_bytes))
        return vt__resize_in_place(p, n_bytes);
    return n_bytes >= VT_GROWING_MIN && vt__resize_in_place(p, n_bytes) &&
           vt__size_stays(vt__usable_size(p), n_bytes);
}

/* The probes know already. */
static void *resized(const void *from, void *to, size_t n_bytes) {
    if (is_watched()) tell_hooks_resized(from, to, n_bytes);
    return to;
}

/* It stays where it is if it can, else it becomes one of the thread's. */
static VT_COLD void *realloc_outside(void *p, size_t n_bytes) {
    if (!vt__is_brought(p)) return vt__life_foreign_realloc(p, n_bytes);
    if (vt__realloc_in_place(p, n_bytes)) return told_again(p, n_bytes);
    return realloc_by_copy(p, vt__brought_usable(p), n_bytes);
}

/* It neither needs another OS page nor leaves one over, and is no smaller than such a block may be. */
static bool is_in_last_page(size_t usable, size_t n_bytes) {
    return n_bytes >= VT_GROWING_MIN && usable - n_bytes < VT_OS_PAGE;
}

void *vt__realloc(void *p, size_t n_bytes) {
    if (p == NULL) return vt__fast_malloc(n_bytes);
    if (n_bytes == 0) return vt__life_realloc_0(p);
    if (n_bytes > PTRDIFF_MAX) return no_memory(n_bytes);
    struct slab *s = head_of(p);
    if (s == NULL) return realloc_outside(p, n_bytes);
    size_t usable = usable_of(s);
    if (is_large(s)) {
        if (is_in_last_page(usable, n_bytes)) return stays(s, p, n_bytes);
        if (!vt__enter()) return no_memory(n_bytes);
        void *to = realloc_large(s, p, n_bytes);
        vt__leave();
        vt__poll();
        if (to != NULL) return resized(p, to, n_bytes);
    } else if (vt__size_stays(usable, n_bytes)) {
        return stays(s, p, n_bytes);
    }
    return realloc_by_copy(p, usable, n_bytes);
}
