/* slab.c - slabs and the bins they queue in: where a refill finds blocks, and what becomes of an emptied slab.
 *
 *   CURRENT   the bin's list[] comes from it
 *   PARTIAL   enough free blocks to be worth a visit; queued
 *   FULL      few or none; woken up by the owner's frees once 1/16 of it is free again (I3: `room` counts down)
 *
 * Refill order: what others freed; the current slab's freed blocks; its uncarved rest; the partial slab that has
 * waited longest, and so gathered most; a slab of a heap whose thread ended; new slices.
 *
 * Climate: malloc.   Owns: the slab fields marked "owner only".   Locks: none here; every caller owns the heap.
 */
#include "heap/impl.h"
#include "heap/fast.h"
#include "heap/stock.h"

#define SHARED_BLOCKS 4
#define RESIDENT_CARVE_BYTES KiB(16)
#define HOT_REFILLS 32     /* refilled again within this many refills of the heap: hot */
#define COLD_MIN_BYTES 256 /* below this a cold class's blocks share their first page anyway */
#define WORTH_MIN                                                                                  \
    4 /* of n blocks that go round, one in n - 1 mallocs takes the slow path: of two each one */

static const struct vt_class *class_of_slab(const struct slab *s) { return &vt__classes[s->cls]; }

#ifdef VT_WITH_AUDIT
/* The counters against the lists, block by block. */
bool vt__slab_is_valid(const struct slab *s) {
    const struct vt_class *k = class_of_slab(s);
    uintptr_t base = vt__slice_address(vt__slab_id(s));
    uint32_t n_free = 0;
    for (struct block *b = s->free; b != NULL; b = link_next(b, s->cls)) {
        uintptr_t offset = (uintptr_t)b - base;
        if (offset % k->block_bytes != 0 || offset / k->block_bytes >= s->carved) return false;
        if (++n_free > s->carved) return false;
    }
    if (s->state == SLAB_FULL)
        return s->carved == k->capacity && s->room == vt__wake_after(s) - n_free;
    return s->carved <= k->capacity && s->room == s->carved - n_free + (s->state == SLAB_CURRENT);
}
#endif

/* ---- queues ---- */

/* A heap without a thread: whoever acts for it holds the heaps lock. */
static bool is_pooled(struct heap *h) {
    return atomic_load_explicit(&h->state, memory_order_relaxed) == HEAP_POOLED;
}

static void full_push(struct heap *h, struct slab *s) {
    struct bin *bin = &h->bin[s->cls];
    s->state = SLAB_FULL;
    s->prev = 0;
    s->next = bin->full;
    if (bin->full != 0) vt__slab(bin->full)->prev = vt__slab_id(s);
    bin->full = vt__slab_id(s);
}

static void partial_append(struct heap *h, struct slab *s) {
    struct bin *bin = &h->bin[s->cls];
    s->state = SLAB_PARTIAL;
    s->next = 0;
    s->prev = bin->partial_last;
    if (bin->partial_last != 0)
        vt__slab(bin->partial_last)->next = vt__slab_id(s);
    else
        bin->partial = vt__slab_id(s);
    bin->partial_last = vt__slab_id(s);
}

void vt__queue_remove(struct heap *h, struct slab *s) {
    struct bin *bin = &h->bin[s->cls];
    if (s->prev != 0)
        vt__slab(s->prev)->next = s->next;
    else if (s->state == SLAB_FULL)
        bin->full = s->next;
    else
        bin->partial = s->next;
    if (s->next != 0)
        vt__slab(s->next)->prev = s->prev;
    else if (s->state == SLAB_PARTIAL)
        bin->partial_last = s->prev;
}

/* ---- slabs come and go ---- */

void vt__slab_change_owner(struct slab *s, uintptr_t owner) {
    uintptr_t inner = (owner & ~(uintptr_t)VT_OWNER_MEDIUM) | VT_OWNER_INNER;
    for (unsigned i = 1; i < class_of_slab(s)->n_slices; i++)
        atomic_store_explicit(&s[i].owner, inner, memory_order_relaxed);
    /* release: a thread that reads this owner and notifies it must find the slab as we left it */
    atomic_store_explicit(&s->owner, owner, memory_order_release);
}

