/* heap.h - the allocator, as other rooms see it.
 *
 * Climate: malloc.   Owns: the window (all memory that malloc hands out) and the tables about it.
 * Callers: dialect/ (every malloc name), life/ (start, threads, fork), later probe/ and dump/.
 * These functions set errno where C says so; free never does. docs/tour.md follows one call through the room.
 */
#ifndef VT_HEAP_HEAP_H
#define VT_HEAP_HEAP_H

#include "base/base.h"
#include "base/text.h"

#include <stdatomic.h>

VT_HIDDEN_BEGIN

/* The malloc family under our own names: src/dialect gives them the names programs use. */
void *vt__malloc(size_t n_bytes);
void vt__free(void *p);
void *vt__calloc(size_t n, size_t each_bytes);
void *vt__realloc(void *p, size_t n_bytes);
void *vt__aligned_alloc(size_t align, size_t n_bytes); /* align: a power of two; any size */
/* A block that begins so many bytes, less than 32 KiB, behind a multiple of 32 KiB. It has OS pages of its own. */
void *vt__alloc_behind(size_t skipped, size_t n_bytes, bool zero);
size_t vt__usable_size(const void *p);             /* 0 for NULL */
bool vt__resize_in_place(void *p, size_t n_bytes); /* false: it stays as it was */
/* Is a block with so many bytes to use good for n_bytes, too, or should it move to a smaller one, or a larger? */
bool vt__size_stays(size_t usable, size_t n_bytes);
/* As realloc has it: false also when it could stay, but would keep much more than it needs. */
bool vt__realloc_in_place(void *p, size_t n_bytes);
void vt__free_sized(void *p, size_t n_bytes); /* n_bytes is not looked at: held.h does */

/* Start and threads, for life/. */
int vt__heap_start(void); /* once, before anything else: 0 or -errno */
void vt__heap_detach_thread(
    void); /* this thread's memory becomes anybody's; it may come back later */
void vt__heap_fork_prepare(void);
void vt__heap_fork_done(bool is_child);

/* The calling thread's mallocs take their slow path, for a dialect that has a slow path of its own (fast.h). */
void vt__heap_divert(bool on);

/* Memory given back. */
size_t vt__heap_release_all(void);  /* everything free, now; answers the bytes */
void vt__heap_retain_changed(void); /* option retain has another value, which holds from now on */
size_t vt__heap_release_shared(
    void); /* the same, without what the calling thread keeps: a handler may be in the middle of it */
size_t vt__heap_release_some(
    size_t n_bytes); /* the same until that much has gone; some more may go with the last piece */
/* The process has few addresses from now on, see vt__os_tell_address_limit: what the heap reserved and does not use goes back.
 * True: it was some. In a handler that interrupted us: at the next growth. */
bool vt__heap_few_addresses(void);
/* The same where a mapping failed, for whatever reason, and may be tried again then. */
bool vt__heap_may_give_addresses(void);
bool vt__heap_purge_step(void); /* what is due by now; false when nothing is left to wait for */

/* Sampling. */
void vt__heap_sampling_changed(void); /* the rate did: every countdown is drawn anew */
uint32_t vt__heap_thread_number(
    void); /* of the calling thread; one that ended leaves it to another. 0: it has no heap */
/* Of the calling thread: is it sampled? It starts as the probes have it for all. NULL: no memory. */
enum vt_thread_sampling { VT_SAMPLING_AS_ALL, VT_SAMPLING_ON, VT_SAMPLING_OFF };
uint8_t *vt__heap_sampling(void);
/* The calling thread, which has a heap, gets this number, which no other has; 0: a new one. Gives it. */
uint32_t vt__heap_renumber_thread(uint32_t number);
uint64_t *vt__heap_dialect_word(void); /* the calling thread's, 0 at first; NULL: no memory */

/* What the calling thread allocated and freed, in bytes of blocks; never decreases. malloc and free do not count: what is wanted is
 * brought up to date by this call, and in between by slow paths. Approximate: of blocks above 1 KiB what went between the thread
 * and the common store; of small ones it freed, those that were its own, and where it has more than 8 MiB of them what was seen some
 * milliseconds ago. NULL: no memory. */
