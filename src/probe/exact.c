/* exact.c - every allocation and every free, by stack.
 *
 *   malloc   stack -> id; the thread's table[id].alloc += ; the block's note = id
 *   free     the block's note -> id; the thread's table[id].freed +=
 *
 * A thread adds to its own table, so nobody waits; a reader adds the tables up. Threads that are ending and have no heap any more
 * share one. Notes lie in a reservation of one OS page per slice of the window, which becomes memory as it is written: 8 bytes
 * per block. Where addresses are few they are mapped as they are needed.
 *
 * Off, nothing of this is reached: malloc and free of a thread take their fast paths, which the heap cuts while it is on.
 *
 * Climate: malloc, inside a slow path of the heap.   Owns: notes and tables.   Locks: probe, for a new table, and for the
 * shared one.
 */
#include "probe/exact.h"

#include <errno.h>
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/box.h"
#include "probe/impl.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

#define NOTES_PER_SLICE (VT_OS_PAGE / sizeof(uint64_t))
#define COMMIT_SLICES 64 /* notes become accessible for so many slices at a time */
#define SLACK_MAX ((1u << 24) - 1)
#define ALLOCATIONS_PER_POLL 64 /* of the modules, which takes as long as counting one allocation */
#define TELL_BYTES KiB(64) /* a thread tells the others what it allocated in such steps, or finer */
#define TELLS_PER_DUMP 64

/* id of the stack, bytes given above those asked for, and the epoch in which it was written; all 0: none. */
struct note {
    uint32_t stack;
    uint32_t slack_and_epoch; /* bits 31..8, 7..0 */
};

/* A thread's sums: rows by stack id, in blocks that are made as ids in them are met. */
struct table {
    struct table *next;
    int64_t untold_alloc, untold_live;
    uint32_t n_allocated;
    struct vt_frames frames; /* too large for the stack of whoever mallocs */
    _Atomic(void *) block[VT_STACK_MAX_ID / VT_BLOCK_ROWS + 1];
};

static struct {
    _Atomic uint8_t
        epoch; /* of the notes: those of an earlier time mean nothing. Relaxed: on, off and on again in one malloc is as it falls */
    struct note *notes;
    size_t n_slices;
    size_t n_reserved; /* slices whose notes are; those behind are mapped as they are needed */
    _Atomic uint8_t *is_committed; /* by COMMIT_SLICES */
    struct table *tables;
    struct table *of_others; /* who has no heap; under the lock */
    _Atomic int64_t alloc_bytes, live_bytes;
    _Atomic uint32_t run; /* how often it was switched on */
    _Atomic bool in_requested_bytes;
} exact;
_Atomic bool vt__exact_word;
static _Atomic int64_t tell_bytes =
    TELL_BYTES; /* not in `exact`, which takes no room in the file */

/* ---- a table ---- */

_Static_assert(offsetof(struct table, untold_live) == offsetof(struct vt_box_exact, untold_live) &&
                   sizeof(struct vt_exact_row) == sizeof(struct vt_box_exact_row) &&
                   offsetof(struct vt_exact_row, freed_requested_bytes) ==
                       offsetof(struct vt_box_exact_row, freed_requested_bytes) &&
                   VT_BLOCK_ROWS == VT_BOX_EXACT_ROWS,
               "vitrine-box.h");

/* Under the lock. */
static struct table *add_new_table(void) {
    struct table *t = vt__box_take(sizeof(*t), VT_CACHE_LINE);
    if (t == NULL) return NULL;
    t->next = exact.tables;
    exact.tables = t;
    vt__box_begun()->exact_tables = (uintptr_t)t;
    return t;
}

/* ---- notes ---- */

static uint8_t epoch_now(void) { return atomic_load_explicit(&exact.epoch, memory_order_relaxed); }

static int open_notes(void) {
    void *at = NULL;
    size_t n = vt__heap_max_slices();
    if (exact.notes != NULL) return 0;
    if (exact.of_others == NULL) exact.of_others = add_new_table();
    if (exact.of_others == NULL) return -ENOMEM;
    int err = vt__os_map(vt_round_up(n / COMMIT_SLICES + 1, VT_OS_PAGE), &at);
    if (err != 0) return err;
    exact.is_committed = at;
    bool is_reserved =
        vt__os_address_limit() == SIZE_MAX && vt__os_reserve(n * VT_OS_PAGE, VT_OS_PAGE, &at) == 0;
    if (!is_reserved) at = (void *)vt__os_draw_place(COMMIT_SLICES * VT_OS_PAGE, MiB(2));
    exact.n_slices = n;
    exact.n_reserved = is_reserved ? n : 0;
    exact.notes = at;
    return 0;
}