struct slab *vt__slab_new(uintptr_t owner, unsigned cls) {
    return vt__slab_new_in(/* tract */ NULL, owner, cls);
}

static bool take_slices(struct vt_tract *t, unsigned cls, slab_id *first, bool *is_zero) {
    unsigned n = vt__classes[cls].n_slices;
    *is_zero = false;
    if (t == NULL && vt__tls.real != NULL && vt__stock_take(vt__tls.real, n, cls, first))
        return true;
    return vt__slices_take_in(t, n, /* align */ 1, cls, first, is_zero) == 0;
}

static void give_slices(slab_id first, unsigned n) {
    if (vt__tls.real != NULL && !vt__slices_are_in_tract(first))
        vt__stock_give(vt__tls.real, first, n);
    else
        vt__slices_give(first, n);
}

struct slab *vt__slab_new_in(struct vt_tract *t, uintptr_t owner, unsigned cls) {
    const struct vt_class *k = &vt__classes[cls];
    slab_id first;
    bool is_zero;
    if (!take_slices(t, cls, &first, &is_zero)) return NULL;
    /* no block lies behind 512 of 16 to 48 bytes, or one of 33 to 56 KiB */
    struct slab *s = vt__slab(first);
    if (!is_zero && k->has_tail && s->cls != cls)
        vt__purge_tail(first, k->n_slices, (size_t)k->capacity * k->block_bytes);
    s->recip = k->recip;
    s->room = 0;
    s->free = NULL;
    s->carved = 0;
    s->cls = (uint8_t)cls;
    s->delta = 0;
    s->was_zero = is_zero ? ZERO_AS_IT_CAME : ZERO_UNKNOWN;
    for (unsigned i = 1; i < k->n_slices; i++) {
        s[i].delta = (uint8_t)i;
        s[i].cls = VT_CLASS_NONE;
    }
    vt__slab_change_owner(s, owner);
    return s;
}

/* No block of s counts as free any more. */
static void clear_free_bits(struct slab *s) {
    if (VT_HARDEN > 0) __builtin_memset(s->is_free, 0, sizeof(s->is_free));
}

/* An empty slab that is in no queue: its slices go back. Free slices have no owner and no free bits. */
void vt__slab_release(struct slab *s) {
    unsigned n_slices = class_of_slab(s)->n_slices;
    VT_ASSERT(s->room == 0);
    /* all blocks are in `free`, so whatever comes back from others was freed twice */
    uint64_t remote = atomic_load_explicit(&s->remote, memory_order_relaxed);
    if (VT_HARDEN > 0 && remote != 0) vt__remote_double_free(s, remote);
    clear_free_bits(s);
    s->state = SLAB_FREE;
    s->recip = 0;
    s->carved = 0;
    for (unsigned i = 0; i < n_slices; i++)
        atomic_store_explicit(&s[i].owner, VT_OWNER_NONE, memory_order_relaxed);
    give_slices(vt__slab_id(s), n_slices);
}

/* ---- blocks ---- */

/* All blocks the owner freed, as a list; they count as out again. */
static struct block *take_freed(struct slab *s) {
    struct block *list = s->free;
    if (list == NULL) return NULL;
    s->free = NULL;
    s->room = (uint32_t)s->carved + 1; /* s is the current slab */
    clear_free_bits(s);
    return list;
}

static bool is_in_free(const struct slab *s, const struct block *b) {
    size_t k = number_in_slab(b, s);
    return (s->is_free[k / 32] >> (k % 32) & 1) != 0;
}

static void clear_free_bit(struct slab *s, const struct block *b) {
    size_t k = number_in_slab(b, s);
    s->is_free[k / 32] &= ~(UINT32_C(1) << (k % 32));
}

/* The first n of them, n > 0. */
static struct block *take_some(struct slab *s, uint32_t n) {
    struct block *list = s->free, *last = list;
    for (uint32_t i = 1;; i++) {
        if (VT_HARDEN > 0) clear_free_bit(s, last);
        if (i == n) break;
        last = link_next(last, s->cls);
    }
    s->free = link_next(last, s->cls);
    s->room += n;
    last->link = link_encode(NULL, last);
    return list;
}

