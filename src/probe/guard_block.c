/* guard_block.c - see guard_block.h. Climate: malloc.   Owns: the records.   Locks: probe. */
#include "probe/guard_block.h"

#include <errno.h>
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "probe/exact.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

#define BEFORE_BYTES 32
#define AFTER_BYTES 16
#define FRESH_BYTE 0xab
#define PATTERN                                                                                    \
    UINT64_C(0xe1ab9c4d5e2f7083) /* no address, and no small number in any of its parts */
#define QUEUE_BLOCKS 1024
#define MASSIVE (SIZE_MAX / 2)

enum state { GONE, LIVE, WAITING };

struct record {
    uintptr_t p;
    unsigned char *base;
    size_t n_bytes;
    size_t block_bytes;  /* all of it */
    size_t mapped_bytes; /* it has a mapping of its own; 0: it has not */
    uintptr_t thread;    /* who freed it */
    uint32_t stack;
    uint32_t next; /* in the queue */
    uint8_t state, made_by;
};

static struct {
    struct vt_guard_options options;
    struct vt_rows records;
    uint32_t first, last; /* of the queue */
    size_t n_queued, queued_bytes;
    bool is_ending; /* a fault is being told: the queue stays as it is */
    _Atomic(const struct vt_heap_hooks *) hooks;
} guard = {.records = {.row_bytes = sizeof(struct record)}};

/* relaxed: any moment will do for a program that changes its mind */
static bool is_on(const bool *option) { return __atomic_load_n(option, __ATOMIC_RELAXED); }

static struct record *record(uint32_t id) { return vt__row(&guard.records, id); }
static uint64_t hash_of(uint32_t id) { return vt__mix(record(id)->p); }
static bool is_at(uint32_t id, const void *p) { return record(id)->p == (uintptr_t)p; }
static struct vt_index by_address = {.hash_of = hash_of};

void vt__guard_set(const struct vt_guard_options *options) { guard.options = *options; }

void vt__guard_set_hooks(const struct vt_heap_hooks *hooks) {
    /* release: what they need is there before they are called; pairs with the acquire in hooks_now */
    atomic_store_explicit(&guard.hooks, hooks, memory_order_release);
}

static const struct vt_heap_hooks *hooks_now(void) {
    return atomic_load_explicit(&guard.hooks, memory_order_acquire);
}

static uint32_t find(const void *p) {
    return vt__index_find(&by_address, vt__mix((uintptr_t)p), is_at, p);
}

/* ---- what is around a block ---- */

static unsigned char pattern_at(size_t i) { return (unsigned char)(PATTERN >> (i % 8 * 8)); }

static void put_pattern(unsigned char *at, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) __builtin_memcpy(at + i, &(uint64_t){PATTERN}, 8);
    for (; i < n; i++) at[i] = pattern_at(i);
}

static bool has_pattern(const unsigned char *at, size_t n) {
    uint64_t word;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __builtin_memcpy(&word, at + i, 8);
        if (word != PATTERN) return false;
    }
    for (; i < n; i++)
        if (at[i] != pattern_at(i)) return false;
    return true;
}

/* With a fence there is nothing behind it but what rounding leaves. */
static size_t after_bytes(const struct record *r) {
    return (size_t)(r->base + r->block_bytes - (unsigned char *)r->p) - r->n_bytes;
}

static unsigned char *before(const struct record *r) {
    return (unsigned char *)r->p - BEFORE_BYTES;
}

static void fault(enum vt_fault what, const struct record *r, const void *p, enum vt_made_by by) {
    struct vt_guard_fault f = {.fault = what, .p = p, .freed_by = by};
    if (r != NULL) {
        f.made_by = (enum vt_made_by)r->made_by;
        f.base = r->base;
        f.block_bytes = r->block_bytes;
        f.stack = r->stack;
        f.thread = r->thread;
    }
    guard.is_ending = true;
    vt__probe_leave(); /* the last words may want a lock */
    if (vt__life_start() == 0) guard.options.fault(&f);
    vt__os_abort();
}