struct vt_thread_bytes {
    uint64_t allocated, freed;
};
enum vt_bytes_wanted {
    VT_BYTES_ALLOCATED,
    VT_BYTES_BOTH,
    VT_BYTES_TO_WATCH /* both, and the next malloc moves the first */
};
const struct vt_thread_bytes *vt__heap_thread_bytes(enum vt_bytes_wanted wanted);
void vt__heap_count_again(size_t n_bytes); /* so much is freed, and allocated in the same place */
/* What the calling thread has in use, and what those had left that had its heap before it, less what they freed of others. For the
 * probes, inside a slow path: the sum over all threads is what the process has in use, or more. wants_walk: what it freed of small blocks
 * is looked for, if enough was allocated since the last walk to pay for another. */
int64_t vt__heap_in_use(bool wants_walk);
/* Was as much of medium and large blocks allocated since as vt__heap_look_after() said? By the calling thread. */
bool vt__heap_look_is_due(void);
void vt__heap_look_after(uint64_t n_bytes);
/* The most that the calling thread had in use at once since the last reset; peak.c tells how exact it is. False: no memory. */
bool vt__heap_peak(uint64_t *out);
bool vt__heap_reset_peak(void);
uint64_t vt__heap_new_bytes(
    void); /* allocated since this was last called; its lists' ready blocks are taken for allocated */

uint32_t vt__heap_label_now(void); /* its value; async-signal-safe, 0 for a thread without a heap */
uint32_t *vt__heap_label(void);    /* the calling thread's, for probe/; NULL: no memory */

/* While somebody watches, every malloc and free of every thread takes its slow path, and is told: to the probes (exact mode), or
 * to hooks, which are called with no lock held: after a block was allocated (NULL: it could not be), before one is freed. */
void vt__heap_set_exact(bool on);
struct vt_heap_hooks {
    void (*allocated)(const void *p, size_t n_bytes);
    void (*freed)(const void *p);
    void (*resized)(const void *p,
                    size_t n_bytes); /* NULL: one that was is freed and allocated for them */
};
void vt__heap_set_hooks(
    const struct vt_heap_hooks *hooks); /* NULL: none; must stay valid for good */
struct vt_heap_block {
    size_t slice;  /* of the window */
    size_t number; /* within the slab; below 512 */
    size_t n_bytes;
};
bool vt__heap_block(const void *p, struct vt_heap_block *out); /* false: no block starts there */
size_t vt__heap_max_slices(void);
size_t vt__heap_grown_bytes(void); /* of the window, that blocks may come from; racy */
/* A word of the calling thread's heap that is probe/'s. NULL: it has no heap. The next thread on the same heap finds it as it is. */
enum vt_probe_slot { VT_SLOT_EXACT, VT_SLOT_SAMPLES, VT_PROBE_SLOTS };
void **vt__heap_probe_slot(enum vt_probe_slot which);

/* Around whatever takes a lock that malloc may take: a signal handler that comes meanwhile and calls malloc fails or puts off,
 * but does not wait. False: we are in such a handler. */
bool vt__enter(void);
void vt__leave(void);

extern _Atomic bool vt__dump_is_wanted; /* the end of the next slow path says so to life/ */
enum vt_dump_cause {
    VT_CAUSE_ASKED,
    VT_CAUSE_SIGNAL,
    VT_CAUSE_ALLOCATED,
    VT_CAUSE_FREED,
    VT_CAUSE_INUSE,
    VT_CAUSE_PEAK,
    VT_CAUSE_TIME,
    VT_CAUSE_EXIT,
    VT_CAUSE_MEMORY /* it is time to look whether memory is short */
};
extern _Atomic int vt__dump_cause; /* of the one that is wanted; written before it is */

/* tract.c: a part of the window that heaps can be tied to, numbered 1, 2, 3, ...; there for good. It is set apart at once, or, so
 * that everybody may use it until then, when the first heap is made in it. */
struct vt_tract;
int vt__tract_new(size_t n_bytes, bool at_once, unsigned *number); /* 0 or a negative errno */
struct vt_tract *vt__tract(unsigned number);                       /* NULL: there is none */
void *vt__tract_area(const struct vt_tract *t, size_t *n_bytes);

/* estate.c: memory that the program brings, outside the window, for heaps beside the threads'. It is given by vt__estate_add, or by a
 * source, which is called with no lock held and may allocate. Sizes and addresses are multiples of VT_OS_PAGE. */