/* n never used blocks in front of `rest`: ascending, or in the secure build in random order. */
static struct block *carve(struct slab *s, uint32_t n, struct block *rest) {
    size_t bytes = class_of_slab(s)->block_bytes;
    char *first = (char *)vt__slice_address(vt__slab_id(s)) + s->carved * bytes;
    struct block *b = rest;
#if VT_HARDEN > 1
    uint16_t order[VT_SLAB_MAX_BLOCKS];
    vt__secure_shuffle((struct heap *)atomic_load_explicit(&s->owner, memory_order_relaxed), order,
                       n);
#endif
    for (uint32_t i = n; i-- > 0;) {
#if VT_HARDEN > 1
        struct block *at = (struct block *)(first + order[i] * bytes);
#else
        struct block *at = (struct block *)(first + i * bytes);
#endif
        at->link = link_encode(b, at);
        b = at;
    }
    __atomic_store_n(&s->carved, s->carved + n, __ATOMIC_RELAXED); /* see check_block */
    s->room += n;
    return b;
}

/* A class that keeps coming back for more earns long lists; one that is asked for now and then gets by with little, so
 * that a program which uses many classes a little does not pay with a page or two for each. */
static uint32_t refills_since(struct heap *h, struct bin *bin) {
    uint32_t n = ++h->n_refills - bin->last_refill;
    bin->last_refill = h->n_refills;
    return n;
}

/* How many fresh blocks to carve at once. Memory that was never touched costs a page fault and counts as resident from
 * then on, so it is taken a page at a time, for a cold class block by block; memory that is resident already is carved
 * generously. */
static uint32_t carve_goal(const struct slab *s, bool hot) {
    size_t block_bytes = class_of_slab(s)->block_bytes;
    size_t bytes = s->was_zero ? VT_CARVE_BYTES : RESIDENT_CARVE_BYTES;
    if (!hot && block_bytes >= COLD_MIN_BYTES) bytes = block_bytes;
    return (uint32_t)vt_min(vt_max(bytes / block_bytes, 1), VT_LIST_MAX);
}

static uint32_t n_freed_of_current(const struct slab *s) {
    return (uint32_t)s->carved + 1 - s->room;
}

/* How many fresh blocks to put in front of n_freed that came back, for a hot class. A short list is worth another OS page, and so
 * is that of the only class in use; else only what lies in pages that are resident already is taken. */
static uint32_t top_up_goal(const struct slab *s, uint32_t n_freed, bool is_only_one) {
    const struct vt_class *k = class_of_slab(s);
    if (n_freed >= k->list_goal) return 0;
    uint32_t n = (uint32_t)vt_min(k->list_goal - n_freed, n_freed);
    if (n_freed < WORTH_MIN || is_only_one || !s->was_zero) return n;
    size_t carved_bytes = s->carved * k->block_bytes;
    return (uint32_t)vt_min(n, (vt_round_up(carved_bytes, VT_OS_PAGE) - carved_bytes) /
                                   k->block_bytes);
}

/* Blocks for the list of s's bin, from s: those that came back, topped up with fresh ones when they are few. */
static struct block *fill_from(struct heap *h, struct slab *s) {
    unsigned cls = s->cls;
    const struct vt_class *k = &vt__classes[cls];
    struct bin *bin = &h->bin[cls];
    uint32_t since = refills_since(h, bin);
    bool hot = since <= HOT_REFILLS;
    uint32_t countdown = h->countdown[cls];
    uint32_t most = countdown - 1; /* the one after these is to be sampled */
    uint32_t n_freed = n_freed_of_current(s);
    if (vt_unlikely(n_freed > most)) {
        h->countdown[cls] = countdown - most;
        h->listed_bytes += (uint64_t)most * vt__class_bytes(cls);
        bin->list_kind = LIST_AS_IT_CAME;
        return take_some(s, most);
    }
    struct block *list = take_freed(s);
    uint32_t want = 0;
    if (list == NULL)
        want = carve_goal(s, hot);
    else if (hot)
        want = top_up_goal(s, n_freed, since == 1);
    bin->list_kind = list == NULL && s->was_zero ? LIST_IS_ZERO : LIST_AS_IT_CAME;
    if (want > 0) want = (uint32_t)vt_min(vt_min(want, k->capacity - s->carved), most - n_freed);
    h->countdown[cls] = countdown - (n_freed + want);
    h->listed_bytes += (uint64_t)(n_freed + want) * k->block_bytes;
    return want > 0 ? carve(s, want, list) : list;
}