void vt__probe_few_addresses(size_t n_slices) {
    size_t n = vt_round_up(n_slices, COMMIT_SLICES), before = exact.n_reserved;
    if (n >= before) return;
    exact.n_reserved = n;
    vt__os_unmap(exact.notes + n * NOTES_PER_SLICE, (before - n) * VT_OS_PAGE);
}

/* Two threads may come at once: committing twice does no harm, mapping does. */
static bool map_notes(size_t first, size_t n_slices) {
    vt_lock(&vt__probe_lock);
    bool is_done = exact.is_committed[first / COMMIT_SLICES] != 0 ||
                   vt__os_map_at(exact.notes + first * NOTES_PER_SLICE, n_slices * VT_OS_PAGE) == 0;
    if (is_done) exact.is_committed[first / COMMIT_SLICES] = 1;
    vt_unlock(&vt__probe_lock);
    return is_done;
}

static VT_COLD bool commit_notes(size_t slice) {
    size_t first = slice / COMMIT_SLICES * COMMIT_SLICES;
    size_t n_slices = vt_min(COMMIT_SLICES, exact.n_slices - first);
    if (first >= exact.n_reserved) return map_notes(first, n_slices);
    if (vt__os_commit(exact.notes + first * NOTES_PER_SLICE, n_slices * VT_OS_PAGE) != 0)
        return false;
    /* release: it can be written before it is said to be; pairs with the acquire in note_of */
    atomic_store_explicit(&exact.is_committed[slice / COMMIT_SLICES], 1, memory_order_release);
    return true;
}

/* NULL: there is no memory for it. */
VT_INLINE struct note *note_of(const struct vt_heap_block *b) {
    uint8_t is_committed =
        atomic_load_explicit(&exact.is_committed[b->slice / COMMIT_SLICES], memory_order_acquire);
    if (vt_unlikely(is_committed == 0) && !commit_notes(b->slice)) return NULL;
    return exact.notes + b->slice * NOTES_PER_SLICE + b->number;
}

/* ---- tables ---- */

static VT_COLD struct vt_exact_row *make_block(struct table *t, uint32_t stack) {
    void *at = NULL;
    at = vt__box_take(VT_BLOCK_ROWS * sizeof(struct vt_exact_row), VT_OS_PAGE);
    if (at == NULL) return NULL;
    /* release: a reader finds its rows zero, or later; pairs with the acquire in add_table */
    atomic_store_explicit(&t->block[stack / VT_BLOCK_ROWS], at, memory_order_release);
    return at;
}

/* One of an earlier run, or a new one; or we are a child that the kernel has cleared the run of. */
static VT_COLD void begin_row(struct vt_exact_row *r) {
    if (!vt__box_is_mine()) vt__life_box_attend();
    if (r->run != vt__box_guard->run) *r = (struct vt_exact_row){.run = vt__box_guard->run};
}

VT_INLINE struct vt_exact_row *row_of(struct table *t, uint32_t stack) {
    struct vt_exact_row *rows =
        atomic_load_explicit(&t->block[stack / VT_BLOCK_ROWS], memory_order_relaxed);
    if (vt_unlikely(rows == NULL)) rows = make_block(t, stack);
    if (vt_unlikely(rows == NULL)) return NULL;
    struct vt_exact_row *r = &rows[stack % VT_BLOCK_ROWS];
    if (vt_unlikely(r->run != vt__box_guard->run)) begin_row(r);
    return r;
}

static VT_COLD struct table *make_table(void **slot) {
    vt_lock(&vt__probe_lock);
    struct table *t = add_new_table();
    vt_unlock(&vt__probe_lock);
    return *slot = t;
}

/* NULL: the thread has no heap, or there is no memory. */
VT_INLINE struct table *table_of_thread(void) {
    void **slot = vt__heap_probe_slot(VT_SLOT_EXACT);
    if (vt_unlikely(slot == NULL)) return NULL;
    return vt_likely(*slot != NULL) ? *slot : make_table(slot);
}