struct vt_estate;
enum vt_purged { VT_PURGED_NOT, VT_PURGED_ZERO, VT_PURGED_UNCOMMITTED };
struct vt_source {
    void *(*take)(void *arg, size_t n_bytes, size_t align, bool *is_zero); /* NULL: there is none */
    /* What was taken, or what was split off it; false: it stays ours. */
    bool (*give)(void *arg, void *at, size_t n_bytes, bool is_committed);
    void (*drop)(void *arg, void *at, size_t n_bytes, bool is_committed); /* it does not */
    /* What was taken is two pieces from now on, or two pieces are one; false: it stays as it was. */
    bool (*split)(void *arg, void *at, size_t n_bytes, size_t n_first, bool is_committed);
    bool (*merge)(void *arg, void *at, size_t n_first, size_t n_second, bool is_committed);
    enum vt_purged (*purge)(void *arg, void *at, size_t n_bytes); /* a piece holds nothing */
    bool (*commit)(void *arg, void *at, size_t n_bytes); /* one that is VT_PURGED_UNCOMMITTED */
    size_t (*grow_max)(void *arg); /* no more is taken at once, but for a block that needs it */
    bool (*is_eager)(void *arg);   /* what is freed is offered and purged at once */
};
/* There for good. NULL: no memory. No source: all there is comes from vt__estate_add. */
struct vt_estate *vt__estate_new(const struct vt_source *source, void *arg);
/* 0, or -EINVAL: not whole pages, or in the window; -EEXIST: part of it was brought before; -ENOMEM; -EAGAIN: in a handler */
int vt__estate_add(struct vt_estate *e, void *at, size_t n_bytes, bool is_zero);
size_t vt__estate_bytes(struct vt_estate *e, size_t *n_free); /* n_free may be NULL */
void vt__estate_purge(struct vt_estate *e); /* what is free goes back to the source, or is purged */
void vt__estate_drop(struct vt_estate *e);  /* all of it is free, and goes back */

/* Heaps beside the threads': any thread may allocate from one, vt__free finds it by the block. */
struct vt_own;
struct vt_own *vt__own_new(void); /* NULL: no memory */
struct vt_own *vt__own_new_in(
    struct vt_tract *t); /* all its memory comes from there, and what is deleted goes back there */
struct vt_own *vt__own_new_on(struct vt_estate *e); /* the same for memory that was brought */
bool vt__own_use(struct vt_own *o,
                 struct vt_estate *e); /* from now on, always the same one; NULL: as everybody's */
struct vt_own *vt__own_new_counted(
    void); /* one whose figures are exact: threads keep none of its blocks at hand */
void *vt__own_alloc(
    struct vt_own *o, size_t align, size_t n_bytes,
    bool zero); /* align: a power of two. zero: all of the block, not only n_bytes */
void *vt__own_alloc_behind(struct vt_own *o, size_t skipped, size_t n_bytes,
                           bool zero);  /* as vt__alloc_behind */
void vt__own_destroy(struct vt_own *o); /* every block of it is freed, and it is gone */
void vt__own_reset(struct vt_own *o);   /* every block of it is freed, and it stays */
void vt__own_delete(
    struct vt_own *o); /* it is gone; blocks in use become the calling thread's, or everybody's */
void vt__own_collect(struct vt_own *o);   /* memory it keeps for its next blocks is given back */
struct vt_own *vt__own_of(const void *p); /* NULL: p is in none of them */
struct vt_own *vt__own_next(
    const struct vt_own *o); /* another that is in use, NULL at the end; the first for NULL */
uint32_t vt__own_number(
    const struct vt_own *o); /* 1, 2, 3, ...; one that is gone leaves it to another */
struct vt_own_area {
    char *at;
    size_t n_bytes, block_bytes;
    size_t n_carved, n_used; /* blocks handed out so far, and in use */
    uint32_t is_used[16];    /* a bit for each of the first */
};
bool vt__own_area(struct vt_own *o, size_t n,
                  struct vt_own_area *out); /* its n-th slab or large block; false: it has fewer */

/* holding.c: what is known of an address in memory that was brought; false: no blocks are there. Any address may be asked about. */
struct vt_brought {
    struct vt_own *own; /* NULL: it was deleted */
    bool is_block;      /* one that is in use starts there */
    size_t block_bytes;
    size_t n_blocks, n_used; /* of the slab; 1 and 1: the block is not in one */
    const void *at;          /* the slab, or what the block has for itself; whole OS pages */
    size_t n_bytes;
};
bool vt__brought_find(const void *p, struct vt_brought *out);