/* The current slab of a class is its spare when empty: one more in `room` keeps free from reporting that each time. */
void vt__make_current(struct heap *h, struct slab *s) {
    h->used |= UINT64_C(1) << s->cls;
    s->state = SLAB_CURRENT;
    s->room++;
    h->bin[s->cls].current = vt__slab_id(s);
}

static struct slab *unmake_current(struct heap *h, unsigned cls) {
    struct slab *s = vt__slab(h->bin[cls].current);
    h->bin[cls].current = 0;
    s->room--;
    return s;
}

/* Not worth another visit: all is carved, and of that so few blocks are at hand, free or just being handed out, that a program
 * which takes and gives one block would come here each time or every other time. */
static bool is_poor(const struct slab *s, uint32_t n_at_hand) {
    return s->carved == class_of_slab(s)->capacity &&
           n_at_hand < vt_max(vt__wake_after(s), WORTH_MIN);
}

/* A slab in no queue, with room == blocks out, to the one where it belongs. */
static void enqueue(struct heap *h, struct slab *s) {
    uint32_t n_freed = (uint32_t)s->carved - s->room;
    if (s->carved == class_of_slab(s)->capacity && n_freed < vt__wake_after(s)) {
        s->room = vt__wake_after(s) - n_freed;
        full_push(h, s);
    } else {
        partial_append(h, s);
    }
    VT_AUDIT(vt__slab_is_valid(s));
}

void vt__slab_take_over(struct heap *h, struct slab *s) {
    vt__slab_change_owner(s, (uintptr_t)h);
    h->small_taken_over += s->room * vt__class_bytes(s->cls);
}

void vt__slab_join(struct heap *h, struct slab *s) {
    h->used |= UINT64_C(1) << s->cls;
    vt__slab_take_over(h, s);
    enqueue(h, s);
}

/* A slab of an ended thread, or a new one, as the current one. NULL: no memory. */
static struct slab *fresh_slab(struct heap *h, unsigned cls) {
    if (!is_pooled(h) && vt__adopt(h, cls)) return vt__slab(h->bin[cls].current);
    struct slab *s = vt__slab_new((uintptr_t)h, cls);
    if (s != NULL) vt__make_current(h, s);
    return s;
}

/* Another slab becomes the current one: the old one is used up, or poor. Where blocks come back, one poor slab after the other
 * would be no better, perhaps the same again; a program that grows takes what they have. */
static struct slab *next_slab(struct heap *h, unsigned cls) {
    struct bin *bin = &h->bin[cls];
    bool comes_back = false;
    if (bin->current != 0) {
        struct slab *old = unmake_current(h, cls);
        comes_back = old->free != NULL;
        enqueue(h, old);
    }
    if (bin->partial == 0) return fresh_slab(h, cls);
    struct slab *s = vt__slab(bin->partial);
    if (comes_back && is_poor(s, (uint32_t)s->carved - s->room)) {
        struct slab *fresh = fresh_slab(h, cls);
        if (fresh != NULL) return fresh;
    }
    vt__queue_remove(h, s);
    vt__make_current(h, s);
    return s;
}

/* A slab of its own costs a thread a page or more per class. The first few blocks of a class therefore come from a heap that
 * all threads share: many threads that allocate a little stay small. Not in the first thread: most programs have one. */
static bool wants_shared(struct heap *h, struct bin *bin) {
    if (h->is_first || bin->n_shared >= SHARED_BLOCKS) return false;
    bin->n_shared++;
    bin->list_kind = LIST_AS_IT_CAME;
    return true;
}

