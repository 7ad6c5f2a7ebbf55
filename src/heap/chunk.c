/* chunk.c - who gets which slices of which chunk.
 *
 *   shard   one per NUMA node: its partly used chunks, in 64 bins by their longest run of free slices; one per tract (tract.c): all
 *           of its chunks
 *   pool    chunks that are wholly free, as two bitmaps (free; free and clean), and the growth of the window
 *
 * A slab takes the slices of the newest one of its class that was given back (recent.c). A block that grows takes the longest run.
 * Any other small request takes the smallest sufficient run, from the fullest chunk of the first few; a chunk whose last slice comes
 * back goes to the pool. Requests of a chunk or more take neighbouring chunks from the pool, and the rest of the last chunk goes to
 * the shard. Slices that are dirty (resident) are preferred to clean ones: they cost no page fault.
 *
 * Climate: malloc.   Owns: chunk[], shards, pool.   Locks: shard, then pool.
 */
#include "heap/chunk.h"

#include <errno.h>

#include "conf/options.h"
#include "heap/stock.h"
#include "heap/upcalls.h"
#include "os/os.h"

struct chunk *vt__chunks;
struct vt_shard vt__shards[VT_MAX_SHARDS];
struct vt_pool vt__pool = {.lock = VT_LOCK_INIT(VT_LOCK_POOL)};

/* ---- bits ---- */

/* Bits i where i..i+n-1 are all set in x. */
static uint64_t runs_of(uint64_t x, unsigned n) {
    while (n > 1) {
        unsigned shift = n / 2;
        x &= x >> shift;
        n -= shift;
    }
    return x;
}

static unsigned longest_run(uint64_t x) {
    unsigned longest = 0;
    while (x != 0) { /* run by run: there are few */
        x >>= __builtin_ctzll(x);
        if (x == ~UINT64_C(0)) return 64;
        unsigned n = (unsigned)__builtin_ctzll(~x);
        longest = n > longest ? n : longest;
        x >>= n;
    }
    return longest;
}

