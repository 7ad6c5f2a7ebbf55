/* stats.c - what the heap holds, class by class, added up from the descriptors when somebody asks; malloc and free count nothing.
 *
 * Approximate: other threads go on meanwhile. Their counters are read as they are, and a list of ready blocks is followed
 * only as long as it looks like one; see walk.h.
 *
 * Climate: malloc.   Owns: how long the last walk was.   Locks: heaps (the registry), pool inside vt__heap_pages.
 */
#include "heap/exchange.h"
#include "heap/spare.h"
#include "heap/stock.h"
#include "heap/walk.h"
#include "vitrine.h"

static struct vt_pace pace; /* under the heaps lock */

VT_READS_RACILY static void add_cached_of(const struct heap *h, struct vt_class_stats *classes) {
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        if (h->bin[c].current != 0)
            classes[c].n_cached += list_length(h, c, vt__classes[c].capacity);
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        classes[c].n_cached += vt_min(h->shelf[c].n, VT_SHELVES_BLOCKS);
    for (unsigned i = 0; i < VT_N_MEDIUM; i++)
        classes[VT_N_SMALL + i].n_cached += (uint64_t)h->magazines.n[i];
    for (unsigned k = 0; k < vt_min(h->parcel.n, VT_PARCEL_BLOCKS); k++)
        classes[h->parcel.cls[k] % VT_N_CLASSES].n_cached++;
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        classes[c].n_cached += vt_min(h->spare[c].n, VT_SPARES_MAX_BYTES / vt__class_bytes(c));
}

/* What a thread keeps of heaps of own.c. */
VT_READS_RACILY static void add_kept_of(const struct heap *h, struct vt_class_stats *classes) {
    for (unsigned i = 0; i < N_OWN_CACHES; i++) {
        const struct own_cache *k = own_cache_kept(h, i);
        for (unsigned c = 0; k != NULL && c < VT_N_SMALL; c++)
            classes[c].n_cached += own_cache_length(k, c);
    }
}

/* Answers the free slices that threads keep. */
static size_t add_cached(struct vt_class_stats *classes, size_t n_steps) {
    size_t n_stocked = 0;
    uint32_t n_exchanged[VT_N_CLASSES] = {0};
    vt__exchange_count(n_exchanged);
    for (unsigned c = VT_N_SMALL; c < VT_N_CLASSES; c++) classes[c].n_cached += n_exchanged[c];
    vt_lock(&vt__heaps_lock); /* here, where the thread sanitizer sees it */
    pace.n_steps = n_steps;
    for (const struct heap *h = vt__heaps_first(); h != NULL; h = h->next) {
        add_cached_of(h, classes);
        add_kept_of(h, classes);
        n_stocked += vt__stock_slices(h);
    }
    vt_unlock(&vt__heaps_lock);
    return n_stocked;
}

bool vt__heap_stats_are_due(size_t n_short) {
    bool is_entered = vt__enter();
    vt_lock(&vt__heaps_lock);
    bool are_due = vt__pace_allows(&pace, n_short);
    vt_unlock(&vt__heaps_lock);
    if (is_entered) vt__leave();
    return are_due;
}

/* One slab: blocks out are live or cached. */
VT_READS_RACILY static void add_slab(const struct slab *s, struct vt_class_stats *k) {
    const struct vt_class *cls = &vt__classes[s->cls];
    struct slab_use u = slab_use_of(s);
    k->n_slabs++;
    k->n_full += u.out == cls->capacity;
    k->n_blocks += cls->capacity;
    k->n_live += u.out; /* less what is cached, at the end */
    k->n_cached += u.remote;
    k->n_free += u.carved - u.out;
    k->slab_bytes += cls->n_slices * VT_SLICE;
    k->resident_bytes += slab_resident_bytes(s, u.carved);
}

static bool brought_use(const void *p, struct vt_slab_use *out) {
    struct vt_brought b;
    if (!vt__brought_find(p, &b) || b.n_blocks == 1) return false;
    *out = (struct vt_slab_use){.at = b.at,
                                .block_bytes = b.block_bytes,
                                .n_bytes = b.n_bytes,
                                .n_blocks = b.n_blocks,
                                .n_out = b.n_used,
                                .current = b.n_used < b.n_blocks ? b.at : NULL};
    return true;
}

