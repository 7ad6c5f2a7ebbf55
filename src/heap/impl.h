/* impl.h - the heap's structures, shared between the files of this room.
 *
 *   window   one reservation; chunk = 2 MiB of it; slice = 32 KiB, 64 to a chunk
 *   slab     1 or 2 slices cut into blocks of one class; owned by one heap, of a medium class perhaps by all (medium.c)
 *   run      slices or chunks that are one large block
 *   heap     what one thread allocates from: per small class a list of ready blocks and its slabs, per class a shelf
 *
 * All tables are arrays indexed by the offset into the window, so finding a block's slab is arithmetic:
 *
 *   slab[]   128 B per slice    who owns it, how it is cut, its free blocks; a bit per block, set while it sits in the
 *                               slab's free list: a second free finds it set
 *   chunk[]  64 B per chunk     which slices are free, which may be dirty
 *
 * Climate: malloc.
 */
#ifndef VT_HEAP_IMPL_H
#define VT_HEAP_IMPL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/made_by.h"
#include "heap/class.h"
#include "heap/heap.h"
#include "heap/pace.h"
#include "heap/upcalls.h"

VT_HIDDEN_BEGIN

/* Hardening: 0 bare (for measuring), 1 default, 2 secure. docs/decisions/hardening.md */
#ifndef VT_HARDEN
#define VT_HARDEN 1
#endif

/* The three sizes below were settled by measuring: docs/decisions/slices.md */
#ifndef VT_SLICE_SHIFT
#define VT_SLICE_SHIFT 15
#endif
#ifndef VT_WAKE_SHIFT
#define VT_WAKE_SHIFT 4 /* a full slab is used again once 1/16 of it is free */
#endif
#ifndef VT_CARVE_BYTES
#define VT_CARVE_BYTES KiB(4) /* fresh memory is handed out a page at a time */
#endif
#ifndef VT_LIST_BYTES
#define VT_LIST_BYTES                                                                              \
    KiB(4) /* a list of ready blocks grows to this, but to no fewer than MIN and no more than MAX blocks */
#endif
#define VT_LIST_MIN 8
#define VT_LIST_MAX 128

#define VT_SLICE ((size_t)1 << VT_SLICE_SHIFT)
#ifndef VT_CHUNK_SHIFT
#define VT_CHUNK_SHIFT 21
#endif
#define VT_CHUNK ((size_t)1 << VT_CHUNK_SHIFT)
#define VT_CHUNK_SLICES ((unsigned)(VT_CHUNK >> VT_SLICE_SHIFT))
_Static_assert(VT_CHUNK_SLICES <= 64, "a chunk's slices are the bits of one word");
#define VT_ALL_SLICES                                                                              \
    (VT_CHUNK_SLICES == 64 ? ~UINT64_C(0) : (UINT64_C(1) << (VT_CHUNK_SLICES & 63)) - 1)
#define VT_SLAB_MAX_BLOCKS                                                                         \
    512 /* as many as a slab has bits for; slabs of the three smallest classes leave slices part empty */
#define VT_MAX_NODES 8
#define VT_MAX_TRACTS 56 /* see tract.c */
#define VT_MAX_SHARDS (VT_MAX_NODES + VT_MAX_TRACTS)

struct block {
    uintptr_t
        link; /* the next free block, encoded; see link.h. The rest is the user's, but for blocks on a shelf: */
    uintptr_t mark; /* see shelf.h */
};

/* Who owns a slice: a heap's address, with bit 0 set for the later slices of a slab; or one of these. A thread's tag
 * is its heap's address, so every other kind of slice leaves free's fast path by the same compare. (A thread without a heap
 * has tag 0, as has a slice without an owner: that one fails the next test, its recip is 0.) */
enum {
    VT_OWNER_NONE = 0,
    VT_OWNER_INNER = 1, /* bit */
    VT_OWNER_LARGE = 2, /* bit: a free of these is rare enough to be told apart late */
    /* of all threads; or a bit beside the address of a thread's heap; not of later slices */
    VT_OWNER_MEDIUM = 4,
    VT_OWNER_SAMPLED = 8 | VT_OWNER_LARGE,
    VT_OWNER_OWN =
        16 | VT_OWNER_LARGE /* bits beside the address of a heap that is no thread's, own.c */
};

struct heap;
VT_INLINE bool is_medium_owner(uintptr_t owner) { return (owner & VT_OWNER_MEDIUM) != 0; }
/* Where a thread's heap owns the slab. */
VT_INLINE struct heap *heap_of_owner(uintptr_t owner) {
    return (struct heap *)(owner & ~(uintptr_t)VT_OWNER_MEDIUM);
}

