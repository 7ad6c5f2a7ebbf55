/* tract.c - parts of the window that heaps can be tied to: what mimalloc calls an arena.
 *
 * A tract is a row of chunks with a shard of its own. All of its chunks are in the shard's bins, the wholly free ones too, and
 * never in the pool: slices that come back find their shard by the chunk. Who takes slices from a tract gets them from there or
 * not at all.
 *
 * One that is not set apart at once is a row of chunks in the pool that were made accessible. When a heap wants it, those that
 * are still wholly free leave the pool for its shard; the others stay everybody's.
 *
 * Climate: malloc.   Owns: the tracts, and vt__shards from VT_MAX_NODES on.   Locks: shard, then pool. Tracts are never given back.
 */
#include <errno.h>

#include "heap/chunk.h"
#include "heap/upcalls.h"

struct vt_tract {
    /* under the pool lock; constant once it is ready */
    enum { UNUSED, IN_THE_MAKING, READY } state;
    size_t first, n_chunks;
    /* under its shard's lock */
    bool is_apart;
};

static struct vt_tract tracts[VT_MAX_TRACTS];

static struct vt_shard *shard_of(const struct vt_tract *t) {
    return &vt__shards[VT_MAX_NODES + (t - tracts)];
}

/* A row of the table; one whose making failed is used again. Under the pool lock. */
static struct vt_tract *unused_row(void) {
    unsigned n = atomic_load_explicit(&vt__pool.n_tracts, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++)
        if (tracts[i].state == UNUSED) return &tracts[i];
    if (n == VT_MAX_TRACTS) return NULL;
    vt__shards[VT_MAX_NODES + n].lock =
        (struct vt_lock)VT_LOCK_INIT(VT_LOCK_SHARD + VT_MAX_NODES + n);
    /* release: a fork that finds the row without the pool lock finds its lock ready */
    atomic_store_explicit(&vt__pool.n_tracts, n + 1, memory_order_release);
    return &tracts[n];
}

/* It is nobody's until it has its place: the child of a fork in between has a row less. */
static struct vt_tract *take_row(void) {
    vt_lock(&vt__pool.lock);
    struct vt_tract *t = unused_row();
    if (t != NULL) t->state = IN_THE_MAKING;
    vt_unlock(&vt__pool.lock);
    return t;
}

/* Its chunks in the pool become the shard's. Under its lock. */
static void set_apart(struct vt_tract *t) {
    for (size_t i = t->first; !t->is_apart && i < t->first + t->n_chunks; i++) {
        vt_lock(&vt__pool.lock);
        bool is_ours = vt__pool_has(i);
        if (is_ours) vt__pool_join(i, shard_of(t));
        vt_unlock(&vt__pool.lock);
        if (is_ours) vt__chunk_bin(&vt__chunks[i]);
    }
    t->is_apart = true;
}

void vt__tract_set_apart(struct vt_tract *t) {
    if (!vt__enter()) return;
    vt_lock(&shard_of(t)->lock);
    set_apart(t);
    vt_unlock(&shard_of(t)->lock);
    vt__leave();
}

/* Accessible from now on, and everybody's: a row of chunks out of the pool, and back into it. Under the pool lock. */
static int find_place(struct vt_tract *t) {
    int err = vt__pool_take(&vt__shards[0], t->n_chunks, /* align */ 1, &t->first);
    for (size_t i = 0; err == 0 && i < t->n_chunks; i++) vt__pool_put(t->first + i);
    return err;
}

static int open_tract(size_t n_chunks, bool at_once, unsigned *number) {
    struct vt_tract *t = take_row();
    if (t == NULL) return -ENOMEM;
    struct vt_shard *sh = shard_of(t);
    vt_lock(&sh->lock);
    vt_lock(&vt__pool.lock);
    t->n_chunks = n_chunks;
    int err = find_place(t);
    t->state = err == 0 ? READY : UNUSED;
    t->is_apart = false;
    vt_unlock(&vt__pool.lock);
    if (err == 0 && at_once) set_apart(t);
    vt_unlock(&sh->lock);
    *number = (unsigned)(t - tracts) + 1;
    return err;
}

int vt__tract_new(size_t n_bytes, bool at_once, unsigned *number) {
    if (n_bytes == 0) return -EINVAL;
    if (n_bytes > PTRDIFF_MAX || vt__life_start() != 0 || !vt__enter()) return -ENOMEM;
    int err = open_tract(vt_div_up(n_bytes, VT_CHUNK), at_once, number);
    vt__leave();
    return err;
}

struct vt_tract *vt__tract(unsigned number) {
    struct vt_tract *t = NULL;
    if (number == 0 || number > VT_MAX_TRACTS || !vt__enter()) return NULL;
    vt_lock(&vt__pool.lock);
    if (tracts[number - 1].state == READY) t = &tracts[number - 1];
    vt_unlock(&vt__pool.lock);
    vt__leave();
    return t;
}

void *vt__tract_area(const struct vt_tract *t, size_t *n_bytes) {
    *n_bytes = t->n_chunks << VT_CHUNK_SHIFT;
    return vt__chunk_address(t->first);
}

/* ---- slices ---- */

static bool is_wholly_free(const struct vt_tract *t, size_t chunk) {
    const struct chunk *c = &vt__chunks[chunk];
    return vt__shard_of(c) == shard_of(t) && c->free_slices == VT_ALL_SLICES;
}

/* n wholly free chunks in a row whose address is a multiple of `align` chunks: the lowest. */
static bool find_chunks(const struct vt_tract *t, size_t n, size_t align, size_t *out) {
    size_t base = vt__map.base >> VT_CHUNK_SHIFT;
    size_t n_free = 0;
    for (size_t i = t->first; i < t->first + t->n_chunks; i++) {
        bool may_start = n_free > 0 || (base + i) % align == 0;
        n_free = may_start && is_wholly_free(t, i) ? n_free + 1 : 0;
        *out = i + 1 - n_free;
        if (n_free == n) return true;
    }
    return false;
}

static bool take(struct vt_tract *t, size_t n_slices, size_t align, slab_id *first,
                 size_t *n_clean) {
    if (n_slices < VT_CHUNK_SLICES && align < VT_CHUNK_SLICES)
        return vt__shard_cut(shard_of(t), (unsigned)n_slices, align, first, n_clean);
    size_t chunk;
    if (!find_chunks(t, vt_div_up(n_slices, VT_CHUNK_SLICES), vt_max(align / VT_CHUNK_SLICES, 1),
                     &chunk))
        return false;
    *n_clean = vt__chunks_use(chunk, n_slices);
    *first = (slab_id)(chunk * VT_CHUNK_SLICES);
    return true;
}

int vt__tract_take(struct vt_tract *t, size_t n_slices, size_t align, slab_id *first,
                   bool *is_zero) {
    size_t n_clean = 0;
    vt__purge_before_take(n_slices);
    vt_lock(&shard_of(t)->lock);
    bool is_done = take(t, n_slices, align, first, &n_clean);
    vt_unlock(&shard_of(t)->lock);
    if (!is_done) return -ENOMEM;
    vt__purge_after_take(n_clean);
    vt__hugepages_consider(*first / VT_CHUNK_SLICES);
    *is_zero = n_clean == n_slices;
    return 0;
}