/* The table to add to, which is the thread's if it has one; to be given back. */
VT_INLINE struct table *take_table(struct table *of_thread) {
    if (vt_likely(of_thread != NULL)) return of_thread;
    vt_lock(&vt__probe_lock);
    return exact.of_others;
}

VT_INLINE void give_table(struct table *t) {
    if (vt_unlikely(t == exact.of_others)) vt_unlock(&vt__probe_lock);
}

/* ---- what the heap tells ---- */

static VT_NOINLINE void tell_now(struct table *t) {
    /* relaxed: sums that drive dumps; they may lag by tell_bytes for each thread */
    int64_t alloc =
        atomic_fetch_add_explicit(&exact.alloc_bytes, t->untold_alloc, memory_order_relaxed);
    int64_t live =
        atomic_fetch_add_explicit(&exact.live_bytes, t->untold_live, memory_order_relaxed);
    vt__totals_pull((double)(alloc + t->untold_alloc), (double)(live + t->untold_live));
    __atomic_fetch_add(&vt__box->exact_alloc_bytes, t->untold_alloc, __ATOMIC_RELAXED);
    __atomic_fetch_add(&vt__box->exact_live_bytes, t->untold_live, __ATOMIC_RELAXED);
    t->untold_alloc = t->untold_live = 0;
}

VT_INLINE void tell(struct table *t, int64_t alloc_bytes, int64_t live_bytes) {
    t->untold_alloc += alloc_bytes;
    t->untold_live += live_bytes;
    int64_t most = atomic_load_explicit(&tell_bytes, memory_order_relaxed);
    if (vt_unlikely(t->untold_alloc >= most || t->untold_live <= -most)) tell_now(t);
}

void vt__exact_told(double *alloc_bytes, double *live_bytes) {
    *alloc_bytes = (double)atomic_load_explicit(&exact.alloc_bytes, memory_order_relaxed);
    *live_bytes = (double)atomic_load_explicit(&exact.live_bytes, memory_order_relaxed);
}

void vt__exact_tell_after(uint64_t n_bytes) {
    int64_t step = (int64_t)vt_min(n_bytes / TELLS_PER_DUMP + 1, TELL_BYTES);
    atomic_store_explicit(&tell_bytes, step, memory_order_relaxed);
}

void vt__exact_ask_requested(bool on) {
    atomic_store_explicit(&exact.in_requested_bytes, on, memory_order_relaxed);
}

/* What a block counts for the triggers. */
VT_INLINE int64_t told_bytes(const struct vt_heap_block *b, uint32_t slack) {
    bool is_requested = atomic_load_explicit(&exact.in_requested_bytes, memory_order_relaxed);
    return (int64_t)(b->n_bytes - (is_requested ? slack : 0));
}

static uint32_t slack_of(const struct vt_heap_block *b, size_t n_bytes) {
    return (uint32_t)vt_min(b->n_bytes - vt_min(n_bytes, b->n_bytes), SLACK_MAX);
}

VT_INLINE struct note remember(struct table *t, const struct vt_heap_block *b, size_t n_bytes) {
    uint32_t stack = vt__stack_id_here(
        &t->frames, &(struct vt_stack_rows){t->block, sizeof(struct vt_exact_row)});
    struct vt_exact_row *r = stack != 0 ? row_of(t, stack) : NULL;
    if (r == NULL) return (struct note){0};
    uint32_t slack = slack_of(b, n_bytes);
    r->n_alloc++;
    r->alloc_bytes += b->n_bytes;
    r->alloc_requested_bytes += b->n_bytes - slack;
    tell(t, told_bytes(b, slack), told_bytes(b, slack));
    return (struct note){stack, slack << 8 | epoch_now()};
}

void vt__probe_exact_allocated(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    if (!vt__heap_block(p, &b)) return;
    struct note *note = note_of(&b);
    if (note == NULL) return;
    struct table *mine = table_of_thread();
    vt__stack_poll_modules(/* always */ mine == NULL ||
                           ++mine->n_allocated % ALLOCATIONS_PER_POLL == 0);
    struct table *t = take_table(mine);
    *note = remember(t, &b, n_bytes);
    give_table(t);
}