enum slab_state {
    SLAB_FREE,
    SLAB_CURRENT,
    SLAB_PARTIAL,
    SLAB_FULL,
    SLAB_SHARED /* see medium.c */,
    SLAB_SAMPLED /* a LARGE run */
};

enum slab_zero { ZERO_UNKNOWN, ZERO_AS_IT_CAME, ZERO_CLEARED /* by us: it is all resident */ };

/* A slab is named by the index of its first slice; 0 is no slab (slice 0 is never handed out). */
typedef uint32_t slab_id;

/* Two cache lines. The first has all that a free needs, but for the bits of slabs with more than 192 blocks. */
struct slab {
    /* any thread reads; the owner, or the holder of the heaps lock for a heap without a thread, writes */
    _Atomic uintptr_t owner;
    uint64_t
        recip; /* of the block size; copied here so that free finds it in the line it has; 0: no slab starts here */
    size_t carved; /* blocks handed out at least once. LARGE: bytes before the block */
    uint8_t cls;
    uint8_t delta; /* slices back to the first one */
    /* owner only */
    uint8_t state;
    uint8_t
        was_zero; /* enum slab_zero: what is known of uncarved memory. LARGE: of all of it, if calloc asked */
    uint32_t
        room; /* LARGE: OS pages of the block. Else local frees until the slab wants attention: wake-up when FULL, empty otherwise */
    struct block *
        free; /* freed by the owner, newest first; NULL when none. LARGE: the heap of own.c it is in */
    uint32_t is_free[VT_SLAB_MAX_BLOCKS / 32]; /* bit per block: in `free` */
    slab_id next, prev; /* the partial or full queue of its bin; LARGE: see own.c */
    /* any thread */
    union {
        _Atomic slab_id pending_next; /* the owner's stack of slabs with remote frees */
        uint32_t held_slices; /* LARGE: of the run, those that the block has reached so far */
    };
    uint32_t run_slices;     /* LARGE: slices of the run. Of own.c: sampled blocks */
    _Atomic uint64_t remote; /* blocks freed by other threads; see remote.c */
#if VT_HARDEN > 1
    uint8_t held[VT_SLAB_MAX_BLOCKS]; /* see held.h */
#endif
} VT_ALIGNED(VT_CACHE_LINE);
_Static_assert(VT_HARDEN > 1 || sizeof(struct slab) == 2 * VT_CACHE_LINE,
               "a slab's descriptor is two cache lines");
/* PARTIAL and SHARED: room == blocks out (live, in a list, or on their way back) == carved - |free|; CURRENT: one more.
 * FULL: carved == capacity and room == wake(capacity) - |free|. Checked by slab_is_valid(). */

/* What is known of the blocks in list[]. */
enum list_kind {
    LIST_AS_IT_CAME,
    LIST_IS_ZERO,    /* they were never used: zero but for the link */
    LIST_IS_NUMBERED /* `mark` of each: how many there are before it; see count.c */
};

struct bin {
    slab_id current; /* list[] holds blocks of this slab only */
    slab_id
        partial; /* slabs with enough free blocks, oldest first: they gather more while they wait */
    slab_id partial_last;
    slab_id full;
    uint32_t last_refill; /* heap.n_refills at the last one */
    uint32_t n_shared;    /* blocks taken from the common heap so far */
    uint32_t list_kind;   /* enum list_kind */
    uint32_t n_listed;    /* LIST_IS_NUMBERED: blocks in list[] when they were */
};

/* Slabs in a row; see queue.h. */
struct queue {
    slab_id first, last;
};

/* Free blocks of one small class at hand, newest first; see shelf.h. */
struct shelf {
    struct block *top;
    uint32_t n;
};
#ifndef VT_SHELF_SMALL_BYTES
#define VT_SHELF_SMALL_BYTES KiB(4)
#endif
#ifndef VT_SHELF_MEDIUM_BYTES
#define VT_SHELF_MEDIUM_BYTES KiB(64)
#endif
/* Free medium blocks at hand, by class, newest last; see magazine.h. One array for each thing that malloc and free look at: an index
 * is then part of the address, and what they look at of all classes fits into few cache lines. */
