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
size_t vt__usable_size(const void *p);        /* 0 for NULL */
void vt__free_sized(void *p, size_t n_bytes); /* the secure build checks the size */

/* Start and threads, for life/. */
int vt__heap_start(void); /* once, before anything else: 0 or -errno */
void vt__heap_detach_thread(
    void); /* this thread's memory becomes anybody's; it may come back later */
void vt__heap_fork_prepare(void);
void vt__heap_fork_done(bool is_child);

/* The calling thread's mallocs take their slow path, for a dialect that has a slow path of its own (fast.h). */
void vt__heap_divert(bool on);

/* Memory given back. */
size_t vt__heap_release_all(void); /* everything free, now; answers the bytes */
size_t vt__heap_release_shared(
    void); /* the same, without what the calling thread keeps: a handler may be in the middle of it */
bool vt__heap_purge_step(void); /* what is due by now; false when nothing is left to wait for */

/* Sampling. */
void vt__heap_sampling_changed(void); /* the rate did: every countdown is drawn anew */
uint32_t vt__heap_thread_number(
    void); /* of the calling thread; one that ended leaves it to another. 0: it has no heap */
uint32_t vt__heap_label_now(void); /* its value; async-signal-safe, 0 for a thread without a heap */
uint32_t *vt__heap_label(void);    /* the calling thread's, for probe/; NULL: no memory */

/* Exact mode: while it is on, every malloc and free of every thread takes its slow path, and is told to the probes. */
void vt__heap_set_exact(bool on);
struct vt_heap_block {
    size_t slice;  /* of the window */
    size_t number; /* within the slab; below 512 */
    size_t n_bytes;
};
bool vt__heap_block(const void *p, struct vt_heap_block *out); /* false: no block starts there */
size_t vt__heap_max_slices(void);
void **vt__heap_probe_slot(
    void); /* a word of the calling thread's heap, for probe/; NULL: no heap */

/* Around whatever takes a lock that malloc may take: a signal handler that comes meanwhile and calls malloc fails or puts off,
 * but does not wait. False: we are in such a handler. */
bool vt__enter(void);
void vt__leave(void);

extern _Atomic bool vt__dump_is_wanted; /* the end of the next slow path says so to life/ */

/* Heaps beside the threads': any thread may allocate from one, vt__free finds it by the block. */
struct vt_own;
struct vt_own *vt__own_new(void); /* NULL: no memory */
void *vt__own_alloc(
    struct vt_own *o, size_t align, size_t n_bytes,
    bool zero); /* align: a power of two. zero: all of the block, not only n_bytes */
void *vt__own_alloc_behind(struct vt_own *o, size_t skipped, size_t n_bytes,
                           bool zero);  /* as vt__alloc_behind */
void vt__own_destroy(struct vt_own *o); /* every block of it is freed, and it is gone */
void vt__own_delete(
    struct vt_own *o); /* it is gone; blocks in use become the calling thread's, or everybody's */
void vt__own_collect(struct vt_own *o);   /* memory it keeps for its next blocks is given back */
struct vt_own *vt__own_of(const void *p); /* NULL: p is in none of them */
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

/* The same for the calling thread's heap and what all threads share, from *cursor on, 0 at first (visit.c). */
bool vt__heap_area(size_t *cursor, struct vt_own_area *out);

/* Is p in memory of ours? Any address may be asked about. */
bool vt__heap_owns(const void *p);

/* Statistics: a consistent-enough picture, taken without stopping anybody. */
struct vt_stats;
struct vt_class_stats {
    size_t block_bytes;
    size_t n_slabs, n_blocks, n_live, n_cached, n_free;
    size_t slab_bytes, resident_bytes;
};
#define VT_N_CLASSES 112
const _Atomic size_t *vt__heap_used_slices(
    uint64_t *slice_bytes); /* where it is, for other processes */
void vt__heap_stats(struct vt_stats *out, struct vt_class_stats classes[VT_N_CLASSES]);

#ifdef VT_WITH_AUDIT
void vt__heap_audit(void); /* every structure of the calling thread's heap and of the chunks */
#endif

VT_HIDDEN_END

#endif