/* The same for the calling thread's heap and what all threads share, from *cursor on, 0 at first (visit.c). */
bool vt__heap_area(size_t *cursor, struct vt_own_area *out);

/* Is p in memory of ours? Any address may be asked about. */
bool vt__heap_owns(const void *p);

/* ranges.c: the window, piece by piece; *cursor begins at 0. False at the end. */
enum vt_range_kind {
    VT_RANGE_SLAB,
    VT_RANGE_LARGE,
    VT_RANGE_FREE /* may be resident */,
    VT_RANGE_CLEAN
};
struct vt_heap_range {
    uintptr_t at;
    size_t n_bytes;
    enum vt_range_kind kind;
    double used; /* the share that was ever handed out */
};
bool vt__heap_next_range(size_t *cursor, struct vt_heap_range *out);
size_t vt__heap_range_step(void);             /* ranges are multiples of it */
size_t vt__heap_thread_cached_bytes(void);    /* free blocks that the calling thread keeps */
void vt__heap_drop_thread_cache(void);        /* what of them can be given back is */
size_t vt__good_size(size_t align, size_t n); /* what a block would have; 0: there is none */

struct vt_heap_place {
    uintptr_t start;
    size_t n_bytes;
};
void vt__heap_window(struct vt_heap_place *out);        /* the whole of it */
void vt__heap_slab_tables(struct vt_heap_place out[2]); /* about it, as far as they are used */

/* Statistics: a consistent-enough picture, taken without stopping anybody. */
struct vt_stats;
struct vt_class_stats {
    size_t block_bytes;
    size_t n_slabs, n_blocks, n_live, n_cached, n_free;
    size_t n_full; /* of the slabs */
    size_t slab_bytes, resident_bytes;
};
#define VT_N_CLASSES 112
const _Atomic size_t *vt__heap_used_slices(
    uint64_t *slice_bytes); /* where it is, for other processes */
/* Each large block in use. */
void vt__heap_each_large(void (*visit)(void *arg, size_t n_bytes), void *arg);
void vt__heap_stats(struct vt_stats *out, struct vt_class_stats classes[VT_N_CLASSES]);
/* Was the last one that long ago, or so short in steps (slabs and runs), that it may be taken again? See pace.h. */
bool vt__heap_stats_are_due(size_t n_short);
/* sums.c: the same without classes and n_remote, at a price that does not grow with the heap: what takes more than n_short steps is
 * as of some milliseconds ago. */
void vt__heap_sums(struct vt_stats *out, size_t n_short);
/* The next question walks, unless that takes more than n_long steps. */
void vt__heap_sums_forget(size_t n_long);
/* Parts of these, which are always exact: about pages; metadata, heaps and threads. */
void vt__heap_pages(struct vt_stats *out);
void vt__heap_tables(struct vt_stats *out);
/* The same of one heap beside the threads', a counted one: n_cached is 0. Its large blocks are visited under its lock. */
struct vt_own_stats {
    struct vt_class_stats classes[VT_N_CLASSES];
    uint64_t n_taken[VT_N_CLASSES], n_runs_taken; /* blocks handed out since it is there */
};
void vt__own_stats(struct vt_own *o, struct vt_own_stats *out,
                   void (*visit_run)(void *arg, size_t n_bytes), void *arg);
void vt__own_brought_stats(struct vt_own *o, struct vt_own_stats *out,
                           void (*visit_run)(void *arg, size_t n_bytes),
                           void *arg); /* what of that is in memory that was brought */
/* Threads whose word of the dialect, under the mask, is this. */
size_t vt__heap_count_words(uint64_t mask, uint64_t value);
/* The slab that holds p. False: p is in none. */
struct vt_slab_use {
    const void *at;
    size_t n_bytes, block_bytes;
    size_t n_blocks, n_out; /* a free block that a thread keeps ready is out */
    /* Where the next block of this size comes from, for the thread that has the slab. Approximate: a slab of several threads, if it
     * has room, itself. NULL: none has room. */
    const void *current;
};
bool vt__heap_slab_use(const void *p, struct vt_slab_use *out);

#ifdef VT_WITH_AUDIT
void vt__heap_audit(void); /* every structure of the calling thread's heap and of the chunks */
#endif

VT_HIDDEN_END

#endif