static void check_around(const struct record *r) {
    const unsigned char *p = (const unsigned char *)r->p;
    if (!has_pattern(before(r), BEFORE_BYTES)) fault(VT_FAULT_BEFORE, r, p, 0);
    if (!has_pattern(p + r->n_bytes, after_bytes(r))) fault(VT_FAULT_AFTER, r, p, 0);
}

static void check_freed(const struct record *r) {
    for (size_t i = 0; i < r->block_bytes; i++)
        if (r->base[i] != VT_FREED_BYTE) fault(VT_FAULT_WRITTEN, r, (const void *)r->p, 0);
}

/* ---- making ---- */

static bool make_in_heap(struct record *r, size_t align, size_t n_bytes) {
    size_t n_before = vt_max(align, BEFORE_BYTES);
    r->block_bytes = n_before + n_bytes + AFTER_BYTES;
    void *base = vt__aligned_alloc(vt_max(align, 16), r->block_bytes);
    r->base = base;
    r->p = (uintptr_t)base + n_before;
    if (base == NULL) return false;
    if (vt_unlikely(vt__exact_is_set()) && vt__enter()) {
        vt__probe_exact_requested(base, n_bytes);
        vt__leave();
    }
    return true;
}

static bool make_fenced(struct record *r, size_t align, size_t n_bytes) {
    size_t n_user = vt_round_up(vt_max(n_bytes, 1), vt_max(align, 16));
    size_t n_pages = vt_round_up(n_user + BEFORE_BYTES, VT_OS_PAGE);
    void *at = NULL;
    if (vt__os_reserve(n_pages + VT_OS_PAGE, VT_OS_PAGE, &at) != 0) return false;
    r->mapped_bytes = n_pages + VT_OS_PAGE;
    if (vt__os_commit(at, n_pages) != 0) {
        vt__os_unmap(at, r->mapped_bytes);
        return false;
    }
    char *fence = (char *)at + n_pages;
    if (is_on(guard.options.is_fence_readable))
        vt__os_protect(fence, VT_OS_PAGE, /* readable */ true);
    r->p = (uintptr_t)fence - n_user;
    r->base = (unsigned char *)r->p - BEFORE_BYTES;
    r->block_bytes = BEFORE_BYTES + n_user;
    return true;
}

static bool remember(const struct record *made) {
    uint32_t id = find((const void *)made->p); /* one that is gone */
    bool is_new = id == 0;
    if (is_new) id = vt__row_add(&guard.records);
    if (id == 0) return false;
    *record(id) = *made;
    return !is_new || vt__index_add(&by_address, id);
}

static void let_go(const struct record *r);

static void *make(size_t align, size_t n_bytes, enum vt_made_by by) {
    struct record made = {.state = LIVE, .made_by = (uint8_t)by};
    bool is_made = n_bytes < MASSIVE && align < MASSIVE &&
                   (is_on(guard.options.has_fence) ? make_fenced(&made, align, n_bytes)
                                                   : make_in_heap(&made, align, n_bytes));
    if (is_made) {
        made.n_bytes = n_bytes;
        put_pattern(before(&made), BEFORE_BYTES);
        put_pattern((unsigned char *)made.p + n_bytes, after_bytes(&made));
        is_made = vt__probe_enter();
    }
    if (!is_made) {
        errno = ENOMEM;
        return NULL;
    }
    is_made = remember(&made);
    vt__probe_leave();
    if (is_made) return (void *)made.p;
    let_go(&made);
    errno = ENOMEM;
    return NULL;
}

static void trace(const char *what, size_t n_bytes, const void *p) {
    if (is_on(guard.options.is_traced)) guard.options.trace(what, n_bytes, p);
}