bool vt__refill(struct heap *h, unsigned cls) {
    struct bin *bin = &h->bin[cls];
    VT_ASSERT(h->list[cls] == &vt__nil);
    if (bin->current == 0 && wants_shared(h, bin)) {
        struct block *b = vt__take_shared(cls);
        if (b != NULL) {
            h->countdown[cls]--;
            h->listed_bytes += vt__class_bytes(cls);
            h->used |= UINT64_C(1) << cls;
            b->link = link_encode(NULL, b); /* a list of one: the caller hands it out at once */
            h->list[cls] = b;
            return true;
        }
    }
    if (vt__has_remote(h)) vt__remote_collect(h, /* has_heaps_lock */ false);
    struct slab *s = bin->current != 0 ? vt__slab(bin->current) : NULL;
    if (s == NULL || is_poor(s, n_freed_of_current(s))) s = next_slab(h, cls);
    while (s != NULL) {
        VT_AUDIT(vt__slab_is_valid(s));
        struct block *list = fill_from(h, s);
        if (list != NULL) {
            h->list[cls] = list;
            VT_AUDIT(vt__slab_is_valid(s));
            return true;
        }
        s = next_slab(h, cls);
    }
    return false;
}

/* The list has led on to the slab's free blocks, b the last of them: one of the list was freed again by its owner. It was handed out
 * since, and so were those behind it, but none for the second time yet. If the program wrote into it, link_next names it; else only
 * the slab is known. */
VT_COLD VT_NORETURN static void led_astray(const struct slab *s, const struct block *b) {
    for (const struct block *at = s->free; at != NULL && at != b; at = link_next(at, s->cls)) {}
    if (s->free == b) vt__double_free(b, s);
    vt__double_free_near(s->free, s);
}

/* Called when b, the last ready block, is handed out: if some came back meanwhile, the next malloc need not leave the fast
 * path again. */
struct block *vt__refill_freed(struct heap *h, unsigned cls, const struct block *b) {
    struct slab *s = vt__slab(h->bin[cls].current);
    if (s->free == NULL) return (struct block *)&vt__nil;
    if (VT_HARDEN > 0 && vt_unlikely(is_in_free(s, b))) led_astray(s, b);
    if (is_poor(s, n_freed_of_current(s) + 1) || h->countdown[cls] <= 1)
        return (struct block *)&vt__nil;
    return fill_from(h, s);
}

/* ---- single blocks ---- */

/* It is not touched: that may cost a page fault, and the caller may have a lock. */
static struct block *fresh_block(struct slab *s) {
    char *first = (char *)vt__slice_address(vt__slab_id(s));
    struct block *b = (struct block *)(first + s->carved * class_of_slab(s)->block_bytes);
    __atomic_store_n(&s->carved, s->carved + 1, __ATOMIC_RELAXED); /* see check_block */
    s->room++;
    return b;
}

/* The block freed last, so that as little memory as possible is touched; else a fresh one. */
struct block *vt__slab_take(struct slab *s, bool *is_zero) {
    struct block *b = s->free;
    *is_zero = false;
    if (b != NULL) {
        s->free = link_next(b, s->cls);
        s->room++;
    } else {
        if (s->carved == class_of_slab(s)->capacity) return NULL;
        *is_zero = s->was_zero != ZERO_UNKNOWN;
        b = fresh_block(s);
    }
    clear_free_bit(s, b);
    return b;
}

struct block *vt__take_one(struct heap *h, unsigned cls) {
    if (vt__has_remote(h)) vt__remote_collect(h, is_pooled(h));
    struct bin *bin = &h->bin[cls];
    struct slab *s = bin->current != 0 ? vt__slab(bin->current) : next_slab(h, cls);
    for (; s != NULL; s = next_slab(h, cls)) {
        bool is_zero;
        VT_AUDIT(vt__slab_is_valid(s));
        struct block *b = vt__slab_take(s, &is_zero);
        if (b != NULL) return b;
    }
    return NULL;
}

/* The owner may be changing other bits of the word, but the bit of a block that we hold stands still, and it was carved
 * before we could hold it. */
VT_READS_RACILY bool vt__slab_is_out(const struct slab *s, size_t k) {
    return k < s->carved && (s->is_free[k / 32] >> (k % 32) & 1) == 0;
}

