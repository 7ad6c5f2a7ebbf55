/* exact.c - every allocation and every free, by stack.
 *
 *   malloc   stack -> id; the thread's table[id].alloc += ; the block's note = id
 *   free     the block's note -> id; the thread's table[id].freed +=
 *
 * A thread adds to its own table, so nobody waits; a reader adds the tables up. Threads that are ending and have no heap any more
 * share one. Notes lie in a reservation of one OS page per
 * slice of the window, which becomes memory as it is written: 8 bytes per block.
 *
 * Off, nothing of this is reached: malloc and free of a thread take their fast paths, which the heap cuts while it is on.
 *
 * Climate: malloc, inside a slow path of the heap.   Owns: notes and tables.   Locks: probe, for a table that grows, and for the
 * shared one.
 */
#include "probe/exact.h"

#include <errno.h>
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

#define NOTES_PER_SLICE (VT_OS_PAGE / sizeof(uint64_t))
#define COMMIT_SLICES 64 /* notes become accessible for so many slices at a time */
#define FIRST_SLOTS 1024
#define SLACK_MAX ((1u << 24) - 1)
#define ALLOCATIONS_PER_POLL 64 /* of the modules, which takes as long as counting one allocation */
#define TELL_BYTES KiB(64)      /* a thread tells the others what it allocated in such steps */

/* id of the stack, bytes given above those asked for, and the epoch in which it was written; all 0: none. */
struct note {
    uint32_t stack;
    uint32_t slack_and_epoch; /* bits 31..8, 7..0 */
};

struct table {
    struct table *next;
    _Atomic(struct vt_exact_row *) rows; /* open addressing by stack; stack 0: empty */
    uint32_t n_slots, n;
    uint32_t n_allocated;
    int64_t untold_alloc, untold_live;
    struct vt_frames frames; /* too large for the stack of whoever mallocs */
};

static struct {
    _Atomic bool is_on;
    _Atomic uint8_t
        epoch; /* of the notes: those of an earlier time mean nothing. Relaxed: on, off and on again in one malloc is as it falls */
    struct note *notes;
    size_t n_slices;
    _Atomic uint8_t *is_committed; /* by COMMIT_SLICES */
    struct table *tables;
    struct table of_others; /* who has no heap; under the lock */
    _Atomic int64_t alloc_bytes, live_bytes;
} exact;

/* ---- notes ---- */

static uint8_t epoch_now(void) { return atomic_load_explicit(&exact.epoch, memory_order_relaxed); }

static int open_notes(void) {
    void *at = NULL;
    size_t n = vt__heap_max_slices();
    if (exact.notes != NULL) return 0;
    int err = vt__os_map(vt_round_up(n / COMMIT_SLICES + 1, VT_OS_PAGE), &at);
    if (err != 0) return err;
    exact.is_committed = at;
    err = vt__os_reserve(n * VT_OS_PAGE, VT_OS_PAGE, &at);
    if (err != 0) return err;
    exact.n_slices = n;
    exact.notes = at;
    return 0;
}

static struct note *note_of(size_t slice, size_t number) {
    _Atomic uint8_t *is_committed = &exact.is_committed[slice / COMMIT_SLICES];
    struct note *first = exact.notes + slice * NOTES_PER_SLICE;
    if (vt_unlikely(atomic_load_explicit(is_committed, memory_order_acquire) == 0)) {
        struct note *from = exact.notes + slice / COMMIT_SLICES * COMMIT_SLICES * NOTES_PER_SLICE;
        size_t n_slices =
            vt_min(COMMIT_SLICES, exact.n_slices - slice / COMMIT_SLICES * COMMIT_SLICES);
        if (vt__os_commit(from, n_slices * VT_OS_PAGE) != 0) return NULL;
        atomic_store_explicit(is_committed, 1, memory_order_release);
    }
    return first + number;
}

/* ---- tables ---- */

static struct vt_exact_row *find_in(struct vt_exact_row *rows, uint32_t n_slots, uint32_t stack) {
    uint32_t i = (uint32_t)vt__mix(stack) & (n_slots - 1);
    while (rows[i].stack != 0 && rows[i].stack != stack) i = (i + 1) & (n_slots - 1);
    return &rows[i];
}