/* Heap profiles and hooks know of what the program asked for, not of what is around it. */
static void *told(void *p, size_t n_bytes) {
    const struct vt_heap_hooks *hooks = hooks_now();
    if (hooks != NULL) hooks->allocated(p, n_bytes);
    return p;
}

static void *traced(const char *what, size_t n_bytes, void *p) {
    if (p != NULL) trace(what, n_bytes, p);
    return p;
}

VT_INLINE void *alloc(size_t align, size_t n_bytes, enum vt_made_by by) {
    if (vt__life_start() != 0) return NULL;
    void *p = make(align, n_bytes, by);
    if (p != NULL) __builtin_memset(p, FRESH_BYTE, n_bytes);
    return told(p, n_bytes);
}

void *vt__guard_alloc(size_t align, size_t n_bytes, enum vt_made_by by) {
    return traced("malloc", n_bytes, alloc(align, n_bytes, by));
}

void *vt__guard_calloc(size_t n, size_t each_bytes) {
    size_t n_bytes;
    if (__builtin_mul_overflow(n, each_bytes, &n_bytes) || vt__life_start() != 0) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = make(1, n_bytes, VT_MADE_BY_MALLOC);
    if (p != NULL) __builtin_memset(p, 0, n_bytes);
    return traced("malloc", n_bytes, told(p, n_bytes));
}

/* ---- freeing ---- */

static void let_go(const struct record *r) {
    unsigned char *end = r->base + r->block_bytes;
    if (r->mapped_bytes == 0) {
        if (is_on(guard.options.is_reused)) vt__free(r->base);
        return;
    }
    unsigned char *start = end + VT_OS_PAGE - r->mapped_bytes;
    if (is_on(guard.options.keeps_fenced) || !is_on(guard.options.is_reused))
        vt__os_protect(start, r->mapped_bytes, /* readable */ false);
    else
        vt__os_unmap(start, r->mapped_bytes);
}

static bool is_too_long(void) {
    int32_t most = __atomic_load_n(guard.options.queue_bytes, __ATOMIC_RELAXED);
    size_t most_bytes = most > 0 ? (size_t)most : 0;
    return !guard.is_ending && (guard.n_queued > QUEUE_BLOCKS || guard.queued_bytes > most_bytes);
}

/* The oldest of the queue, which may be let go; false: there is room yet. */
static bool leave_queue(struct record *out) {
    if (guard.first == 0 || !is_too_long()) return false;
    struct record *r = record(guard.first);
    check_freed(r);
    guard.first = r->next;
    if (guard.first == 0) guard.last = 0;
    guard.n_queued--;
    guard.queued_bytes -= r->block_bytes;
    r->state = GONE;
    *out = *r;
    return true;
}

static void join_queue(uint32_t id, struct record *r) {
    static struct vt_frames frames; /* under the lock */
    r->stack = vt__stack_id_here(&frames, NULL);
    r->thread = (uintptr_t)__builtin_thread_pointer();
    r->state = WAITING;
    r->next = 0;
    __builtin_memset(r->base, VT_FREED_BYTE, r->block_bytes);
    if (guard.last != 0)
        record(guard.last)->next = id;
    else
        guard.first = id;
    guard.last = id;
    guard.n_queued++;
    guard.queued_bytes += r->block_bytes;
}

/* Under the lock: the record of a block that may be freed this way. */
static uint32_t checked(const void *p, enum vt_made_by by, size_t n_bytes) {
    uint32_t id = find(p);
    const struct record *r = id != 0 ? record(id) : NULL;
    if (r == NULL) fault(VT_FAULT_NEVER_MADE, NULL, p, by);
    if (r->state != LIVE) fault(VT_FAULT_FREED_BEFORE, r, p, by);
    check_around(r);
    if (r->made_by != by) fault(VT_FAULT_MISMATCH, r, p, by);
    if (n_bytes != VT_SIZE_NOT_SAID && n_bytes != r->n_bytes) fault(VT_FAULT_SIZE, r, p, by);
    return id;
}

