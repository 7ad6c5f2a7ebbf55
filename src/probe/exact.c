/* exact.c - every allocation and every free, by stack.
 *
 *   malloc   stack -> place; the thread's table[place].alloc += ; the block's note = place, thread
 *   free     the block's note -> place; the thread's table[place].freed +=
 *
 * A place is the stack's id, unless there are labels or the block is another thread's: exact_places.c. A thread adds to its own
 * table, so nobody waits; a reader adds the tables up (exact_read.c). Threads that are ending and have no heap any more share one.
 * Notes lie in a reservation of two OS pages per slice of the window, which becomes memory as it is written: 16 bytes per block.
 * Where addresses are few they are mapped as they are needed.
 *
 * The peak: threads tell the others what they have in use in steps of a 64th of it, and before a free that follows a new peak. A new peak
 * has a new number. A row notes what it has in use just before that changes for the first time after a peak; until then, what it
 * has in use is its part of the peak. Approximate: of several threads each may have told up to a step too little.
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
#include "probe/exact_impl.h"
#include "probe/table.h"
#include "probe/upcalls.h"

#define NOTES_PER_SLICE 512 /* of each slab of 32 KiB: no smaller blocks */
#define NOTE_BYTES (NOTES_PER_SLICE * sizeof(struct note))
#define COMMIT_SLICES 64 /* notes become accessible for so many slices at a time */
#define SLACK_MAX ((1u << 24) - 1)
#define ALLOCATIONS_PER_POLL 64 /* of the modules, which takes as long as counting one allocation */
#define TELL_BYTES KiB(64) /* a thread tells the others what it allocated in such steps, or finer */
#define TELLS_PER_DUMP 64
/* Before a free a peak is told that is higher by one part in 2^14. So a heap that grows by what it has each time, and frees
 * in between, tells some ten thousand times for each doubling at most. */
#define PEAK_SHIFT 14
/* What is in use is told in steps of a 64th of the peak, so that threads together know it that well; no finer than this. */
#define LIVE_SHIFT 6
#define LIVE_STEP_MIN ((int64_t)KiB(4))

/* Where it was allocated, bytes given above those asked for, and the epoch in which it was written; all 0: none. */
struct note {
    uint32_t place;
    uint32_t slack_and_epoch; /* bits 31..8, 7..0 */
    uint32_t thread;          /* of its table */
    uint32_t born_ms;         /* while ages are asked for */
};
_Static_assert(sizeof(struct note) == sizeof(struct vt_exact_known), "what the heap keeps of one");

static struct {
    _Atomic uint8_t
        epoch; /* of the notes: those of an earlier time mean nothing. Relaxed: on, off and on again in one malloc is as it falls */
    struct note *notes;
    size_t n_slices;
    size_t n_reserved; /* slices whose notes are; those behind are mapped as they are needed */
    _Atomic uint8_t *is_committed; /* by COMMIT_SLICES */
    struct vt_exact_table *tables;
    struct vt_exact_table *of_others; /* who has no heap; under the lock */
    _Atomic uint32_t run;             /* how often it was switched on */
    _Atomic bool in_requested_bytes, with_ages;
} exact;
/* What threads told. Apart: all write it. */
static struct {
    _Atomic int64_t alloc_bytes, live_bytes, peak_bytes;
    _Atomic uint32_t peak_number;
} VT_ALIGNED(VT_CACHE_LINE) told;
_Atomic bool vt__exact_word;
static _Atomic int64_t tell_bytes =
    TELL_BYTES; /* not in `exact`, which takes no room in the file */

/* ---- a table ---- */

enum { BOX_PLACES = VT_BOX_MAX_PLACES, BOX_BLOCKS = VT_BOX_EXACT_BLOCKS };
_Static_assert(offsetof(struct vt_exact_table, thread) == offsetof(struct vt_box_exact, thread) &&
                   VT_BLOCK_ROWS == VT_BOX_EXACT_ROWS && VT_EXACT_PLACES == BOX_PLACES &&
                   VT_EXACT_BLOCKS == BOX_BLOCKS &&
                   sizeof(struct vt_box_exact_row) == VT_CACHE_LINE,
               "vitrine-box.h; a malloc and its free write one line");