static uint64_t mask_of(unsigned first, unsigned n) {
    return (n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << first;
}

static uint64_t aligned_bits(size_t align) {
    uint64_t bits = 0;
    for (size_t i = 0; i < VT_CHUNK_SLICES; i += align) bits |= UINT64_C(1) << i;
    return bits;
}

/* ---- a shard's bins ---- */

struct vt_shard *vt__shard_of(const struct chunk *c) {
    /* relaxed: the caller has slices of it in use, so it stays where it is; or looks again under the locks */
    return &vt__shards[atomic_load_explicit(&c->node, memory_order_relaxed)];
}

#ifdef VT_WITH_AUDIT
/* In the bin of its longest free run, or in none: full, or on its way to or from the pool. */
static bool chunk_is_valid(const struct chunk *c) {
    return c->longest == 0 ||
           (c->longest == longest_run(c->free_slices) && vt__shard_of(c)->bin[c->longest] != 0);
}
#endif

void vt__chunk_unbin(struct chunk *c) {
    VT_AUDIT(chunk_is_valid(c));
    struct vt_shard *sh = vt__shard_of(c);
    if (c->longest == 0) return;
    if (c->prev != 0)
        vt__chunks[c->prev - 1].next = c->next;
    else
        sh->bin[c->longest] = c->next;
    if (c->next != 0) vt__chunks[c->next - 1].prev = c->prev;
    if (sh->bin[c->longest] == 0) sh->occupied &= ~(UINT64_C(1) << (c->longest - 1));
    c->longest = 0;
}

void vt__chunk_bin(struct chunk *c) {
    struct vt_shard *sh = vt__shard_of(c);
    unsigned n = longest_run(c->free_slices);
    if (n == 0) return;
    uint32_t name = (uint32_t)(c - vt__chunks) + 1;
    c->longest = (uint8_t)n;
    c->prev = 0;
    c->next = sh->bin[n];
    if (c->next != 0) vt__chunks[c->next - 1].prev = name;
    sh->bin[n] = name;
    sh->occupied |= UINT64_C(1) << (n - 1);
}

/* ---- the pool of wholly free chunks ---- */

static void set_bit(uint64_t *map, size_t i, bool on) {
    uint64_t bit = UINT64_C(1) << (i % 64);
    map[i / 64] = on ? map[i / 64] | bit : map[i / 64] & ~bit;
}

static bool get_bit(const uint64_t *map, size_t i) { return (map[i / 64] >> (i % 64) & 1) != 0; }

bool vt__pool_has(size_t chunk) { return get_bit(vt__pool.free_map, chunk); }

void vt__pool_put(size_t chunk) {
    struct chunk *c = &vt__chunks[chunk];
    bool is_clean = c->dirty_slices == 0;
    c->free_slices = VT_ALL_SLICES;
    set_bit(vt__pool.free_map, chunk, true);
    set_bit(vt__pool.clean_map, chunk, is_clean);
    vt__pool.n_free++;
    vt__pool.n_clean += is_clean;
    vt__pool.low_word = vt_min(vt__pool.low_word, chunk / 64);
}

void vt__pool_remove(size_t chunk) {
    vt__pool.n_free--;
    vt__pool.n_clean -= get_bit(vt__pool.clean_map, chunk);
    set_bit(vt__pool.free_map, chunk, false);
    set_bit(vt__pool.clean_map, chunk, false);
}

/* One free chunk: the lowest dirty one, else the lowest. */
static bool pool_find_one(size_t *out) {
    if (vt__pool.n_free == 0) return false;
    bool wants_dirty = vt__pool.n_free > vt__pool.n_clean;
    size_t n_words = vt_div_up(vt__window.n_chunks, 64);
    bool seen_any = false;
    for (size_t w = vt__pool.low_word; w < n_words; w++) {
        if (!seen_any && vt__pool.free_map[w] == 0) {
            vt__pool.low_word = w + 1;
            continue;
        }
        seen_any = true;
        uint64_t bits =
            vt__pool.free_map[w] & (wants_dirty ? ~vt__pool.clean_map[w] : ~UINT64_C(0));
        if (bits == 0) continue;
        *out = w * 64 + (size_t)__builtin_ctzll(bits);
        return true;
    }
    return false;
}

/* The first chunk from i up whose address (not only its offset) is a multiple of `align` chunks. */
static size_t align_chunk(size_t i, size_t align) {
    size_t base = vt__map.base >> VT_CHUNK_SHIFT;
    return vt_round_up(base + i, align) - base;
}

/* n free chunks in a row, aligned: the lowest. */
static bool pool_find_run(size_t n, size_t align, size_t *out) {
    if (vt__pool.n_free < n) return false;
    size_t start = align_chunk(vt__pool.low_word * 64, align);
    size_t i = start;
    while (start + n <= vt__window.n_chunks) {
        if (i % 64 == 0 && i + 64 <= start + n && vt__pool.free_map[i / 64] == ~UINT64_C(0)) {
            i += 64;
        } else if (get_bit(vt__pool.free_map, i)) {
            i++;
        } else {
            start = align_chunk(i + 1, align);
            i = start;
            continue;
        }
        if (i >= start + n) {
            *out = start;
            return true;
        }
    }
    return false;
}

/* What the limits count: chunks that are in use, or free and possibly resident. */
static size_t footprint(void) {
    return (vt__window.n_chunks - vt__pool.n_clean - vt__window.n_foreign) << VT_CHUNK_SHIFT;
}

/* How many of the n chunks would become resident anew? All but the dirty ones. */
static bool is_over(size_t limit, size_t n_new_chunks) {
    return limit != 0 && footprint() + (n_new_chunks << VT_CHUNK_SHIFT) > limit;
}

/* Chunks at the top of the window. A free chunk that already ends there is part of the need. */
static bool pool_grow(size_t n, size_t align) {
    size_t have = 0;
    while (have < n && vt__window.n_chunks > have &&
           get_bit(vt__pool.free_map, vt__window.n_chunks - have - 1))
        have++;
    size_t start = align_chunk(vt__window.n_chunks - have, align);
    size_t need = start + n - vt__window.n_chunks;
    size_t first;
    size_t got;
    if (vt__window_grow(need, &first, &got) != 0) return false;
    for (size_t i = first; i < first + got; i++) vt__pool_put(i);
    vt__probe_grown(got << VT_CHUNK_SHIFT);
    return true;
}

#define GROW_TRIES 64 /* one is enough, unless constrained mode meets obstacles */

/* These free chunks come into use: does the hard limit allow it? Dirty ones are counted already. Under the pool lock. */
static bool limit_allows(size_t first, size_t n) {
    size_t n_clean = 0;
    for (size_t i = first; i < first + n; i++) n_clean += get_bit(vt__pool.clean_map, i);
    return n_clean == 0 || !is_over(vt_opt(limit), n_clean);
}

static void join_shard(struct chunk *c, const struct vt_shard *sh) {
    /* relaxed: read under the lock we hold, or as a hint */
    atomic_store_explicit(&c->node, (uint8_t)(sh - vt__shards), memory_order_relaxed);
}

void vt__pool_join(size_t chunk, const struct vt_shard *sh) {
    vt__pool_remove(chunk);
    join_shard(&vt__chunks[chunk], sh);
}

int vt__pool_take(struct vt_shard *sh, size_t n, size_t align, size_t *out) {
    for (int tries = 0; tries < GROW_TRIES; tries++) {
        bool found = n == 1 && align == 1 ? pool_find_one(out) : pool_find_run(n, align, out);
        if (found) {
            if (!limit_allows(*out, n)) return -ENOMEM;
            for (size_t i = 0; i < n; i++) vt__pool_join(*out + i, sh);
            return 0;
        }
        if (is_over(vt_opt(limit), n)) return -ENOMEM;
        if (!pool_grow(n, align)) return -ENOMEM;
    }
    return -ENOMEM;
}

VT_COLD bool vt__pool_trim(void) {
    size_t end = vt__window.n_chunks;
    while (end > 1 && vt__pool_has(end - 1)) {
        struct chunk *c = &vt__chunks[--end];
        vt__pool_remove(end);
        vt__slices_count(&vt__pool.dirty_slices, 0 - (size_t)vt_count_bits(c->dirty_slices));
        c->free_slices = c->dirty_slices = c->filled_slices = 0;
        c->huge = CHUNK_AS_IT_CAME;
    }
    if (end == vt__window.n_chunks) return false;
    vt__window_cut(end);
    return true;
}

/* ---- taking ---- */

static struct vt_shard *my_shard(void) {
    return vt__pool.n_nodes <= 1 ? &vt__shards[0] : &vt__shards[vt__os_node() % vt__pool.n_nodes];
}

/* A chunk of this shard with room for n slices in a row: bins from the smallest sufficient, the fullest of the first few. */
static struct chunk *find_chunk(struct vt_shard *sh, unsigned n, uint64_t starts) {
    uint64_t bins = sh->occupied & ~UINT64_C(0) << (n - 1);
    for (; bins != 0; bins &= bins - 1) {
        unsigned b = (unsigned)__builtin_ctzll(bins) + 1;
        struct chunk *best = NULL;
        unsigned looked = 0;
        for (uint32_t i = sh->bin[b]; i != 0 && looked < 4; looked++) {
            struct chunk *c = &vt__chunks[i - 1];
            i = c->next;
            if ((runs_of(c->free_slices, n) & starts) == 0) continue;
            if (best == NULL || vt_count_bits(c->free_slices) < vt_count_bits(best->free_slices))
                best = c;
        }
        if (best != NULL) return best;
    }
    return NULL;
}

/* A chunk from the pool joins this shard. */
static struct chunk *fresh_chunk(struct vt_shard *sh) {
    size_t i = 0;
    vt_lock(&vt__pool.lock);
    int err = vt__pool_take(sh, 1, 1, &i);
    vt_unlock(&vt__pool.lock);
    return err == 0 ? &vt__chunks[i] : NULL;
}

/* Slices of c, of which all were free and clean, come into use: where that makes the others resident, they are dirty. */
static void fill_others(struct chunk *c, uint64_t mask) {
    if (!vt__hugepages_fill((size_t)(c - vt__chunks))) return;
    c->dirty_slices = c->filled_slices = ~mask;
    c->dirtied_ms = vt__os_now_ms();
    vt__slices_count(&vt__pool.dirty_slices, vt_count_bits(~mask));
}

/* Free slices of c come into use; answers how many of them are clean, or as good as that. Under the shard lock. */
static size_t use_slices(struct chunk *c, uint64_t mask) {
    if (c->free_slices == VT_ALL_SLICES && c->dirty_slices == 0) fill_others(c, mask);
    vt__chunk_unbin(c);
    c->free_slices &= ~mask;
    vt__chunk_bin(c);
    size_t n_dirty = vt_count_bits(c->dirty_slices & mask);
    vt__slices_count(&vt__pool.dirty_slices, 0 - n_dirty);
    vt__slices_count(&vt__pool.used_slices, vt_count_bits(mask));
    c->dirty_slices &= ~(c->filled_slices & mask);
    c->filled_slices &= ~mask;
    return vt_count_bits(mask & ~c->dirty_slices);
}

/* Whether a large block ends where this free run begins: the slice before it is used, and of all slices in use only those inside
 * of a large block have no owner. A hint: it may just be coming or going. */
static bool is_behind_large(slab_id first) {
    if (first % VT_CHUNK_SLICES == 0) return false;
    uintptr_t owner = atomic_load_explicit(&vt__slab(first - 1)->owner, memory_order_relaxed);
    return owner == VT_OWNER_LARGE || owner == VT_OWNER_NONE;
}

/* For a block that grows: the longest free run, if that is twice what is needed now. At its start; or, where that would keep
 * another block from growing, in its middle, so that both have room. */
static struct chunk *find_roomy_chunk(struct vt_shard *sh, unsigned n, uint64_t *starts) {
    if (sh->occupied == 0) return NULL;
    unsigned longest = vt_log2(sh->occupied) + 1;
    if (longest < 2 * n) return NULL;
    struct chunk *c = &vt__chunks[sh->bin[longest] - 1];
    unsigned first = (unsigned)__builtin_ctzll(runs_of(c->free_slices, longest));
    if (longest >= 4 * n &&
        is_behind_large((slab_id)((size_t)(c - vt__chunks) * VT_CHUNK_SLICES + first)))
        first += longest / 2;
    *starts = UINT64_C(1) << first;
    return c;
}

/* n slices in a row out of c. Under the shard lock. */
static slab_id cut(struct chunk *c, unsigned n, uint64_t starts, size_t *n_clean) {
    uint64_t runs = runs_of(c->free_slices, n) & starts;
    uint64_t dirty_runs = runs_of(c->free_slices & c->dirty_slices, n) & starts;
    unsigned first = (unsigned)__builtin_ctzll(dirty_runs != 0 ? dirty_runs : runs);
    *n_clean = use_slices(c, mask_of(first, n));
    return (slab_id)((size_t)(c - vt__chunks) * VT_CHUNK_SLICES + first);
}

static uint64_t starts_of(size_t align) {
    return align == 1 || align == VT_ROOM_TO_GROW ? ~UINT64_C(0) : aligned_bits(align);
}

bool vt__shard_cut(struct vt_shard *sh, unsigned n, size_t align, slab_id *first, size_t *n_clean) {
    struct chunk *c = find_chunk(sh, n, starts_of(align));
    if (c != NULL) *first = cut(c, n, starts_of(align), n_clean);
    return c != NULL;
}

/* These slices come into use if they are free and resident, in a chunk of this shard or in one that the pool has and that joins it.
 * Else they are in use, purged or being purged, or another shard's. Under the shard lock. */
static bool use_again(struct vt_shard *sh, slab_id first, unsigned n) {
    size_t i = first / VT_CHUNK_SLICES;
    struct chunk *c = &vt__chunks[i];
    uint64_t mask = mask_of(first % VT_CHUNK_SLICES, n);
    vt_lock(&vt__pool.lock);
    bool is_pooled = vt__pool_has(i);
    bool is_ours = vt__shard_of(c) == sh && c->free_slices != VT_ALL_SLICES;
    bool is_done = (is_pooled || is_ours) && (c->free_slices & c->dirty_slices & mask) == mask;
    if (is_done && is_pooled) vt__pool_join(i, sh);
    vt_unlock(&vt__pool.lock);
    if (is_done) use_slices(c, mask);
    return is_done;
}

/* The newest slab of this class that was given back and is still free. Under the shard lock. */
static bool take_recent(struct vt_shard *sh, unsigned n, unsigned cls, slab_id *first) {
    while (vt__recent_next(sh, cls, first))
        if (use_again(sh, *first, n)) return true;
    return false;
}

/* Are n chunks from `first` on in the pool, or can they be, by growing the window? Under the pool lock. */
static bool has_free_chunks(size_t first, size_t n) {
    for (size_t i = first; i < first + n; i++) {
        if (i == vt__window.n_chunks) { /* free so far */
            if (is_over(vt_opt(limit), n) || !pool_grow(n, /* align */ 1)) return false;
        }
        if (i >= vt__window.n_chunks || !get_bit(vt__pool.free_map, i)) return false;
    }
    return true;
}

/* The slices behind a run: the rest of its last chunk, then whole chunks. Under the lock of that chunk's shard, and of the pool
 * if whole chunks are needed. */
static bool extend_locked(size_t end, size_t n_more, size_t *n_clean) {
    size_t last = (end - 1) / VT_CHUNK_SLICES;
    unsigned from = (unsigned)(end % VT_CHUNK_SLICES);
    unsigned n_here = from == 0 ? 0 : (unsigned)vt_min(n_more, VT_CHUNK_SLICES - from);
    size_t n_chunks = vt_div_up(n_more - n_here, VT_CHUNK_SLICES);
    uint64_t here = n_here == 0 ? 0 : mask_of(from, n_here);
    struct chunk *c = &vt__chunks[last];
    if ((c->free_slices & here) != here) return false;
    if (n_chunks > 0 && vt__chunk_is_in_tract(c)) return false; /* it would leave it */
    if (n_chunks > 0 && !(has_free_chunks(last + 1, n_chunks) && limit_allows(last + 1, n_chunks)))
        return false;
    *n_clean = here != 0 ? use_slices(c, here) : 0;
    size_t left = n_more - n_here;
    for (size_t i = last + 1; left > 0; i++) {
        unsigned n = (unsigned)vt_min(left, VT_CHUNK_SLICES);
        vt__pool_remove(i);
        join_shard(&vt__chunks[i], vt__shard_of(c));
        *n_clean += use_slices(&vt__chunks[i], mask_of(0, n));
        left -= n;
    }
    return true;
}

#define SPAN_MIN_SLICES 16

/* Constrained mode, where addresses are few; or what is accessible counts against a limit (RLIMIT_DATA). */
static bool is_scarce(void) {
    return !vt__window_is_reserved() || vt_unlikely(vt__os_data_limit() != SIZE_MAX);
}

/* Where addresses or data are few: a run begins in the end of the chunk before the first free one, or before what the window
 * grows by, and goes on there. Else two of a little more than half a chunk would take two. Under the shard lock. */
VT_COLD static bool take_span(struct vt_shard *sh, size_t n, size_t align, slab_id *first,
                              size_t *n_clean) {
    if (!is_scarce() || n <= SPAN_MIN_SLICES) return false;
    if (n % VT_CHUNK_SLICES == 0) return false; /* these fill their chunks */
    if (align != 1 && align != VT_ROOM_TO_GROW) return false;
    vt_lock(&vt__pool.lock);
    size_t next = vt__window.n_chunks;
    (void)pool_find_one(&next);
    const struct chunk *c = &vt__chunks[vt_max(next, 1) - 1];
    bool is_ours = vt__shard_of(c) == sh && !c->is_foreign && c->free_slices != VT_ALL_SLICES;
    unsigned n_free = is_ours ? (unsigned)__builtin_clzll(~c->free_slices) : 0;
    *first = (slab_id)(next * VT_CHUNK_SLICES - n_free);
    bool is_done = n_free > 0 && extend_locked(*first, n, n_clean);
    vt_unlock(&vt__pool.lock);
    return is_done;
}

static bool take_any(struct vt_shard *sh, unsigned n, size_t align, slab_id *first,
                     size_t *n_clean) {
    bool is_roomy = align == VT_ROOM_TO_GROW;
    uint64_t starts = starts_of(align);
    struct chunk *c = is_roomy ? find_roomy_chunk(sh, n, &starts) : find_chunk(sh, n, starts);
    if (c == NULL && take_span(sh, n, align, first, n_clean)) return true;
    if (c == NULL) c = fresh_chunk(sh);
    if (c != NULL) *first = cut(c, n, starts, n_clean);
    return c != NULL;
}

static int take_from_shard(unsigned n, size_t align, unsigned cls, slab_id *first,
                           size_t *n_clean) {
    struct vt_shard *sh = my_shard();
    VT_ASSERT(cls == VT_CLASS_NONE || align == 1);
    vt_lock(&sh->lock);
    bool is_done = take_recent(sh, n, cls, first) || take_any(sh, n, align, first, n_clean);
    vt_unlock(&sh->lock);
    return is_done ? 0 : -ENOMEM;
}

size_t vt__chunks_use(size_t first_chunk, size_t n_slices) {
    size_t n_clean = 0;
    for (size_t i = 0; i * VT_CHUNK_SLICES < n_slices; i++) {
        size_t used = vt_min(n_slices - i * VT_CHUNK_SLICES, VT_CHUNK_SLICES);
        n_clean += use_slices(&vt__chunks[first_chunk + i], mask_of(0, (unsigned)used));
    }
    return n_clean;
}

/* Whole chunks, and the rest of the last one to the shard. */
static int take_chunks(size_t n_slices, size_t align, slab_id *first, size_t *n_clean) {
    size_t n = vt_div_up(n_slices, VT_CHUNK_SLICES);
    size_t chunk = 0;
    struct vt_shard *sh = my_shard();
    vt_lock(&sh->lock);
    if (take_span(sh, n_slices, align, first, n_clean)) {
        vt_unlock(&sh->lock);
        return 0;
    }
    vt_lock(&vt__pool.lock);
    size_t align_chunks = align == VT_ROOM_TO_GROW ? 1 : vt_max(align / VT_CHUNK_SLICES, 1);
    int err = vt__pool_take(sh, n, align_chunks, &chunk);
    vt_unlock(&vt__pool.lock);
    if (err == 0) {
        *n_clean = vt__chunks_use(chunk, n_slices);
        *first = (slab_id)(chunk * VT_CHUNK_SLICES);
    }
    vt_unlock(&sh->lock);
    return err;
}

static bool is_whole_chunks(size_t n_slices, size_t align) {
    return n_slices >= VT_CHUNK_SLICES || (align >= VT_CHUNK_SLICES && align != VT_ROOM_TO_GROW);
}

/* The system has no more: what is free in the chunks of other nodes is better than nothing. */
static int take_from_others(size_t n_slices, size_t align, slab_id *first, size_t *n_clean) {
    if (is_whole_chunks(n_slices, align)) return -ENOMEM;
    bool is_done = false;
    for (unsigned i = 0; i < vt__pool.n_nodes && !is_done; i++) {
        struct vt_shard *sh = &vt__shards[i];
        vt_lock(&sh->lock);
        is_done = vt__shard_cut(sh, (unsigned)n_slices, align, first, n_clean);
        vt_unlock(&sh->lock);
    }
    return is_done ? 0 : -ENOMEM;
}

static int take(size_t n_slices, size_t align, unsigned cls, slab_id *first, size_t *n_clean) {
    *n_clean = 0;
    return is_whole_chunks(n_slices, align)
               ? take_chunks(n_slices, align, first, n_clean)
               : take_from_shard((unsigned)n_slices, align, cls, first, n_clean);
}

/* Under a limit that does not leave room for a chunk: part of one. */
VT_COLD static int take_part(size_t n_slices, size_t align, slab_id *first, size_t *n_clean) {
    size_t i;
    unsigned got;
    if (is_whole_chunks(n_slices, align)) return -ENOMEM;
    struct vt_shard *sh = my_shard();
    vt_lock(&sh->lock);
    vt_lock(&vt__pool.lock);
    int err =
        is_over(vt_opt(limit), 1) ? -ENOMEM : vt__window_grow_part((unsigned)n_slices, &i, &got);
    if (err == 0) join_shard(&vt__chunks[i], sh);
    vt_unlock(&vt__pool.lock);
    if (err == 0) {
        vt__chunks[i].free_slices = mask_of(0, got);
        vt__chunk_bin(&vt__chunks[i]);
        vt__probe_grown((size_t)got << VT_SLICE_SHIFT);
        if (!vt__shard_cut(sh, (unsigned)n_slices, align, first, n_clean)) err = -ENOMEM;
    }
    vt_unlock(&sh->lock);
    return err;
}

/* What the calling thread and the shards keep. False: that was nothing. */
static VT_COLD bool give_all_back(void) {
    bool had_stock = vt__tls.real != NULL && vt__stock_clear(vt__tls.real);
    return vt__purge_all() > 0 || had_stock;
}

int vt__slices_take(size_t n_slices, size_t align, unsigned cls, slab_id *first, bool *is_zero) {
    size_t n_clean;
    if (n_slices > vt__heap_max_slices()) return -ENOMEM;
    vt__purge_before_take(n_slices);
    int err = take(n_slices, align, cls, first, &n_clean);
    if (err != 0 && give_all_back())
        err = take(n_slices, align, cls, first, &n_clean); /* the system may lack what we held */
    if (err != 0) err = take_from_others(n_slices, align, first, &n_clean);
    if (err != 0) err = take_part(n_slices, align, first, &n_clean);
    if (err != 0) return err;
    vt__purge_after_take(n_clean);
    vt__hugepages_consider(*first / VT_CHUNK_SLICES);
    *is_zero = n_clean == n_slices;
    return 0;
}

unsigned vt__slices_take_resident(unsigned n, unsigned n_slices, slab_id *out) {
    struct vt_shard *sh = my_shard();
    unsigned got = 0;
    vt_lock(&sh->lock);
    struct chunk *c = find_chunk(sh, n_slices, ~UINT64_C(0));
    uint64_t resident = c != NULL ? c->free_slices & c->dirty_slices : 0, mask = 0, starts;
    while (got < n && (starts = runs_of(resident, n_slices)) != 0) {
        unsigned first = (unsigned)__builtin_ctzll(starts);
        out[got++] = (slab_id)((size_t)(c - vt__chunks) * VT_CHUNK_SLICES) + first;
        mask |= mask_of(first, n_slices);
        resident &= ~mask;
    }
    if (c != NULL && mask != 0) use_slices(c, mask);
    vt_unlock(&sh->lock);
    return got;
}

void vt__slices_zero(slab_id first, size_t n_slices) {
    for (size_t done = 0; done < n_slices;) {
        size_t i = first + done;
        unsigned from = (unsigned)(i % VT_CHUNK_SLICES);
        unsigned n = (unsigned)vt_min(n_slices - done, VT_CHUNK_SLICES - from);
        struct chunk *c = &vt__chunks[i / VT_CHUNK_SLICES];
        struct vt_shard *sh = vt__shard_of(c);
        vt_lock(&sh->lock); /* our bits stand still, but they share a word with others */
        uint64_t dirty = c->dirty_slices & mask_of(from, n);
        vt_unlock(&sh->lock);
        for (; dirty != 0; dirty &= dirty - 1) {
            slab_id slice = (slab_id)(i - from + (size_t)__builtin_ctzll(dirty));
            __builtin_memset((void *)vt__slice_address(slice), 0, VT_SLICE);
        }
        done += n;
    }
}

/* ---- giving back ---- */

/* Some slices of one chunk become free; when all of it is, it goes to the pool. Under the shard lock. */
static void give_part(struct chunk *c, uint64_t mask, bool is_clean, uint64_t now_ms) {
    size_t n = vt_count_bits(mask);
    VT_ASSERT((c->free_slices & mask) == 0);
    vt__chunk_unbin(c);
    c->free_slices |= mask;
    if (is_clean) {
        c->dirty_slices &= ~mask;
    } else {
        c->dirty_slices |= mask;
        c->dirtied_ms = now_ms;
        vt__slices_count(&vt__pool.dirty_slices, n);
    }
    vt__slices_count(&vt__pool.used_slices, 0 - n);
    if (c->free_slices != VT_ALL_SLICES || vt__chunk_is_in_tract(c)) {
        vt__chunk_bin(c);
        return;
    }
    vt_lock(&vt__pool.lock);
    vt__pool_put((size_t)(c - vt__chunks));
    vt_unlock(&vt__pool.lock);
}

static void give(slab_id first, size_t n_slices, bool is_clean) {
    uint64_t now_ms = vt__os_now_ms();
    for (size_t done = 0; done < n_slices;) {
        size_t i = first + done;
        unsigned from = (unsigned)(i % VT_CHUNK_SLICES);
        unsigned n = (unsigned)vt_min(n_slices - done, VT_CHUNK_SLICES - from);
        struct chunk *c = &vt__chunks[i / VT_CHUNK_SLICES];
        struct vt_shard *sh = vt__shard_of(c);
        vt_lock(&sh->lock);
        if (done == 0 && !is_clean) vt__recent_note(sh, vt__slab(first)->cls, first);
        give_part(c, mask_of(from, n), is_clean, now_ms);
        vt_unlock(&sh->lock);
        done += n;
    }
    vt__purge_after_give(now_ms);
}

void vt__slices_give(slab_id first, size_t n_slices) {
    give(first, n_slices, /* is_clean */ false);
}

bool vt__slices_are_in_tract(slab_id first) {
    return vt__chunk_is_in_tract(&vt__chunks[first / VT_CHUNK_SLICES]);
}

/* Those of the list from i on that lie in the chunk of the first, as one; they are taken off it. */
static uint64_t gather(slab_id *list, unsigned *n, unsigned n_slices, const struct vt_shard *sh) {
    size_t chunk = list[0] / VT_CHUNK_SLICES;
    uint64_t mask = 0;
    unsigned n_kept = 0;
    for (unsigned i = 0; i < *n; i++) {
        if (list[i] / VT_CHUNK_SLICES == chunk) {
            mask |= mask_of(list[i] % VT_CHUNK_SLICES, n_slices);
            vt__recent_note(sh, vt__slab(list[i])->cls, list[i]);
        } else {
            list[n_kept++] = list[i];
        }
    }
    *n = n_kept;
    return mask;
}

void vt__slices_give_some(slab_id *list, unsigned n, unsigned n_slices) {
    uint64_t now_ms = vt__os_now_ms();
    struct vt_shard *locked = NULL;
    while (n > 0) {
        struct chunk *c = &vt__chunks[list[0] / VT_CHUNK_SLICES];
        struct vt_shard *sh = vt__shard_of(c);
        if (sh != locked) {
            if (locked != NULL) vt_unlock(&locked->lock);
            locked = sh;
            vt_lock(&sh->lock);
        }
        give_part(c, gather(list, &n, n_slices, sh), /* is_clean */ false, now_ms);
    }
    if (locked != NULL) vt_unlock(&locked->lock);
    vt__purge_after_give(now_ms);
}

void vt__slices_give_end(slab_id first, size_t n_slices) {
    give(first, n_slices, /* is_clean */ vt__purge_cut(first, n_slices));
}

bool vt__slices_extend(slab_id first, size_t n_slices, size_t n_more) {
    size_t end = first + n_slices;
    size_t last = (end - 1) / VT_CHUNK_SLICES;
    struct vt_shard *sh = vt__shard_of(&vt__chunks[last]);
    bool needs_pool = (end + n_more - 1) / VT_CHUNK_SLICES != last;
    size_t n_clean = 0;
    vt_lock(&sh->lock);
    if (needs_pool) vt_lock(&vt__pool.lock);
    bool is_done = extend_locked(end, n_more, &n_clean);
    if (needs_pool) vt_unlock(&vt__pool.lock);
    vt_unlock(&sh->lock);
    if (is_done) vt__purge_after_take(n_clean);
    return is_done;
}

/* ---- start, fork, statistics ---- */

_Static_assert(VT_LOCK_SHARD + VT_MAX_SHARDS - 1 == VT_LOCK_SHARD_LAST,
               "every shard's lock has a rank of its own");

int vt__chunks_open(void) {
    size_t map_bytes = vt_div_up(vt__window.n_bytes >> VT_CHUNK_SHIFT, 64) * sizeof(uint64_t);
    void *maps = vt__pool.free_map;
    int err = maps == NULL ? vt__os_map(vt_round_up(2 * map_bytes, VT_OS_PAGE), &maps) : 0;
    if (err != 0) return err;
    vt__pool.free_map = maps;
    vt__pool.clean_map = vt__pool.free_map + map_bytes / sizeof(uint64_t);
    size_t n_nodes = vt_opt(numa_nodes) != 0 ? vt_opt(numa_nodes) : vt__os_n_nodes();
    vt__pool.n_nodes = (unsigned)vt_min(n_nodes, VT_MAX_NODES);
    for (unsigned i = 0; i < VT_MAX_NODES; i++)
        vt__shards[i].lock = (struct vt_lock)VT_LOCK_INIT(VT_LOCK_SHARD + i);
    vt__purge_open();
    size_t first;
    size_t got;
    unsigned n = VT_CHUNK_SLICES;
    err = vt__window_grow(1, &first, &got);
    if (err != 0) {
        got = 1;
        err = vt__window_grow_part(/* at least */ 2, &first, &n);
    }
    if (err != 0) return err;
    /* The first slice is nobody's, so that a slab id of 0 can mean none. */
    struct chunk *c = &vt__chunks[first];
    c->free_slices = mask_of(0, n) & (first == 0 ? ~UINT64_C(1) : ~UINT64_C(0));
    vt__chunk_bin(c);
    for (size_t i = first + 1; i < first + got; i++) vt__pool_put(i);
    return 0;
}

static unsigned n_tracts(void) {
    /* acquire: pairs with the release of tract.c; it only grows, under the pool lock */
    return atomic_load_explicit(&vt__pool.n_tracts, memory_order_acquire);
}

void vt__chunks_fork_prepare(void) {
    for (unsigned i = 0; i < vt__pool.n_nodes; i++) vt_lock(&vt__shards[i].lock);
    for (unsigned n = 0;;) {
        for (; n < n_tracts(); n++) vt_lock(&vt__shards[VT_MAX_NODES + n].lock);
        vt_lock(&vt__pool.lock);
        if (n == n_tracts()) return;
        vt_unlock(&vt__pool.lock); /* one more came meanwhile, and its lock before the pool's */
    }
}

void vt__chunks_fork_done(bool is_child) {
    unsigned n = n_tracts();
    vt_lock_forked(&vt__pool.lock, is_child);
    while (n-- > 0) vt_lock_forked(&vt__shards[VT_MAX_NODES + n].lock, is_child);
    for (unsigned i = vt__pool.n_nodes; i-- > 0;) vt_lock_forked(&vt__shards[i].lock, is_child);
}

const _Atomic size_t *vt__heap_used_slices(uint64_t *slice_bytes) {
    *slice_bytes = VT_SLICE;
    return &vt__pool.used_slices;
}

void vt__chunks_stats(struct vt_chunk_stats *out) {
    *out = (struct vt_chunk_stats){0};
    out->used_bytes = atomic_load_explicit(&vt__pool.used_slices, memory_order_relaxed)
                      << VT_SLICE_SHIFT;
    out->retained_bytes = atomic_load_explicit(&vt__pool.dirty_slices, memory_order_relaxed)
                          << VT_SLICE_SHIFT;
    vt_lock(&vt__pool.lock);
    out->grown_bytes = (vt__window.n_chunks - vt__window.n_foreign) << VT_CHUNK_SHIFT;
    out->purged_bytes = vt__pool.purged_bytes;
    out->n_purges = vt__pool.n_purges;
    vt_unlock(&vt__pool.lock);
}
