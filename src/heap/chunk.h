/* chunk.h - the shards and the pool, shared by chunk.c (who gets what) and purge.c (what goes back). Climate: malloc. */
#ifndef VT_HEAP_CHUNK_H
#define VT_HEAP_CHUNK_H

#include "heap/impl.h"

VT_HIDDEN_BEGIN

struct vt_shard {
    struct vt_lock lock;
    uint64_t occupied; /* bit b-1: bin[b] is not empty */
    uint32_t bin[65];  /* chunk + 1, by longest free run; 0: none */
} VT_ALIGNED(VT_CACHE_LINE);

struct vt_pool {
    struct vt_lock lock;
    uint64_t *free_map;  /* bit per chunk: wholly free */
    uint64_t *clean_map; /* of these, not resident */
    size_t n_free, n_clean;
    size_t low_word; /* no free chunk below this word of free_map */
    unsigned n_nodes;
    _Atomic unsigned n_tracts; /* only grows */
    /* purge.c */
    _Atomic size_t
        budget_bytes; /* free memory that may stay resident now: `retain`, or more while the program oscillates */
    size_t peak_used_bytes; /* recent; decays */
    size_t soft_limit_bytes;
    uint64_t last_purge_ms;
    _Atomic uint64_t last_tick_ms; /* under the lock; read without, as a hint */
    _Atomic uint64_t refused_ms;   /* when the system last refused to take memory back; 0: never */
    size_t purge_cursor;           /* chunk to look at next */
    size_t purged_bytes, n_purges;
    _Atomic size_t regret_bytes; /* purged of late, and not yet missed */
    /* any thread; changed under some lock, read without */
    _Atomic size_t used_slices;  /* in slabs and runs */
    _Atomic size_t dirty_slices; /* free, and perhaps resident */
};

extern struct vt_shard
    vt__shards[VT_MAX_SHARDS]; /* of the nodes, then of the tracts: see struct vt_tract */
extern struct vt_pool vt__pool;

VT_INLINE void vt__slices_count(_Atomic size_t *counter, size_t n_more) {
    if (n_more == 0) return;
    atomic_fetch_add_explicit(counter, n_more,
                              memory_order_relaxed); /* relaxed: a figure, it guards nothing */
}

struct vt_shard *vt__shard_of(const struct chunk *c);
/* Is it set apart for some heaps? Then it stays with them when all of it is free. Under its shard's lock. */
VT_INLINE bool vt__chunk_is_in_tract(const struct chunk *c) {
    return atomic_load_explicit(&c->node, memory_order_relaxed) >= VT_MAX_NODES;
}

/* Under the shard lock: the chunk leaves its bin, changes, and comes back. */
void vt__chunk_unbin(struct chunk *c);
void vt__chunk_bin(struct chunk *c);
/* n slices in a row out of a chunk of this shard, as vt__slices_take; false: none has them. Tells how many of them are clean. */
bool vt__shard_cut(struct vt_shard *sh, unsigned n, size_t align, slab_id *first, size_t *n_clean);
/* The n slices of these wholly free chunks come into use; answers how many of them are clean. */
size_t vt__chunks_use(size_t first_chunk, size_t n_slices);

/* Under the shard lock: a slab of this class, or a run of none, was given back; the newest one noted, which is forgotten now. */
void vt__recent_note(const struct vt_shard *sh, unsigned cls, slab_id first);
bool vt__recent_next(const struct vt_shard *sh, unsigned cls, slab_id *first);

/* Under the pool lock. */
bool vt__pool_has(size_t chunk);
/* n chunks in a row for a shard; the window grows if it must. 0 or a negative errno. */
int vt__pool_take(struct vt_shard *sh, size_t n, size_t align, size_t *out);
void vt__pool_join(size_t chunk, const struct vt_shard *sh); /* this one, which the pool has */
void vt__pool_put(size_t chunk);
void vt__pool_remove(size_t chunk);
/* Constrained mode: free chunks at the top go back with their addresses. False: there are none. */
bool vt__pool_trim(void);

void vt__purge_open(void);
void vt__purge_before_take(size_t n_slices); /* what is due, and the soft limit */
void vt__purge_after_take(size_t n_clean_slices);
void vt__purge_after_give(uint64_t now_ms);
/* Slices in use that realloc is about to cut off a run: true when they went back to the system, and are clean. No lock held. */
bool vt__purge_cut(slab_id first, size_t n_slices);
void vt__hugepages_consider(size_t chunk); /* slices of it were just taken; no lock held */
bool vt__hugepages_fill(size_t chunk);     /* does its first touch make all of it resident? */
/* Slices of it, or all, are about to be purged. No lock held. */
void vt__hugepages_withdraw(size_t chunk, bool is_whole);
size_t vt__purge_all(void); /* every free page, now; answers the bytes */

VT_HIDDEN_END

#endif