/* Where to hang a new table: those that a black box had no room for come behind the others, so that its reader finds these. */
static struct vt_exact_table **place_in_chain(const struct vt_exact_table *t) {
    struct vt_exact_table **at = &exact.tables;
    if (!vt__box_has_file() || vt__box_holds(t)) return at;
    while (*at != NULL && vt__box_holds(*at)) at = &(*at)->next;
    return at;
}

/* Under the lock. */
static struct vt_exact_table *add_new_table(uint32_t thread) {
    struct vt_exact_table *t = vt__box_take(sizeof(*t), VT_CACHE_LINE);
    if (t == NULL) return NULL;
    t->thread = thread;
    struct vt_exact_table **at = place_in_chain(t);
    t->next = *at;
    *at = t;
    vt__box_begun()->exact_tables = (uintptr_t)exact.tables;
    return t;
}

/* ---- notes ---- */

static uint8_t epoch_now(void) { return atomic_load_explicit(&exact.epoch, memory_order_relaxed); }

/* gcore has reserved addresses, too, and who reads a core file needs no notes. */
static void keep_out_of_cores(void *notes, size_t n_slices) {
    vt__os_core(notes, n_slices * NOTE_BYTES, /* is_wanted */ false);
}

static int open_notes(void) {
    void *at = NULL;
    size_t n = vt__heap_max_slices();
    if (exact.notes != NULL) return 0;
    if (exact.of_others == NULL) exact.of_others = add_new_table(VT_EXACT_NOBODY);
    if (exact.of_others == NULL) return -ENOMEM;
    int err = vt__os_map(vt_round_up(n / COMMIT_SLICES + 1, VT_OS_PAGE), &at);
    if (err != 0) return err;
    exact.is_committed = at;
    bool is_reserved =
        vt__os_address_limit() == SIZE_MAX && vt__os_reserve(n * NOTE_BYTES, VT_OS_PAGE, &at) == 0;
    if (!is_reserved) at = (void *)vt__os_draw_place(COMMIT_SLICES * NOTE_BYTES, MiB(2));
    if (is_reserved) keep_out_of_cores(at, n);
    exact.n_slices = n;
    exact.n_reserved = is_reserved ? n : 0;
    exact.notes = at;
    return 0;
}

const void *vt__exact_notes(size_t *n_bytes) {
    *n_bytes = exact.n_slices * NOTE_BYTES;
    return exact.notes;
}

void vt__probe_few_addresses(size_t n_slices) {
    size_t n = vt_round_up(n_slices, COMMIT_SLICES), before = exact.n_reserved;
    if (n >= before) return;
    exact.n_reserved = n;
    vt__os_unmap(exact.notes + n * NOTES_PER_SLICE, (before - n) * NOTE_BYTES);
}

/* Two threads may come at once: committing twice does no harm, mapping does. */
static bool map_notes(size_t first, size_t n_slices) {
    struct note *at = exact.notes + first * NOTES_PER_SLICE;
    vt_lock(&vt__probe_lock);
    bool is_there = exact.is_committed[first / COMMIT_SLICES] != 0;
    bool is_done = is_there || vt__os_map_at(at, n_slices * NOTE_BYTES) == 0;
    if (is_done && !is_there) keep_out_of_cores(at, n_slices);
    if (is_done) exact.is_committed[first / COMMIT_SLICES] = 1;
    vt_unlock(&vt__probe_lock);
    return is_done;
}