/* ---- frees that need attention ---- */

static struct heap *owner_of(const struct slab *s) {
    return heap_of_owner(atomic_load_explicit(&s->owner, memory_order_relaxed));
}

static void wake(struct slab *s) {
    struct heap *h = owner_of(s);
    vt__queue_remove(h, s);
    s->room = (uint32_t)s->carved - vt__wake_after(s);
    partial_append(h, s);
}

static void release_queued(struct slab *s) {
    vt__queue_remove(owner_of(s), s);
    vt__slab_release(s);
}

void vt__slab_attend(struct slab *s) {
    if (s->state == SLAB_FULL) wake(s);
    VT_AUDIT(vt__slab_is_valid(s));
    if (s->room == 0) release_queued(s);
}

void vt__slab_put_chain(struct slab *s, struct block *head, struct block *tail, uint32_t n) {
    tail->link = link_encode(s->free, tail);
    s->free = head;
    if (n < s->room) {
        s->room -= n;
        return;
    }
    n -= s->room;
    s->room = 0;
    if (s->state == SLAB_FULL) wake(s);
    s->room -= n;
    if (s->room == 0) release_queued(s);
}

void vt__slab_give_back(struct slab *s, struct block *b) {
#if VT_HARDEN > 0
    if (mark_free(s, number_in_slab(b, s))) vt__double_free(b, s);
#endif
    b->link = link_encode(s->free, b);
    s->free = b;
    if (--s->room == 0) vt__slab_attend(s);
}

void vt__slab_start_over(struct slab *s) {
    struct heap *h = owner_of(s);
    s->free = NULL;
    s->carved = 0;
    s->was_zero = ZERO_AS_IT_CAME;
    clear_free_bits(s);
    if (s->state == SLAB_CURRENT) {
        s->room = 1;
        return;
    }
    if (s->state != SLAB_SHARED) vt__queue_remove(h, s); /* else all of it was out: in no queue */
    s->room = 0;
    vt__slab_release(s);
}

/* Ready blocks go back to their slab. */
static void forget_list(struct heap *h, unsigned cls) {
    struct block *b = h->list[cls];
    if (b == &vt__nil) return;
    uint32_t n = 0;
    h->list[cls] = (struct block *)&vt__nil;
    struct slab *s = vt__slab(h->bin[cls].current);
    for (; b != NULL; n++) {
        struct block *next = link_next(b, cls);
        vt__slab_give_back(s, b);
        b = next;
    }
    h->draw[cls].left -= n;
    h->listed_bytes -= n * vt__class_bytes(cls);
    vt__draws_settle(h, cls);
    /* see draw.c */
    h->countdown[cls] = h->draw[cls].left = 0;
}

struct slab *vt__slab_let_go(struct heap *h, unsigned cls) {
    forget_list(h, cls);
    return h->bin[cls].current != 0 ? unmake_current(h, cls) : NULL;
}

void vt__heap_drop_empty(struct heap *h, bool has_heaps_lock) {
    vt__remote_collect(h, has_heaps_lock);
    for (unsigned c = 0; c < VT_N_SMALL; c++) {
        struct slab *s = vt__slab_let_go(h, c);
        if (s == NULL) continue;
        if (s->room == 0)
            vt__slab_release(s);
        else
            partial_append(h,
                           s); /* its uncarved rest or freed blocks are found again by a refill */
    }
}

#ifdef VT_WITH_AUDIT
void vt__heap_audit(void) {
    struct heap *h = vt__tls.real;
    if (h == NULL) return;
    for (unsigned c = 0; c < VT_N_SMALL; c++) {
        const struct bin *bin = &h->bin[c];
        if (bin->current != 0) VT_ASSERT(vt__slab_is_valid(vt__slab(bin->current)));
        for (slab_id i = bin->partial; i != 0; i = vt__slab(i)->next)
            VT_ASSERT(vt__slab_is_valid(vt__slab(i)));
        for (slab_id i = bin->full; i != 0; i = vt__slab(i)->next)
            VT_ASSERT(vt__slab_is_valid(vt__slab(i)));
    }
}
#endif