VT_READS_RACILY static const void *current_beside(const struct slab *s, uintptr_t owner,
                                                  bool has_room) {
    bool is_of_thread = (owner & (VT_OWNER_MEDIUM | VT_OWNER_LARGE)) == 0;
    slab_id current = is_of_thread ? ((const struct heap *)owner)->bin[s->cls].current : 0;
    if (!is_of_thread && has_room) current = vt__slab_id(s);
    return current != 0 ? (const void *)vt__slice_address(current) : NULL;
}

VT_READS_RACILY bool vt__heap_slab_use(const void *p, struct vt_slab_use *out) {
    struct vt_class_stats k = {0};
    if (!vt__is_in_window(p)) return brought_use(p, out);
    const struct slab *s = vt__slab(vt__slice_of(p));
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if (owner == VT_OWNER_NONE || owner == VT_OWNER_LARGE || (owner & VT_OWNER_INNER) != 0)
        return false;
    add_slab(s, &k);
    *out = (struct vt_slab_use){.at = (const void *)vt__slice_address(vt__slab_id(s)),
                                .block_bytes = vt__class_bytes(s->cls),
                                .n_bytes = k.slab_bytes,
                                .n_blocks = k.n_blocks,
                                .n_out = k.n_live,
                                .current = current_beside(s, owner, k.n_live < k.n_blocks)};
    return true;
}

/* Answers the steps it took. */
VT_READS_RACILY static size_t add_slices(struct vt_stats *out, struct vt_class_stats *classes) {
    size_t n = vt_racy_read(vt__map.n_slices), n_steps = 0;
    for (size_t i = next_used_slice(1, n); i < n; i = next_used_slice(i, n), n_steps++) {
        const struct slab *s = vt__slab((slab_id)i);
        uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
        if (owner == VT_OWNER_LARGE) {
            out->n_large++;
            out->large +=
                (size_t)s->room * VT_OS_PAGE; /* as vt__large_usable, which reads for its owner */
            i += vt_max(s->run_slices, 1);
        } else if (owner == VT_OWNER_NONE || (owner & VT_OWNER_INNER) != 0) {
            i++;
        } else {
            add_slab(s, &classes[s->cls]);
            i += vt__classes[s->cls].n_slices;
        }
    }
    return n_steps;
}

VT_READS_RACILY void vt__heap_each_large(void (*visit)(void *arg, size_t n_bytes), void *arg) {
    size_t n = vt_racy_read(vt__map.n_slices);
    for (size_t i = next_used_slice(1, n); i < n; i = next_used_slice(i, n)) {
        const struct slab *s = vt__slab((slab_id)i++);
        if (atomic_load_explicit(&s->owner, memory_order_acquire) != VT_OWNER_LARGE) continue;
        visit(arg, (size_t)s->room * VT_OS_PAGE);
        i += vt_max(s->run_slices, 1) - 1;
    }
}

static uint64_t count_remote(void) {
    uint64_t n = 0;
    vt_lock(&vt__heaps_lock);
    for (const struct heap *h = vt__heaps_first(); h != NULL; h = h->next)
        n += atomic_load_explicit(&h->n_remote_frees, memory_order_relaxed);
    vt_unlock(&vt__heaps_lock);
    return n;
}

void vt__heap_stats(struct vt_stats *out, struct vt_class_stats classes[VT_N_CLASSES]) {
    size_t slab_resident = 0;
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        classes[c] = (struct vt_class_stats){.block_bytes = vt__class_bytes(c)};
    /* a handler that comes now and allocates must not wait for our locks */
    bool is_entered = vt__enter();
    if (is_entered) vt__remote_sort();
    size_t n_steps = add_slices(out, classes);
    size_t n_stocked = add_cached(classes, n_steps);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct vt_class_stats *k = &classes[c];
        k->n_cached = vt_min(k->n_cached, k->n_live);
        k->n_live -= k->n_cached;
        out->allocated += k->n_live * k->block_bytes;
        out->cached += k->n_cached * k->block_bytes;
        slab_resident += k->resident_bytes;
    }
    out->fragmented = slab_resident - vt_min(slab_resident, out->allocated + out->cached);
    out->allocated += out->large;
    vt__heap_pages(out);
    vt__heap_tables(out);
    note_stocks(out, n_stocked);
    out->n_remote = count_remote();
    if (is_entered) vt__leave();
    out->resident = out->allocated + out->cached + out->fragmented + out->retained + out->metadata;
}