static VT_COLD bool commit_notes(size_t slice) {
    size_t first = slice / COMMIT_SLICES * COMMIT_SLICES;
    size_t n_slices = vt_min(COMMIT_SLICES, exact.n_slices - first);
    if (first >= exact.n_reserved) return map_notes(first, n_slices);
    if (vt__os_commit(exact.notes + first * NOTES_PER_SLICE, n_slices * NOTE_BYTES) != 0)
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

VT_INLINE uint32_t peak_number(void) {
    return atomic_load_explicit(&told.peak_number, memory_order_relaxed);
}

static VT_COLD struct vt_exact_block *make_block(struct vt_exact_table *t, uint32_t place) {
    void *at = vt__box_take(sizeof(struct vt_exact_block), VT_OS_PAGE);
    if (at == NULL) return NULL;
    /* release: a reader finds its rows zero, or later; pairs with the acquire in exact_read.c */
    atomic_store_explicit(&t->block[place / VT_BLOCK_ROWS], at, memory_order_release);
    return at;
}

VT_INLINE bool is_of_this_run(const struct vt_box_exact_row *r) {
    return r->run + 1 == vt__box_guard->next_run;
}

/* One of an earlier run, or a new one; or we are a child that the kernel has cleared the run of. */
static VT_COLD void begin_row(struct vt_box_exact_row *r, struct vt_box_exact_peak *peak) {
    if (!vt__box_is_mine()) vt__life_box_attend();
    if (is_of_this_run(r)) return;
    *peak = (struct vt_box_exact_peak){0};
    *r =
        (struct vt_box_exact_row){.run = vt__box_guard->next_run - 1, .peak_number = peak_number()};
}

/* In this order: a thread may be killed in between, and then what is in use is the peak still. */
static VT_NOINLINE void settle_peak(struct vt_box_exact_row *r, struct vt_box_exact_peak *peak) {
    *peak = (struct vt_box_exact_peak){r->n_alloc - r->n_freed, r->alloc_bytes - r->freed_bytes,
                                       r->alloc_requested_bytes - r->freed_requested_bytes};
    atomic_signal_fence(memory_order_seq_cst);
    r->peak_number = peak_number();
}

/* The row of a place, which the caller is about to change. NULL: no memory. */
VT_INLINE struct vt_box_exact_row *row_of(struct vt_exact_table *t, uint32_t place) {
    struct vt_exact_block *b =
        atomic_load_explicit(&t->block[place / VT_BLOCK_ROWS], memory_order_relaxed);
    if (vt_unlikely(b == NULL)) b = make_block(t, place);
    if (vt_unlikely(b == NULL)) return NULL;
    struct vt_box_exact_row *r = &b->row[place % VT_BLOCK_ROWS];
    struct vt_box_exact_peak *peak = &b->peak[place % VT_BLOCK_ROWS];
    if (vt_unlikely(!is_of_this_run(r))) begin_row(r, peak);
    if (vt_unlikely(r->peak_number != peak_number())) settle_peak(r, peak);
    return r;
}

/* `thread` 0: the table's own. */
VT_INLINE uint32_t place_of(struct vt_exact_table *t, uint32_t stack, uint32_t label,
                            uint32_t thread) {
    if (vt_likely((label | thread) == 0)) return stack;
    uint64_t hash = vt__mix((uint64_t)stack << 32 | (label ^ thread << 16));
    struct vt_exact_late *late = &t->late[hash % vt_countof(t->late)];
    if (late->stack == stack && late->label == label && late->thread == thread) return late->place;
    return vt__exact_find_place(late, stack, label, thread, /* has_lock */ t == exact.of_others);
}

/* Where this table counts what happens to a block. */
VT_INLINE uint32_t place_of_note(struct vt_exact_table *t, const struct note *note) {
    uint32_t stack, label, thread;
    if (vt_likely(note->thread == t->thread)) return note->place;
    vt__exact_place(note->place, &stack, &label, &thread);
    return place_of(t, stack, label, note->thread);
}

/* One that another thread had under this number, or a new one. */
static VT_COLD struct vt_exact_table *make_table(void **slot) {
    uint32_t thread = vt__heap_thread_number();
    vt_lock(&vt__probe_lock);
    struct vt_exact_table *t = exact.tables;
    while (t != NULL && t->thread != thread) t = t->next;
    if (t == NULL) t = add_new_table(thread);
    vt_unlock(&vt__probe_lock);
    return *slot = t;
}

/* NULL: the thread has no heap, or there is no memory. */
VT_INLINE struct vt_exact_table *table_of_thread(void) {
    void **slot = vt__heap_probe_slot(VT_SLOT_EXACT);
    if (vt_unlikely(slot == NULL)) return NULL;
    return vt_likely(*slot != NULL) ? *slot : make_table(slot);
}

/* The table to add to, which is the thread's if it has one; to be given back. */
VT_INLINE struct vt_exact_table *take_table(struct vt_exact_table *of_thread) {
    if (vt_likely(of_thread != NULL)) return of_thread;
    vt_lock(&vt__probe_lock);
    return exact.of_others;
}

VT_INLINE void give_table(struct vt_exact_table *t) {
    if (vt_unlikely(t == exact.of_others)) vt_unlock(&vt__probe_lock);
}

/* ---- what the heap tells ---- */

/* So much is in use: is it the peak? Gives the highest so far. */
static int64_t raise_peak(int64_t live) {
    int64_t peak = atomic_load_explicit(&told.peak_bytes, memory_order_relaxed);
    while (live > peak) {
        if (!atomic_compare_exchange_weak_explicit(&told.peak_bytes, &peak, live,
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        peak = live;
        uint32_t number = atomic_fetch_add_explicit(&told.peak_number, 1, memory_order_relaxed) + 1;
        __atomic_store_n(&vt__box->exact_peak_bytes, peak, __ATOMIC_RELAXED);
        __atomic_store_n(&vt__box->exact_peak_number, number, __ATOMIC_RELAXED);
    }
    return peak;
}

static VT_NOINLINE void tell_now(struct vt_exact_table *t) {
    /* relaxed: sums that drive dumps; they may lag by tell_bytes for each thread */
    int64_t alloc =
        atomic_fetch_add_explicit(&told.alloc_bytes, t->untold_alloc, memory_order_relaxed);
    int64_t live =
        atomic_fetch_add_explicit(&told.live_bytes, t->untold_live, memory_order_relaxed);
    alloc += t->untold_alloc;
    live += t->untold_live;
    vt__totals_pull((double)alloc, (double)live);
    __atomic_fetch_add(&vt__box->exact_alloc_bytes, t->untold_alloc, __ATOMIC_RELAXED);
    __atomic_fetch_add(&vt__box->exact_live_bytes, t->untold_live, __ATOMIC_RELAXED);
    t->untold_alloc = t->untold_live = 0;
    int64_t peak = raise_peak(live);
    t->peak_room = peak - live + (peak >> PEAK_SHIFT);
    /* dumps by what is freed are as dense as those by what is allocated */
    int64_t most = atomic_load_explicit(&tell_bytes, memory_order_relaxed);
    t->live_step = vt_min(vt_max(peak >> LIVE_SHIFT, LIVE_STEP_MIN), most);
}

VT_INLINE void tell(struct vt_exact_table *t, int64_t alloc_bytes, int64_t live_bytes) {
    t->untold_alloc += alloc_bytes;
    t->untold_live += live_bytes;
    int64_t most = atomic_load_explicit(&tell_bytes, memory_order_relaxed);
    if (vt_unlikely(t->untold_alloc >= most || t->untold_live > t->live_step ||
                    t->untold_live < -t->live_step))
        tell_now(t);
}

void vt__exact_told(double *alloc_bytes, double *live_bytes) {
    *alloc_bytes = (double)atomic_load_explicit(&told.alloc_bytes, memory_order_relaxed);
    *live_bytes = (double)atomic_load_explicit(&told.live_bytes, memory_order_relaxed);
}

void vt__exact_tell_after(uint64_t n_bytes) {
    int64_t step = (int64_t)vt_min(n_bytes / TELLS_PER_DUMP + 1, TELL_BYTES);
    atomic_store_explicit(&tell_bytes, step, memory_order_relaxed);
}

void vt__exact_ask_requested(bool on) {
    atomic_store_explicit(&exact.in_requested_bytes, on, memory_order_relaxed);
}

void vt__exact_ask_ages(bool on) {
    atomic_store_explicit(&exact.with_ages, on, memory_order_relaxed);
}

bool vt__exact_has_ages(void) {
    return atomic_load_explicit(&exact.with_ages, memory_order_relaxed);
}

/* What a block counts for the triggers. */
VT_INLINE int64_t told_bytes(size_t block_bytes, uint32_t slack) {
    bool is_requested = atomic_load_explicit(&exact.in_requested_bytes, memory_order_relaxed);
    return (int64_t)(block_bytes - (is_requested ? slack : 0));
}

static uint32_t slack_of(const struct vt_heap_block *b, size_t n_bytes) {
    return (uint32_t)vt_min(b->n_bytes - vt_min(n_bytes, b->n_bytes), SLACK_MAX);
}

static VT_COLD uint32_t now_ms(void) { return (uint32_t)vt__os_now_ms(); }

VT_INLINE struct note remember(struct vt_exact_table *t, const struct vt_heap_block *b,
                               size_t n_bytes) {
    uint32_t stack = vt__stack_id_here(
        &t->frames, &(struct vt_stack_rows){t->block, sizeof(struct vt_box_exact_row)});
    if (stack == 0) return (struct note){0};
    uint32_t place = place_of(t, stack, vt__heap_label_now(), 0);
    struct vt_box_exact_row *r = row_of(t, place);
    if (r == NULL) return (struct note){0};
    uint32_t slack = slack_of(b, n_bytes);
    r->n_alloc++;
    r->alloc_bytes += b->n_bytes;
    r->alloc_requested_bytes += b->n_bytes - slack;
    tell(t, told_bytes(b->n_bytes, slack), told_bytes(b->n_bytes, slack));
    return (struct note){place, slack << 8 | epoch_now(), t->thread,
                         vt_unlikely(vt__exact_has_ages()) ? now_ms() : 0};
}

void vt__probe_exact_allocated(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    if (!vt__heap_block(p, &b)) return;
    struct note *note = note_of(&b);
    if (note == NULL) return;
    if (vt__thread_is_due()) vt__thread_look(); /* it may have another table from here on */
    struct vt_exact_table *mine = table_of_thread();
    vt__stack_poll_modules(/* always */ mine == NULL ||
                           ++mine->n_allocated % ALLOCATIONS_PER_POLL == 0);
    struct vt_exact_table *t = take_table(mine);
    *note = remember(t, &b, n_bytes);
    give_table(t);
}

/* The note of p, if it is one of now; NULL: it is from before, or p is no block. */
VT_INLINE struct note *known_note(const void *p, struct vt_heap_block *b) {
    struct note *note = vt__heap_block(p, b) ? note_of(b) : NULL;
    if (note == NULL || note->place == 0 || (note->slack_and_epoch & 0xff) != epoch_now())
        return NULL;
    return note;
}

void vt__probe_exact_requested(const void *p, size_t n_bytes) {
    struct vt_heap_block b;
    struct note *note = known_note(p, &b);
    if (note == NULL) return;
    struct vt_exact_table *t = take_table(table_of_thread());
    struct vt_box_exact_row *r = row_of(t, place_of_note(t, note));
    uint32_t before = note->slack_and_epoch >> 8, slack = slack_of(&b, n_bytes);
    if (r != NULL) {
        int64_t less = told_bytes(b.n_bytes, before) - told_bytes(b.n_bytes, slack);
        r->alloc_requested_bytes -= slack - before;
        tell(t, -less, -less);
    }
    note->slack_and_epoch = slack << 8 | epoch_now();
    give_table(t);
}

/* ---- ages ---- */

/* NULL: no memory. */
static VT_COLD struct vt_exact_counts *make_ages(struct vt_exact_table *t, uint32_t place) {
    void *at = NULL;
    struct vt_exact_ages *ages = atomic_load_explicit(&t->ages, memory_order_relaxed);
    if (ages == NULL) {
        if (vt__os_map(vt_round_up(sizeof(*ages), VT_OS_PAGE), &at) != 0) return NULL;
        ages = at;
        /* release: a reader finds it zero, or later; pairs with the acquire in exact_read.c. The next one as well */
        atomic_store_explicit(&t->ages, ages, memory_order_release);
    }
    size_t n_bytes = VT_BLOCK_ROWS * VT_LIFETIMES * sizeof(struct vt_exact_counts);
    if (vt__os_map(vt_round_up(n_bytes, VT_OS_PAGE), &at) != 0) return NULL;
    atomic_store_explicit(&ages->block[place / VT_BLOCK_ROWS], at, memory_order_release);
    return at;
}

static VT_NOINLINE void count_age(struct vt_exact_table *t, uint32_t place, const struct note *note,
                                  size_t block_bytes) {
    uint32_t ms = now_ms() - note->born_ms;
    unsigned age = ms == 0 ? 0 : vt_log2(ms) + 1;
    struct vt_exact_ages *ages = atomic_load_explicit(&t->ages, memory_order_relaxed);
    struct vt_exact_counts *rows =
        ages != NULL
            ? atomic_load_explicit(&ages->block[place / VT_BLOCK_ROWS], memory_order_relaxed)
            : NULL;
    if (rows == NULL) rows = make_ages(t, place);
    if (rows == NULL) return;
    struct vt_exact_counts *c = &rows[(place % VT_BLOCK_ROWS) * VT_LIFETIMES + age];
    c->n++;
    c->bytes += block_bytes;
    c->requested_bytes += block_bytes - (note->slack_and_epoch >> 8);
}

/* ---- frees ---- */

VT_INLINE void count_free(const struct note *note, size_t block_bytes) {
    struct vt_exact_table *t = take_table(table_of_thread());
    if (vt_unlikely(t->untold_live > t->peak_room)) tell_now(t);
    uint32_t place = place_of_note(t, note), slack = note->slack_and_epoch >> 8;
    struct vt_box_exact_row *r = row_of(t, place);
    if (r != NULL) {
        r->n_freed++;
        r->freed_bytes += block_bytes;
        r->freed_requested_bytes += block_bytes - slack;
        tell(t, 0, -told_bytes(block_bytes, slack));
        if (vt_unlikely(note->born_ms != 0)) count_age(t, place, note, block_bytes);
    }
    give_table(t);
}

void vt__probe_exact_freed(const void *p) {
    struct vt_heap_block b;
    struct note *note = known_note(p, &b);
    if (note == NULL) return;
    struct note known = *note;
    *note = (struct note){0};
    count_free(&known, b.n_bytes);
}

/* ---- a free that may not come ---- */

struct vt_exact_known vt__probe_exact_take(const void *p) {
    struct vt_heap_block b;
    struct vt_exact_known out = {0};
    struct note *note = known_note(p, &b);
    if (note == NULL) return out;
    __builtin_memcpy(&out, note, sizeof(out));
    *note = (struct note){0};
    return out;
}

void vt__probe_exact_taken_freed(struct vt_exact_known known, size_t block_bytes) {
    struct note note;
    __builtin_memcpy(&note, &known, sizeof(note));
    count_free(&note, block_bytes);
}

void vt__probe_exact_put_back(const void *p, struct vt_exact_known known) {
    struct vt_heap_block b;
    struct note *note = vt__heap_block(p, &b) ? note_of(&b) : NULL;
    if (note != NULL) __builtin_memcpy(note, &known, sizeof(*note));
}

/* ---- on and off ---- */

static void clear_ages(struct vt_exact_ages *ages) {
    for (unsigned i = 0; ages != NULL && i < VT_EXACT_BLOCKS; i++) {
        struct vt_exact_counts *rows = atomic_load_explicit(&ages->block[i], memory_order_relaxed);
        for (unsigned k = 0; rows != NULL && k < VT_BLOCK_ROWS * VT_LIFETIMES; k++)
            rows[k] = (struct vt_exact_counts){0};
    }
}

/* What is left of an earlier run. Racy: a thread that was still counting then may leave something behind. */
VT_READS_RACILY static void clear_tables(void) {
    for (struct vt_exact_table *t = exact.tables; t != NULL; t = t->next) {
        t->untold_alloc = t->untold_live = t->peak_room = t->live_step = 0;
        clear_ages(atomic_load_explicit(&t->ages, memory_order_relaxed));
    }
}

static void begin_run(void) {
    clear_tables();
    atomic_store_explicit(&exact.epoch, (uint8_t)(epoch_now() % 255 + 1), memory_order_relaxed);
    vt__box_guard->next_run = atomic_fetch_add_explicit(&exact.run, 1, memory_order_relaxed) + 2;
    vt__box_begun()->exact_blocks_at = offsetof(struct vt_exact_table, block);
    atomic_store_explicit(&told.alloc_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&told.live_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&told.peak_bytes, 0, memory_order_relaxed);
    __atomic_store_n(&vt__box->exact_peak_bytes, 0, __ATOMIC_RELAXED);
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

/* ---- for the readers ---- */

const struct vt_exact_table *vt__exact_tables(void) { return exact.tables; }
uint32_t vt__exact_run(void) { return atomic_load_explicit(&exact.run, memory_order_relaxed); }
uint32_t vt__exact_peak_number(void) { return peak_number(); }

VT_READS_RACILY static int64_t untold_of_all(void) {
    int64_t sum = 0;
    for (const struct vt_exact_table *t = exact.tables; t != NULL; t = t->next)
        sum += t->untold_live;
    return sum;
}

void vt__exact_settle_peak(void) {
    if (!vt__probe_enter()) return;
    (void)raise_peak(atomic_load_explicit(&told.live_bytes, memory_order_relaxed) +
                     untold_of_all());
    vt__probe_leave();
}