struct magazines {
    struct block **slot[VT_N_MEDIUM];
    int32_t n[VT_N_MEDIUM];
    int32_t most[VT_N_MEDIUM]; /* so many may be in it */
    struct magazine_use {
        uint32_t room;    /* slots */
        uint32_t n_trips; /* to the slabs that all threads share; this and the rest: see medium.c */
        uint32_t n_out;   /* blocks taken from the thread's own slabs */
        uint32_t n_home;  /* of these, freed by other threads */
        uint32_t n_spilled; /* blocks that went back since malloc last found none */
    } use[VT_N_MEDIUM];
    size_t most_bytes; /* what all of them may hold */
    uint32_t hand;     /* the one to look at next when they may hold too much */
};
/* Free medium blocks of any classes that leave a thread together; see exchange.h. */
#define VT_PARCEL_BLOCKS 64
struct vt_parcel {
    uint32_t n, n_bytes;
    uint8_t cls[VT_PARCEL_BLOCKS];
    struct block *block[VT_PARCEL_BLOCKS];
};
#define VT_SHELF_MIN 1
#ifndef VT_SHELF_MAX
#define VT_SHELF_MAX 32
#endif
#ifndef VT_SHELVES_BYTES
#define VT_SHELVES_BYTES KiB(64) /* all shelves of a thread together */
#endif
#define VT_SHELVES_BLOCKS 128 /* the same */

/* Free slices at hand, by how many are in a row; see stock.h. */
#define VT_STOCK_KINDS 2
#define VT_STOCK_MIN 1
#ifndef VT_STOCK_MAX
#define VT_STOCK_MAX 16
#endif
struct stock {
    uint8_t n, most;
    uint32_t n_gone;    /* back to the shards, since slices were last wanted and there were none */
    uint32_t n_fetches; /* times there were none, since some went back */
    slab_id slab[VT_STOCK_MAX]; /* newest last */
};

#if VT_HARDEN > 1
/* Blocks freed of late, oldest first; see secure.h. */
#define VT_QUARANTINE_BLOCKS 1024
struct quarantine {
    uint32_t first, end; /* running numbers */
    size_t n_bytes;
    uint64_t random;
    struct block *block[VT_QUARANTINE_BLOCKS];
};
#endif

/* How far the next sample of a class is; see draw.c. */
struct draw {
    uint32_t
        left; /* medium: to come after these; a countdown has a limit, so that a new rate is noticed. Small: the countdown, those
               * in list[], and those taken from it that heap.bytes does not have yet. Large: how many are to be drawn until one is
               * sampled */
    uint32_t n_live;    /* samples of this thread's that are in use; or more than that */
    uint32_t n_in_turn; /* samples so far that found none in use */
    uint32_t n_to_draw; /* until the next sample, if not as many as usual; 0: as usual */
};
#define VT_N_DRAWS (VT_N_CLASSES + 32)
#define VT_NOT_DRAWN UINT32_MAX /* in `left`, of medium and large ones */

/* The most that was in use at once, in bytes above `base`; see peak.c. */
struct peak {
    int64_t base;
    uint64_t most;
    uint64_t unsure;           /* more, if nothing was freed since the last walk */
    uint64_t small_freed;      /* heap.small_freed when it was looked at */
    uint64_t look_at, paid_at; /* when so much was allocated */
    bool is_kept, is_base_unsure;
};

struct vt_tls;
enum heap_state { HEAP_POOLED, HEAP_LIVE };