/* Twice the rows. The old ones stay where they are: a reader may be among them. */
static bool grow(struct table *t) {
    uint32_t n_slots = t->n_slots == 0 ? FIRST_SLOTS : t->n_slots * 2;
    void *at = NULL;
    struct vt_exact_row *old = atomic_load_explicit(&t->rows, memory_order_relaxed);
    if (vt__os_map(vt_round_up(n_slots * sizeof(*old), VT_OS_PAGE), &at) != 0) return false;
    struct vt_exact_row *rows = at;
    for (uint32_t i = 0; i < t->n_slots; i++)
        if (old[i].stack != 0) *find_in(rows, n_slots, old[i].stack) = old[i];
    bool is_locked = t == &exact.of_others;
    if (!is_locked) vt_lock(&vt__probe_lock);
    atomic_store_explicit(&t->rows, rows, memory_order_release);
    t->n_slots = n_slots;
    if (!is_locked) vt_unlock(&vt__probe_lock);
    return true;
}

static struct vt_exact_row *row_of(struct table *t, uint32_t stack) {
    if (vt_unlikely(2 * (t->n + 1) > t->n_slots) && !grow(t) && t->n + 1 >= t->n_slots) return NULL;
    struct vt_exact_row *r =
        find_in(atomic_load_explicit(&t->rows, memory_order_relaxed), t->n_slots, stack);
    if (r->stack == 0) {
        r->stack = stack;
        t->n++;
    }
    return r;
}

static struct table *table_of_thread(void) {
    void **slot = vt__heap_probe_slot();
    if (slot == NULL) return NULL;
    if (vt_likely(*slot != NULL)) return *slot;
    struct table *t = vt__arena_take(sizeof(*t), VT_CACHE_LINE);
    if (t == NULL) return NULL;
    vt_lock(&vt__probe_lock);
    t->next = exact.tables;
    exact.tables = t;
    vt_unlock(&vt__probe_lock);
    *slot = t;
    return t;
}

/* The table to add to; to be given back. */
static struct table *take_table(void) {
    struct table *t = table_of_thread();
    if (vt_likely(t != NULL)) return t;
    vt_lock(&vt__probe_lock);
    return &exact.of_others;
}

static void give_table(struct table *t) {
    if (vt_unlikely(t == &exact.of_others)) vt_unlock(&vt__probe_lock);
}

/* ---- what the heap tells ---- */

static void tell(struct table *t, int64_t alloc_bytes, int64_t live_bytes) {
    t->untold_alloc += alloc_bytes;
    t->untold_live += live_bytes;
    if (t->untold_alloc < (int64_t)TELL_BYTES && t->untold_live > -(int64_t)TELL_BYTES) return;
    /* relaxed: sums that drive dumps; they may lag by TELL_BYTES for each thread */
    int64_t alloc =
        atomic_fetch_add_explicit(&exact.alloc_bytes, t->untold_alloc, memory_order_relaxed);
    int64_t live =
        atomic_fetch_add_explicit(&exact.live_bytes, t->untold_live, memory_order_relaxed);
    vt__sample_pull_triggers((double)(alloc + t->untold_alloc), (double)(live + t->untold_live));
    t->untold_alloc = t->untold_live = 0;
}

static uint32_t slack_of(const struct vt_heap_block *b, size_t n_bytes) {
    return (uint32_t)vt_min(b->n_bytes - vt_min(n_bytes, b->n_bytes), SLACK_MAX);
}

static struct note remember(struct table *t, const struct vt_heap_block *b, size_t n_bytes) {
    vt__stack_here(&t->frames);
    uint32_t stack = vt__depot_put(&t->frames);
    struct vt_exact_row *r = stack != 0 ? row_of(t, stack) : NULL;
    if (r == NULL) return (struct note){0};
    uint32_t slack = slack_of(b, n_bytes);
    r->n_alloc++;
    r->alloc_bytes += b->n_bytes;
    r->alloc_requested_bytes += b->n_bytes - slack;
    tell(t, (int64_t)b->n_bytes, (int64_t)b->n_bytes);
    return (struct note){stack, slack << 8 | epoch_now()};
}

void vt__probe_exact_allocated(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    if (!vt__heap_block(p, &b)) return;
    struct note *note = note_of(b.slice, b.number);
    if (note == NULL) return;
    struct table *t = table_of_thread();
    vt__stack_poll_modules(/* always */ t == NULL || ++t->n_allocated % ALLOCATIONS_PER_POLL == 0);
    t = take_table();
    *note = remember(t, &b, n_bytes);
    give_table(t);
}