/* It may be the first call of the program, before anything was set. */
static VT_COLD void free_nothing(void) {
    if (vt__life_start() == 0) trace("free", 0, NULL);
}

void vt__guard_free(void *p, enum vt_made_by by, size_t n_bytes) {
    const struct vt_heap_hooks *hooks = hooks_now();
    struct record gone;
    int saved = errno;
    if (hooks != NULL) hooks->freed(p);
    if (p == NULL) {
        free_nothing();
        errno = saved;
        return;
    }
    if (!vt__probe_enter()) return; /* in a handler: it stays */
    uint32_t id = checked(p, by, n_bytes);
    join_queue(id, record(id));
    const void *base = record(id)->base;
    size_t freed_bytes = record(id)->n_bytes;
    bool is_left = leave_queue(&gone);
    vt__probe_leave();
    trace("free", freed_bytes, p);
    if (vt__exact_is_set() &&
        vt__enter()) { /* the heap will say so later, when nobody counts it any more */
        (void)vt__probe_exact_freed(base);
        vt__leave();
    }
    while (is_left) {
        let_go(&gone);
        if (!vt__probe_enter()) break;
        is_left = leave_queue(&gone);
        vt__probe_leave();
    }
    errno = saved;
}

void *vt__guard_realloc(void *p, size_t n_bytes) {
    if (p == NULL) return vt__guard_alloc(1, n_bytes, VT_MADE_BY_MALLOC);
    if (n_bytes == 0) {
        vt__guard_free(p, VT_MADE_BY_MALLOC, VT_SIZE_NOT_SAID);
        return NULL;
    }
    if (!vt__probe_enter()) return NULL;
    size_t old_bytes = record(checked(p, VT_MADE_BY_MALLOC, VT_SIZE_NOT_SAID))->n_bytes;
    vt__probe_leave();
    void *to = alloc(1, n_bytes, VT_MADE_BY_MALLOC);
    if (to == NULL) return NULL;
    __builtin_memcpy(to, p, vt_min(old_bytes, n_bytes));
    vt__guard_free(p, VT_MADE_BY_MALLOC, VT_SIZE_NOT_SAID);
    return traced("realloc", n_bytes, to);
}

/* ---- asking ---- */

size_t vt__guard_size(const void *p) {
    if (p == NULL || !vt__probe_enter()) return 0;
    uint32_t id = find(p);
    if (id == 0) fault(VT_FAULT_NEVER_MADE, NULL, p, 0);
    size_t n_bytes = record(id)->n_bytes;
    vt__probe_leave();
    return n_bytes;
}

void vt__guard_check(const void *p, enum vt_made_by by) {
    if (p == NULL || !vt__probe_enter()) return;
    (void)checked(p, by, VT_SIZE_NOT_SAID);
    vt__probe_leave();
}

void vt__guard_check_all(void) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = 1; id <= guard.records.n; id++)
        if (record(id)->state == LIVE) check_around(record(id));
    vt__probe_leave();
}

void vt__guard_check_queue(void) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = guard.first; id != 0; id = record(id)->next) check_freed(record(id));
    vt__probe_leave();
}

size_t vt__guard_queued_bytes(void) {
    size_t n_bytes = 0;
    if (!vt__probe_enter()) return 0;
    for (uint32_t id = guard.first; id != 0; id = record(id)->next)
        if (record(id)->mapped_bytes == 0) n_bytes += vt__usable_size(record(id)->base);
    vt__probe_leave();
    return n_bytes;
}

void vt__guard_visit(void (*visit)(size_t n_bytes, void *arg), void *arg) {
    if (!vt__probe_enter()) return;
    for (uint32_t id = 1; id <= guard.records.n; id++)
        if (record(id)->state == LIVE) visit(record(id)->n_bytes, arg);
    vt__probe_leave();
}