struct heap {
    /* owner only: fast path */
    struct block *list[VT_N_SMALL]; /* ready blocks; never NULL: an empty list is vt__nil */
    /* owner only: slow path */
    struct bin bin[VT_N_SMALL];
    struct magazines magazines;
    /* By class, then by doubling of large blocks: mallocs, or OS pages of large blocks, until the next sample, that one included, blocks
     * in list[] not. 0: not drawn; see draw.c. */
    uint32_t countdown[VT_N_DRAWS];
    struct queue medium_slabs[VT_N_MEDIUM]; /* of its own, with a block to hand out; see medium.c */
    struct vt_parcel parcel;
    int64_t
        medium_held; /* bytes taken from slabs and not given back; below 0 in a thread that frees others' */
    struct shelf shelf[VT_N_SMALL];
    uintptr_t shelf_salt; /* of their links, see shelf.h */
    size_t shelf_bytes;   /* on all shelves */
    uint32_t shelf_n;     /* blocks */
    uint64_t shelf_used;  /* bit for each that may hold something */
    struct stock stock[VT_STOCK_KINDS];
    uint32_t n_refills;
    uint32_t sample_epoch;            /* of the rate that countdowns were drawn with */
    uint64_t random;                  /* the state of chance that they are drawn with */
    struct shelf spare[VT_N_CLASSES]; /* see spare.h */
    size_t spare_bytes;
    uint32_t spare_hand;          /* the class to look at next when they are too much */
    struct draw draw[VT_N_DRAWS]; /* as `countdown` */
    uint32_t label;               /* of its thread; see probe/labels.c */
    struct vt_thread_bytes bytes; /* see vt__heap_thread_bytes */
    uint64_t
        listed_bytes; /* put into lists of small classes, and not in `bytes` yet: the sum of draw.left - countdown */
    uint64_t small_allocated, small_freed; /* the parts of it that are about small blocks */
    uint64_t small_taken_over;             /* in use, of earlier threads */
    uint64_t look_at;                      /* when so much was, for vt__heap_look_is_due */
    uint64_t walk_at;                      /* when so much was allocated, for vt__heap_in_use */
    int64_t left_bytes;      /* that earlier threads left in use, or freed of others */
    uint64_t told_allocated; /* vt__heap_new_bytes has told of so much */
    struct peak peak;        /* see peak.c */
    uint64_t used;           /* bit per class: it had a slab, or a block of the common heap */
    struct vt_pace pace;     /* of walks through them */
    struct unused {
        uint16_t n_used;    /* tries in a row that found the block used */
        uint16_t n_to_pass; /* blocks until the next try */
        bool is_trying;
    } unused;                         /* see vt__purge_unused */
    uint64_t dialect_word;            /* src/dialect's, 0 for a new thread */
    uint8_t sampling;                 /* enum vt_thread_sampling */
    void *probe_slot[VT_PROBE_SLOTS]; /* probe/'s; see heap.h */
    struct own_cache *own_caches;     /* see own_cache.h; NULL: none was needed yet */
    struct vt_tls *tls;               /* of its thread; under the heaps lock */
    uint32_t number;                  /* 1, 2, 3, ...: what profiles call its thread; its own */
    bool is_first;                    /* of the process */
    bool is_taken_over; /* from an earlier thread; small_taken_over is not known yet */
    bool is_borrowed;   /* its thread is ending: give it back after each use */
    bool has_chores;    /* is_borrowed, or peak.is_kept: something follows a slow malloc */
    bool is_diverted;   /* vt__heap_divert; under the heaps lock */
    size_t warm_bytes;  /* carved in slabs it waits with; 0: none; under the heaps lock */
    /* any thread */
    VT_ALIGNED(VT_CACHE_LINE)
    _Atomic uint64_t inbox; /* blocks that others freed, for us to collect; see remote.c */
    _Atomic uint32_t unseen_since_ms; /* that something is there; 0: we have looked */
    _Atomic slab_id pending;          /* slabs with remote frees, the same */
    _Atomic uint32_t state;
    _Atomic uint32_t n_whole_pending; /* slabs that came back whole since we last looked */
    _Atomic uint64_t n_remote_frees;  /* blocks of ours that other threads freed */
    /* under the heaps lock */
    struct heap *next;      /* all heaps, never shortened */
    struct heap *pool_next; /* heaps without a thread, newest first */
#if VT_HARDEN > 1
    struct quarantine quarantine; /* owner only */
#endif
} VT_ALIGNED(VT_CACHE_LINE);

/* A read that may meet another thread's write and takes either value. Plain where gcc would not fold an atomic load into
 * the instruction that uses it (one instruction more on free's fast path); aligned words do not tear. */