/* The note of p, if it is one of now; NULL: it is from before, or p is no block. */
VT_INLINE struct note *known_note(const void *p, struct vt_heap_block *b) {
    struct note *note = vt__heap_block(p, b) ? note_of(b) : NULL;
    if (note == NULL || note->stack == 0 || (note->slack_and_epoch & 0xff) != epoch_now())
        return NULL;
    return note;
}

void vt__probe_exact_requested(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    struct note *note = known_note(p, &b);
    if (note == NULL) return;
    struct table *t = take_table(table_of_thread());
    struct vt_exact_row *r = row_of(t, note->stack);
    uint32_t before = note->slack_and_epoch >> 8, slack = slack_of(&b, n_bytes);
    if (r != NULL) {
        int64_t less = told_bytes(&b, before) - told_bytes(&b, slack);
        r->alloc_requested_bytes -= slack - before;
        tell(t, -less, -less);
    }
    note->slack_and_epoch = slack << 8 | epoch_now();
    give_table(t);
}

/* One more free of such a block, or one less (-1). */
VT_INLINE void count_free(const struct note *note, const struct vt_heap_block *b, int64_t by) {
    struct table *t = take_table(table_of_thread());
    struct vt_exact_row *r = row_of(t, note->stack);
    if (r != NULL) {
        r->n_freed += (uint64_t)by;
        r->freed_bytes += (uint64_t)by * b->n_bytes;
        r->freed_requested_bytes += (uint64_t)by * (b->n_bytes - (note->slack_and_epoch >> 8));
        tell(t, 0, -by * told_bytes(b, note->slack_and_epoch >> 8));
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
    struct note *note = note_of(&b);
    if (note == NULL) return;
    *note = (struct note){(uint32_t)(known >> 32), (uint32_t)known};
    count_free(note, &b, -1);
}

/* ---- on, off, reading ---- */

static void begin_run(void) {
    atomic_store_explicit(&exact.epoch, (uint8_t)(epoch_now() % 255 + 1), memory_order_relaxed);
    vt__box_guard->run = atomic_fetch_add_explicit(&exact.run, 1, memory_order_relaxed) + 1;
    vt__box_begun()->exact_blocks_at = offsetof(struct table, block);
    atomic_store_explicit(&exact.alloc_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&exact.live_bytes, 0, memory_order_relaxed);
}

int vt__exact_set(bool on) {
    if (on == vt__exact_is_set()) return 0;
    if (!vt__probe_enter()) return -EAGAIN;
    int err = on ? open_notes() : 0;
    if (err == 0 && on) begin_run();
    if (err == 0) atomic_store_explicit(&vt__exact_word, on, memory_order_relaxed);
    if (err == 0)
        vt__box->exact_run = on ? atomic_load_explicit(&exact.run, memory_order_relaxed) : 0;
    vt__probe_leave();
    if (err == 0) vt__heap_set_exact(on);
    return err;
}

/* Approximate while threads allocate: a row may be read between two of its fields. */
VT_READS_RACILY static void add_row(struct vt_exact_row *sum, const struct vt_exact_row *r) {
    if (r->run != atomic_load_explicit(&exact.run, memory_order_relaxed)) return;
    sum->n_alloc += r->n_alloc;
    sum->alloc_bytes += r->alloc_bytes;
    sum->alloc_requested_bytes += r->alloc_requested_bytes;
    sum->n_freed += r->n_freed;
    sum->freed_bytes += r->freed_bytes;
    sum->freed_requested_bytes += r->freed_requested_bytes;
}

VT_READS_RACILY static void add_table(struct vt_exact_row *sum, const struct table *t) {
    const struct vt_exact_row *rows =
        atomic_load_explicit(&t->block[sum->stack / VT_BLOCK_ROWS], memory_order_acquire);
    if (rows != NULL) add_row(sum, &rows[sum->stack % VT_BLOCK_ROWS]);
}

static void add_tables(struct vt_exact_row *sum) {
    for (const struct table *t = exact.tables; t != NULL; t = t->next) add_table(sum, t);
}

bool vt__exact_next(uint32_t *cursor, struct vt_exact_row *out) {
    while (*cursor < vt__depot_count()) {
        *out = (struct vt_exact_row){.stack = ++*cursor,
                                     .run = atomic_load_explicit(&exact.run, memory_order_relaxed)};
        if (!vt__probe_enter()) return false;
        add_tables(out);
        vt__probe_leave();
        if (out->n_alloc != 0) return true;
    }
    return false;
}