/* The note of p, if it is one of now; NULL: it is from before, or p is no block. */
static struct note *known_note(const void *p, struct vt_heap_block *b) {
    struct note *note = vt__heap_block(p, b) ? note_of(b->slice, b->number) : NULL;
    if (note == NULL || note->stack == 0 || (note->slack_and_epoch & 0xff) != epoch_now())
        return NULL;
    return note;
}

void vt__probe_exact_requested(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    struct note *note = known_note(p, &b);
    if (note == NULL) return;
    struct table *t = take_table();
    struct vt_exact_row *r = row_of(t, note->stack);
    uint32_t slack = slack_of(&b, n_bytes);
    if (r != NULL) r->alloc_requested_bytes -= slack - (note->slack_and_epoch >> 8);
    note->slack_and_epoch = slack << 8 | epoch_now();
    give_table(t);
}

/* One more free of such a block, or one less (-1). */
static void count_free(const struct note *note, const struct vt_heap_block *b, int64_t by) {
    struct table *t = take_table();
    struct vt_exact_row *r = row_of(t, note->stack);
    if (r != NULL) {
        r->n_freed += (uint64_t)by;
        r->freed_bytes += (uint64_t)by * b->n_bytes;
        r->freed_requested_bytes += (uint64_t)by * (b->n_bytes - (note->slack_and_epoch >> 8));
        tell(t, 0, -by * (int64_t)b->n_bytes);
    }
    give_table(t);
}

uint64_t vt__probe_exact_freed(const void *p) {
    struct vt_heap_block b;
    struct note *note = known_note(p, &b);
    if (note == NULL) return 0;
    struct note known = *note;
    *note = (struct note){0};
    count_free(&known, &b, 1);
    return (uint64_t)known.stack << 32 | known.slack_and_epoch;
}

void vt__probe_exact_not_freed(const void *p, uint64_t known) {
    struct vt_heap_block b;
    if (!vt__heap_block(p, &b)) return;
    struct note *note = note_of(b.slice, b.number);
    if (note == NULL) return;
    *note = (struct note){(uint32_t)(known >> 32), (uint32_t)known};
    count_free(note, &b, -1);
}

/* ---- on, off, reading ---- */

bool vt__exact_is_set(void) { return atomic_load_explicit(&exact.is_on, memory_order_relaxed); }

int vt__exact_set(bool on) {
    if (on == vt__exact_is_set()) return 0;
    if (!vt__probe_enter()) return -EAGAIN;
    int err = on ? open_notes() : 0;
    if (err == 0 && on)
        atomic_store_explicit(&exact.epoch, (uint8_t)(epoch_now() % 255 + 1), memory_order_relaxed);
    if (err == 0) atomic_store_explicit(&exact.is_on, on, memory_order_relaxed);
    vt__probe_leave();
    if (err == 0) vt__heap_set_exact(on);
    return err;
}

/* Approximate while threads allocate: a row may be read between two of its fields. */
VT_READS_RACILY static void add_row(struct vt_exact_row *sum, const struct vt_exact_row *r) {
    sum->n_alloc += r->n_alloc;
    sum->alloc_bytes += r->alloc_bytes;
    sum->alloc_requested_bytes += r->alloc_requested_bytes;
    sum->n_freed += r->n_freed;
    sum->freed_bytes += r->freed_bytes;
    sum->freed_requested_bytes += r->freed_requested_bytes;
}

/* As find_in, of a table whose thread may be adding a row: it is seen, or not yet. */
VT_READS_RACILY static void add_table(struct vt_exact_row *sum, const struct table *t) {
    const struct vt_exact_row *rows = atomic_load_explicit(&t->rows, memory_order_relaxed);
    if (rows == NULL) return;
    uint32_t i = (uint32_t)vt__mix(sum->stack) & (t->n_slots - 1);
    while (rows[i].stack != 0 && rows[i].stack != sum->stack) i = (i + 1) & (t->n_slots - 1);
    add_row(sum, &rows[i]);
}

static void add_tables(struct vt_exact_row *sum) {
    for (const struct table *t = exact.tables; t != NULL; t = t->next) add_table(sum, t);
    add_table(sum, &exact.of_others);
}

bool vt__exact_next(uint32_t *cursor, struct vt_exact_row *out) {
    while (*cursor < vt__depot_count()) {
        *out = (struct vt_exact_row){.stack = ++*cursor};
        if (!vt__probe_enter()) return false;
        add_tables(out);
        vt__probe_leave();
        if (out->n_alloc != 0) return true;
    }
    return false;
}