#if defined(__has_feature) /* clang's way of saying it */
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define vt_racy_read(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#else
#define vt_racy_read(x) (x)
#endif

/* A thread's view. Four words, initial-exec: little enough to load by dlopen. */
struct vt_tls {
    struct heap *
        heap; /* lists to allocate from; NULL: the slow path. All zero is a valid state: an ifunc resolver may call
                        * malloc before the loader has set thread-local variables up. */
    uintptr_t tag;     /* compared with a slab's owner */
    struct heap *real; /* NULL: not attached */
    bool
        is_busy; /* in a slow path: a signal handler that comes here again must not wait for our locks */
    uint8_t fork_depth; /* a handler of the program may fork, too */
    uint8_t n_polls;    /* with free memory kept, modulo 256 */
};
extern __thread struct vt_tls vt__tls __attribute__((tls_model("initial-exec")));

/* Where the window and its tables are. Written at start, then constant, but for n_slices, which grows. */
struct vt_map {
    uintptr_t base;
    size_t n_slices; /* window in use: beyond it no pointer is ours; see vt_racy_read */
    struct slab *slabs;
    uintptr_t key;      /* mixes the links of free lists; its top bits are set, see link.h */
    uintptr_t mark_key; /* ~key: mixes the marks of free blocks that wait, see shelf.h */
} VT_ALIGNED(VT_CACHE_LINE);
extern struct vt_map vt__map;
extern const struct block vt__nil; /* the empty list: its link leads to the slow path */

VT_INLINE uintptr_t vt__slice_address(slab_id i) {
    return vt__map.base + ((uintptr_t)i << VT_SLICE_SHIFT);
}
VT_INLINE void *vt__chunk_address(size_t chunk) {
    return (void *)(vt__map.base + (chunk << VT_CHUNK_SHIFT));
}
VT_INLINE slab_id vt__slice_of(const void *p) {
    return (slab_id)(((uintptr_t)p - vt__map.base) >> VT_SLICE_SHIFT);
}
VT_INLINE struct slab *vt__slab(slab_id i) { return &vt__map.slabs[i]; }
VT_INLINE slab_id vt__slab_id(const struct slab *s) { return (slab_id)(s - vt__map.slabs); }
VT_INLINE bool vt__is_in_window(const void *p) {
    return ((uintptr_t)p - vt__map.base) >> VT_SLICE_SHIFT < vt_racy_read(vt__map.n_slices);
}

/* window.c: address space */
struct vt_window {
    size_t n_bytes;
    size_t n_chunks;   /* chunks grown so far, from the bottom; under the pool lock */
    size_t n_foreign;  /* of these, skipped because somebody else is there */
    size_t first_huge; /* the first touch of a chunk from this one on makes all of it resident */
    bool is_reserved;  /* false: constrained mode, mapped piece by piece */
};
extern struct vt_window vt__window;
int vt__window_open(void);
/* relaxed: it becomes false under the pool lock; whoever does not hold that takes it as a hint */
VT_INLINE bool vt__window_is_reserved(void) {
    return __atomic_load_n(&vt__window.is_reserved, __ATOMIC_RELAXED);
}
/* More chunks at the top: first and count of what came, which in constrained mode may be less than was asked for. Under
 * the pool lock. */
int vt__window_grow(size_t n_chunks, size_t *first, size_t *got);
/* No whole chunk can be had: the first slices of one, n or more; the others stay nobody's for good. Under the pool lock. */
int vt__window_grow_part(unsigned n, size_t *chunk, unsigned *got);
void vt__window_cut(
    size_t n_chunks); /* no more than these, of which are in use. Under the pool lock */
size_t vt__window_metadata_bytes(void); /* resident tables, as far as we touched them */

/* chunk.c: slices and chunks */
enum chunk_huge { CHUNK_AS_IT_CAME, CHUNK_HUGE /* huge pages were asked for */, CHUNK_WITHDRAWN };
struct chunk {
    uint64_t free_slices;   /* bit set: belongs to no slab or run */
    uint64_t dirty_slices;  /* bit set: may be resident and hold old data; or free and filled */
    uint64_t filled_slices; /* of these: resident since another's first touch, and still zero */
    uint32_t next, prev;    /* the shard's bin of chunks with this longest free run */
    uint8_t longest;        /* longest run of free slices: the bin it is in; 0: in none */
    _Atomic uint8_t
        node; /* whose shard it is in, a tract's from VT_MAX_NODES on; written under the pool lock, together with its leaving the pool */
    uint8_t huge;        /* enum chunk_huge */
    uint8_t is_foreign;  /* constrained mode: this address was taken by somebody else */
    uint64_t dirtied_ms; /* when a slice last became free and dirty */
};
_Static_assert(sizeof(struct chunk) <= 64, "a chunk's descriptor stays in one cache line");
extern struct chunk *vt__chunks;
int vt__chunks_open(void);
/* A run of slices: 0 and the first one. `align` in slices, a power of two; or VT_ROOM_TO_GROW, for a place with free slices
 * behind it. `cls` is what they are for: slices that were such a slab before are preferred. is_zero: all of it reads as zero. */
#define VT_ROOM_TO_GROW SIZE_MAX
#define VT_CLASS_NONE UINT8_MAX
int vt__slices_take(size_t n_slices, size_t align, unsigned cls, slab_id *first, bool *is_zero);
/* The same out of a tract (tract.c). */
int vt__tract_take(struct vt_tract *t, size_t n_slices, size_t align, slab_id *first,
                   bool *is_zero);
VT_INLINE int vt__slices_take_in(struct vt_tract *t, size_t n_slices, size_t align, unsigned cls,
                                 slab_id *first, bool *is_zero) {
    return vt_likely(t == NULL) ? vt__slices_take(n_slices, align, cls, first, is_zero)
                                : vt__tract_take(t, n_slices, align, first, is_zero);
}
void vt__slices_give(slab_id first, size_t n_slices);
/* n runs of n_slices each; the list is changed. */
bool vt__slices_are_in_tract(slab_id first);
void vt__slices_give_some(slab_id *list, unsigned n, unsigned n_slices);
/* Up to n single slices that were in use before and are resident; answers how many. */
unsigned vt__slices_take_resident(unsigned n, unsigned n_slices, slab_id *out);
/* The end of a run that stays: the program says that it needs no more of it, so it does not wait to be wanted again. */
void vt__slices_give_end(slab_id first, size_t n_slices);
/* A run of which its program perhaps used little. was_cleared: calloc wrote to all of it. */
void vt__slices_give_unused(slab_id first, size_t n_slices, bool was_cleared);
/* Grow the run at `first` in place: true when the slices behind it were free. */
bool vt__slices_extend(slab_id first, size_t n_slices, size_t n_more);
void vt__slices_zero(
    slab_id first,
    size_t n_slices); /* old data in slices just taken is cleared; clean ones stay untouched */
/* purge.c: of slices that were in use before and now hold n_bytes, what is behind these goes back to the system. */
#define VT_TAIL_MIN_BYTES KiB(8) /* less is not worth a system call */
void vt__purge_tail(slab_id first, size_t n_slices, size_t n_bytes);
bool vt__purge_is_pressed(void); /* memory is near the soft limit */
void vt__chunks_fork_prepare(void);
void vt__chunks_fork_done(bool is_child);

struct vt_chunk_stats {
    size_t grown_bytes;    /* window made accessible */
    size_t used_bytes;     /* slices in slabs and runs */
    size_t retained_bytes; /* free slices that may be resident */
    size_t purged_bytes;   /* given back, sum since start */
    size_t n_purges;
};
void vt__chunks_stats(struct vt_chunk_stats *out);

/* slab.c */
/* Frees until a full slab is worth visiting again. */
VT_INLINE uint32_t vt__wake_after(const struct slab *s) {
    uint32_t n = vt__classes[s->cls].capacity >> VT_WAKE_SHIFT;
    return n > 0 ? n : 1;
}
void vt__slab_attend(struct slab *s); /* room is used up */
void vt__free_attend(void *p); /* the same for the slab of p, as the last thing a free does */
bool vt__refill(struct heap *h, unsigned cls);
struct block *vt__take_one(struct heap *h,
                           unsigned cls); /* one block of any class, past the lists, by h's owner */
struct block *vt__refill_freed(
    struct heap *h, unsigned cls,
    const struct block *last); /* what came back to the current slab; vt__nil if nothing */
void vt__slab_give_back(struct slab *s, struct block *b); /* one block, not by free's fast path */
void vt__slab_put_chain(struct slab *s, struct block *head, struct block *tail,
                        uint32_t n); /* marked already */
struct slab *vt__slab_let_go(struct heap *h,
                             unsigned cls); /* the current one, in no queue then; NULL: none */
void vt__heap_drop_empty(struct heap *h,
                         bool has_heaps_lock); /* no lists, and no slab without a block in use */
struct slab *vt__slab_new(uintptr_t owner, unsigned cls); /* NULL: no memory */
struct slab *vt__slab_new_in(struct vt_tract *t, uintptr_t owner, unsigned cls); /* t may be NULL */
void vt__slab_release(struct slab *s);                      /* empty, and in no queue */
struct block *vt__slab_take(struct slab *s, bool *is_zero); /* one block; NULL: it has none */
bool vt__slab_is_out(const struct slab *s,
                     size_t k); /* block k was handed out, and is not in `free`. Any thread */
#ifdef VT_WITH_AUDIT
bool vt__slab_is_valid(const struct slab *s);
#endif
void vt__slab_change_owner(struct slab *s, uintptr_t to);
/* Blocks not in `free`: live, in a list, or on their way back. */
VT_INLINE uint32_t vt__slab_n_out(const struct slab *s) {
    if (s->state == SLAB_FULL) return s->room + (uint32_t)s->carved - vt__wake_after(s);
    return s->room - (s->state == SLAB_CURRENT);
}
void vt__slab_start_over(struct slab *s); /* all its blocks are free, and its memory is fresh */
void vt__queue_remove(struct heap *h, struct slab *s); /* from the partial or full queue */
void vt__make_current(struct heap *h, struct slab *s);
/* In no queue, with room == blocks out: h's from now on. */
void vt__slab_take_over(struct heap *h, struct slab *s);
void vt__slab_join(struct heap *h, struct slab *s); /* and into the queue where it belongs */

/* shelf.c */
void vt__send_home(unsigned cls, struct block *list,
                   uintptr_t salt); /* linked as on a shelf: to their owners, or to medium slabs */
void vt__shelves_send(struct heap *h);  /* they are too full */
void vt__shelves_clear(struct heap *h); /* all blocks go home */
/* For who finds no memory, and holds no lock: the free blocks that the calling thread keeps, and those that wait for any thread, go
 * back to their slabs. False: there were none. */
bool vt__give_kept(void);

/* medium.c */
void vt__medium_open(void);
struct block *vt__medium_take(struct heap *h, unsigned cls, bool *is_zero); /* NULL: no memory */
/* To the slabs they are of, whoever has those; h may be NULL. They bear a shelf's mark. */
void vt__medium_give_some(struct heap *h, unsigned cls, struct block *const *list, unsigned n);
/* The same, but what is not of h's own slabs goes to other threads, by way of h's parcel. */
void vt__medium_pass_on(struct heap *h, unsigned cls, struct block *const *list, unsigned n);
/* The same where h, if any, has counted them already. */
void vt__medium_give_away(struct heap *h, unsigned cls, struct block *const *list, unsigned n);
/* The same for n blocks of one slab of h's that other threads freed: linked, and marked as free in the slab. */
void vt__medium_absorb(struct heap *h, struct slab *s, struct block *head, struct block *tail,
                       uint32_t n);
/* One of `from`'s own slabs of this class with a block to hand out becomes h's. Under the heaps lock. */
bool vt__medium_take_over(struct heap *h, struct heap *from, unsigned cls);
void vt__medium_begin_anew(struct heap *h);                  /* another thread's from now on */
struct block *vt__sampled_take(unsigned cls, bool *is_zero); /* NULL: no memory */
void vt__sampled_give(struct slab *s, struct block *b);
void vt__sampled_give_some(struct block *const *b, unsigned n);
void vt__medium_join(struct slab *s); /* in no queue: all threads' from now on */
void vt__medium_fork_prepare(void);
void vt__medium_fork_done(bool is_child);

/* remote.c */
/* Blocks of other heaps on their way home, by heap. Blocks of a list that is linked as on a shelf join, and are sent when
 * there is no room; at last all of them are. */
#define VT_N_MAILS 8
struct vt_mail {
    struct heap *to;
    struct block *head, *tail;
    uint32_t n;
};
void vt__mail_add(struct vt_mail mail[VT_N_MAILS], unsigned cls, struct block *list,
                  uintptr_t salt);
void vt__mail_send(struct vt_mail mail[VT_N_MAILS]);
void vt__remote_send(unsigned cls, struct block *list, uintptr_t salt); /* both */
/* All that waits in inboxes goes to the slabs, where it is counted. With no lock held. */
void vt__remote_sort(void);
uint64_t vt__remote_count(uint64_t remote_word);
bool vt__remote_is_discarded(uint64_t remote_word);
VT_NORETURN void vt__remote_double_free(const struct slab *s, uint64_t remote_word);
void vt__remote_collect(struct heap *h,
                        bool has_heaps_lock); /* what others freed of h's, by h's owner */
VT_INLINE bool vt__has_remote(struct heap *h) {
    /* relaxed: who comes too early comes again */
    return atomic_load_explicit(&h->inbox, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&h->pending, memory_order_relaxed) != 0;
}

/* draw.c: which mallocs are sampled */
void vt__draws_init(struct heap *h);
bool vt__draw_small(struct heap *h,
                    unsigned cls); /* the list is empty: is the next one to be sampled? */
void vt__draw_failed(struct heap *h, unsigned cls); /* it was not, but there is no memory for it */
bool vt__draw_single(struct heap *h, unsigned cls); /* small, not from the list: is this one?
                                                     * Who takes it counts its bytes */
bool vt__draw_medium(struct heap *h, unsigned cls); /* the countdown came to 0: is this one? */
bool vt__draw_large(struct heap *h, unsigned draw,
                    size_t n_bytes); /* is this one, with so many more bytes? */
unsigned vt__draw_of_large(size_t n_bytes);
/* After each sample. Answers for how many that were drawn it stands. */
unsigned vt__draw_again(struct heap *h, unsigned draw);
/* A sample of this draw, or somebody else's, is in use no more. */
void vt__draw_ended(struct heap *h, unsigned draw, enum vt_probe_known known);

/* count.c */
uint32_t vt__list_ready(struct heap *h, unsigned cls); /* blocks in list[], by its owner */
void vt__draws_settle(struct heap *h, unsigned cls);   /* heap.bytes has all of a small class */
uint64_t vt__draws_settle_all(struct heap *h);         /* answers the bytes that wait in list[] */
#ifdef VT_WITH_AUDIT
bool vt__draws_are_valid(const struct heap *h);
#endif
uint64_t vt__draws_taken_bytes(const struct heap *h); /* allocated, or waiting in list[] */
/* Brings heap.bytes.freed up to date by a walk through the slabs. False: it is long, more than n_short slabs, and not due yet. */
bool vt__heap_count_freed(struct heap *h, uint64_t ready_bytes, size_t n_short);

void vt__heap_leave_in_use(struct heap *h); /* its thread ends: before heap.bytes begins anew */

/* peak.c */
void vt__heap_do_chores(struct heap *h); /* not entered */

/* thread.c */
struct heap *vt__heap_attach(void); /* NULL: no memory */
struct block *vt__take_shared(
    unsigned cls); /* a block of the common heap, which no thread owns; NULL: none */
/* A slab of a heap without a thread becomes our current one, or one of our medium ones. */
bool vt__adopt(struct heap *h, unsigned cls);
void vt__heaps_cool(void); /* heaps without a thread give up their lists */
extern struct vt_lock vt__heaps_lock;
struct heap *vt__heaps_first(void);
void vt__heap_collect_pooled(struct heap *h); /* as its owner, if it has no thread */
size_t vt__heaps_count(size_t *n_live);
size_t vt__heaps_live(void); /* a hint: with a thread, at least 1 */

/* large.c */
void *vt__large_alloc(size_t n_bytes, size_t align, bool zero); /* NULL: no memory */
void *vt__large_alloc_behind(
    size_t n_bytes, size_t skipped,
    bool zero); /* so many bytes behind a slice's start, less than a slice; NULL: no memory */
/* Either of them, out of a tract; t may be NULL, and one of align and skipped is nothing. */
void *vt__large_alloc_in(struct vt_tract *t, size_t n_bytes, size_t align, size_t skipped,
                         bool zero);
void *vt__large_start(const struct slab *s); /* its block */
void vt__large_free(struct slab *s, void *p);
size_t vt__large_usable(const struct slab *s);
bool vt__large_resize(struct slab *s, size_t n_bytes); /* where it is; false: it stays as it was */
void *vt__large_realloc(struct slab *s, void *p, size_t n_bytes); /* NULL: do it by copying */
void *vt__large_alloc_growing(
    size_t n_bytes);           /* for a block that is likely to grow; NULL: no memory */
#define VT_GROWING_MIN KiB(16) /* realloc moves a growing block to a run of its own from here on */

/* tract.c */
void vt__tract_set_apart(struct vt_tract *t); /* what of it is free now is */

/* own.c */
void vt__owns_fork_prepare(void);
void vt__owns_fork_done(bool is_child);
bool vt__own_free(struct slab *s, uintptr_t owner,
                  void *p); /* the owner as it was read; false: it has another now, free it again */
VT_INLINE struct vt_own *vt__own_of_owner(uintptr_t owner) {
    return (struct vt_own *)(owner & ~(uintptr_t)(VT_OWNER_OWN | VT_OWNER_INNER));
}
void vt__own_cache_free(void *p, struct slab *s, uintptr_t owner); /* as free does; own_cache.h */
void vt__own_forget_run(struct slab *s); /* its LARGE block is being freed */
#ifdef VT_WITH_AUDIT
void vt__own_audit(struct vt_own *o);
#endif

/* check.c: the user's heap is damaged; say so and stop */
VT_NORETURN VT_COLD void vt__bad_free(const void *p);
VT_NORETURN VT_COLD void vt__bad_link(const struct block *b, unsigned cls);
VT_NORETURN VT_COLD void vt__bad_kind(const void *p, size_t usable, enum vt_made_by made,
                                      enum vt_made_by freed);
VT_NORETURN VT_COLD void vt__bad_size(const void *p, size_t n_bytes, size_t usable);
VT_NORETURN VT_COLD void vt__double_free(const void *p, const struct slab *head);
/* The same of a block of this slab that cannot be told from others; p is one of them. */
VT_NORETURN VT_COLD void vt__double_free_near(const void *p, const struct slab *head);
/* The same where no slab tells: its block is free, p is so far inside of one, there is none. */
VT_NORETURN VT_COLD void vt__already_free(const void *p, size_t block_bytes);
VT_NORETURN VT_COLD void vt__not_a_start(const void *p, size_t inside, size_t block_bytes);
VT_NORETURN VT_COLD void vt__no_block(const void *p);

/* alloc.c */
void vt__poll(void); /* at the end of a slow path, with no lock held */
/* Free memory above `retain` was kept: the thread that purges is to be told; it goes back by the way when it is due. */
enum { VT_PURGE_TOLD = 1, VT_PURGE_KEPT = 2 };
extern _Atomic uint8_t vt__purge_wants;
void vt__purge_what_is_due(void); /* purge.c; entered, with no lock held */
enum { VT_WATCH_EXACT = 1, VT_WATCH_HOOKS = 2 };
extern _Atomic uint8_t vt__watch; /* who watches; a thread may notice late */
extern _Atomic(const struct vt_heap_hooks *) vt__hooks;
void *vt__malloc_slow(size_t n_bytes);
void *vt__take_large(struct heap *h, void *p,
                     size_t n_bytes); /* counts a new run off, perhaps as a sample; answers p */
VT_NOINLINE void vt__free_outside(void *p);                     /* NULL, or not in the window */
void vt__free_of_own(void *p, struct slab *s, uintptr_t owner); /* of own.c, by its lock */
VT_NOINLINE void vt__free_other(void *p,
                                struct slab *s); /* in the window, but not of our own small slabs */

VT_HIDDEN_END

#endif
