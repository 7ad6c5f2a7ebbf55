/* sums.c - what the heap holds altogether, for those who ask all the time; stats.c tells it class by class.
 *
 * A program of up to some MiB gets what is true now. Where a walk through all slabs takes longer, it is taken at the pace of pace.h.
 * In between slices that came into use or went are taken for blocks; the rest is as it was seen.
 *
 * Climate: malloc.   Owns: what was seen last.   Locks: heaps; shard and pool inside vt__chunks_stats.
 */
#include "heap/exchange.h"
#include "heap/magazine.h"
#include "heap/stock.h"
#include "heap/walk.h"
#include "os/os.h"
#include "vitrine.h"

struct sums {
    size_t out_bytes;    /* in blocks of slabs: live or cached */
    size_t cached_bytes; /* of these */
    size_t resident_bytes;
    size_t large_bytes, n_large;
    size_t used_slices;    /* when the walk began */
    size_t stocked_slices; /* of these, free ones that threads keep */
};

static struct {
    struct vt_pace pace;
    struct sums seen;
} lately; /* under the heaps lock */

static size_t used_slices(void) {
    uint64_t unused;
    return atomic_load_explicit(vt__heap_used_slices(&unused), memory_order_relaxed);
}

/* ---- the walk ---- */

VT_READS_RACILY static void add_slab(struct sums *sum, const struct slab *s) {
    size_t block_bytes = vt__classes[s->cls].block_bytes;
    struct slab_use u = slab_use_of(s);
    sum->out_bytes += u.out * block_bytes;
    sum->cached_bytes += u.remote * block_bytes;
    sum->resident_bytes += slab_resident_bytes(s, u.carved);
}

/* Answers the steps it took; so does the next one. */
VT_READS_RACILY static size_t add_slices(struct sums *sum) {
    size_t n = vt_racy_read(vt__map.n_slices), n_steps = 0;
    for (size_t i = next_used_slice(1, n); i < n; i = next_used_slice(i, n), n_steps++) {
        const struct slab *s = vt__slab((slab_id)i);
        uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
        if (owner == VT_OWNER_LARGE) {
            sum->n_large++;
            sum->large_bytes += (size_t)s->room * VT_OS_PAGE;
            i += vt_max(s->run_slices, 1);
        } else if (owner == VT_OWNER_NONE || (owner & VT_OWNER_INNER) != 0) {
            i++;
        } else {
            add_slab(sum, s);
            i += vt__classes[s->cls].n_slices;
        }
    }
    return n_steps;
}

/* The lists of another thread's heap. */
VT_READS_RACILY static size_t add_lists(struct sums *sum, const struct heap *h) {
    size_t n_steps = 1;
    for (uint64_t used = h->used; used != 0; used &= used - 1) {
        unsigned c = (unsigned)__builtin_ctzll(used);
        size_t n = h->bin[c].current != 0 ? list_length(h, c, vt__classes[c].capacity) : 0;
        sum->cached_bytes += n * vt__class_bytes(c);
        n_steps += n / 4;
    }
    return n_steps;
}

static size_t add_my_lists(struct sums *sum, struct heap *h) {
    for (uint64_t used = h->used; used != 0; used &= used - 1) {
        unsigned c = (unsigned)__builtin_ctzll(used);
        sum->cached_bytes += vt__list_ready(h, c) * vt__class_bytes(c);
    }
    return 1;
}

VT_READS_RACILY static size_t add_kept(struct sums *sum, const struct heap *h) {
    if (h->own_caches == NULL) return 0;
    for (unsigned i = 0; i < N_OWN_CACHES; i++) {
        const struct own_cache *k = own_cache_kept(h, i);
        for (unsigned c = 0; k != NULL && c < VT_N_SMALL; c++)
            sum->cached_bytes += own_cache_length(k, c) * vt__class_bytes(c);
    }
    return N_OWN_CACHES * VT_N_SMALL / 4;
}

/* Under the heaps lock. */
VT_READS_RACILY static size_t add_heap(struct sums *sum, struct heap *h, bool is_mine) {
    sum->cached_bytes += h->shelf_bytes + vt__magazines_bytes(h) + h->parcel.n_bytes;
    sum->stocked_slices += vt__stock_slices(h);
    return add_kept(sum, h) + (is_mine ? add_my_lists(sum, h) : add_lists(sum, h));
}

static struct sums take(bool is_entered) {
    if (is_entered) vt__remote_sort();
    struct sums sum = {.used_slices = used_slices(), .cached_bytes = vt__exchange_bytes()};
    size_t n_steps = add_slices(&sum);
    vt_lock(&vt__heaps_lock);
    for (struct heap *h = vt__heaps_first(); h != NULL; h = h->next)
        n_steps += add_heap(&sum, h, is_entered && h == vt__tls.real);
    sum.cached_bytes = vt_min(sum.cached_bytes, sum.out_bytes);
    lately.seen = sum;
    lately.pace.n_steps = n_steps;
    vt_unlock(&vt__heaps_lock);
    return sum;
}

/* ---- what others see ---- */

static struct sums look(bool is_entered, size_t n_short) {
    vt_lock(&vt__heaps_lock);
    bool is_due = vt__pace_allows(&lately.pace, n_short);
    struct sums seen = lately.seen;
    vt_unlock(&vt__heaps_lock);
    return is_due ? take(is_entered) : seen;
}

void vt__heap_sums_forget(size_t n_long) {
    if (!vt__enter()) return;
    vt_lock(&vt__heaps_lock);
    if (lately.pace.n_steps <= n_long) lately.pace.n_steps = 0;
    vt_unlock(&vt__heaps_lock);
    vt__leave();
}

/* A handler that comes while we have a lock, here and below, must not wait for it. */
void vt__heap_pages(struct vt_stats *out) {
    struct vt_chunk_stats chunks;
    bool is_entered = vt__enter();
    vt__chunks_stats(&chunks);
    if (is_entered) vt__leave();
    out->active = chunks.used_bytes;
    out->retained = chunks.retained_bytes;
    out->mapped = chunks.grown_bytes;
    out->purged = chunks.purged_bytes;
    out->n_purges = chunks.n_purges;
}

void vt__heap_tables(struct vt_stats *out) {
    size_t n_live;
    bool is_entered = vt__enter();
    out->metadata = vt__window_metadata_bytes() + vt__arena_bytes();
    out->n_heaps = vt__heaps_count(&n_live);
    out->n_threads = n_live;
    if (is_entered) vt__leave();
}

void vt__heap_sums(struct vt_stats *out, size_t n_short) {
    bool is_entered = vt__enter();
    struct sums s = look(is_entered, n_short);
    ptrdiff_t n_came = (ptrdiff_t)(used_slices() - s.used_slices);
    vt__heap_pages(out);
    vt__heap_tables(out);
    note_stocks(out, s.stocked_slices);
    if (is_entered) vt__leave();
    ptrdiff_t in_use =
        (ptrdiff_t)(s.out_bytes - s.cached_bytes + s.large_bytes) + n_came * (ptrdiff_t)VT_SLICE;
    out->allocated = in_use > 0 ? (uint64_t)in_use : 0;
    out->cached = s.cached_bytes;
    out->fragmented = s.resident_bytes - vt_min(s.resident_bytes, s.out_bytes);
    out->large = s.large_bytes;
    out->n_large = s.n_large;
    out->resident = out->allocated + out->cached + out->fragmented + out->retained + out->metadata;
}
