/* stats.c - what the heap holds, added up from the descriptors when somebody asks; malloc and free count nothing.
 *
 * Approximate: other threads go on meanwhile. Their counters are read as they are, and a list of ready blocks is followed
 * only as long as it looks like one. The owners write these fields with plain instructions, because an atomic decrement in
 * two steps would cost free an instruction; the thread sanitizer is told to look away here, and nowhere else.
 *
 * Climate: malloc.   Owns: nothing.   Locks: heaps (the registry), shard and pool inside vt__chunks_stats.
 */
#include "heap/impl.h"
#include "heap/link.h"
#include "heap/own_cache.h"
#include "os/os.h"
#include "vitrine.h"

/* Blocks ready in a heap's list of one class. The list may be used up while we walk: a link that leads nowhere ends it. */
VT_READS_RACILY static size_t list_length(const struct heap *h, unsigned cls, size_t most) {
    const struct block *b = *(struct block *const volatile *)&h->list[cls];
    size_t n = 0;
    while (b != &vt__nil && n < most) {
        n++;
        uintptr_t d = link_distance(b);
        if (link_is_far(d, VT_CHUNK)) break;
        b = link_follow(b, d);
        if (!vt__is_in_window(b)) break;
    }
    return n;
}

VT_READS_RACILY static void add_cached_of(const struct heap *h, struct vt_class_stats *classes) {
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        if (h->bin[c].current != 0)
            classes[c].n_cached += list_length(h, c, vt__classes[c].capacity);
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        classes[c].n_cached += vt_min(h->shelf[c].n, VT_SHELF_MAX);
}

/* What a thread keeps of heaps of own.c. Of one that was destroyed it is void. */
VT_READS_RACILY static void add_kept_of(const struct heap *h, struct vt_class_stats *classes) {
    for (unsigned i = 0; h->own_caches != NULL && i < N_OWN_CACHES; i++) {
        const struct own_cache *k = &h->own_caches[i];
        const struct own_head *o = (const struct own_head *)k->own;
        if (o == NULL || o->generation != k->generation) continue;
        for (unsigned c = 0; c < VT_N_SMALL; c++)
            classes[c].n_cached += vt_min(k->shelf[c].max - k->shelf[c].room, VT_SLAB_MAX_BLOCKS);
    }
}

static void add_cached(struct vt_class_stats *classes) {
    vt_lock(&vt__heaps_lock); /* here, where the thread sanitizer sees it */
    for (const struct heap *h = vt__heaps_first(); h != NULL; h = h->next) {
        add_cached_of(h, classes);
        add_kept_of(h, classes);
    }
    vt_unlock(&vt__heaps_lock);
}

/* Pages that were never used before become resident as blocks are carved. */
VT_READS_RACILY static size_t resident_bytes(const struct slab *s, uint32_t carved) {
    const struct vt_class *k = &vt__classes[s->cls];
    uint32_t n = s->was_zero || carved == 0 ? carved : k->capacity;
    return vt_min(vt_round_up((size_t)n * k->block_bytes, VT_OS_PAGE), k->n_slices * VT_SLICE);
}

/* One slab: blocks out are live or cached. */
VT_READS_RACILY static void add_slab(const struct slab *s, struct vt_class_stats *k) {
    const struct vt_class *cls = &vt__classes[s->cls];
    uint32_t carved = (uint32_t)s->carved;
    uint32_t out = s->room;
    if (s->state == SLAB_FULL) out += cls->capacity - vt__wake_after(s);
    if (s->state == SLAB_CURRENT && out > 0) out--;
    if (out > carved) out = carved;
    uint64_t remote_word = atomic_load_explicit(&s->remote, memory_order_relaxed);
    uint64_t remote = vt__remote_count(remote_word);
    if (vt__remote_is_discarded(remote_word)) carved = out = 0; /* its pages are gone */
    k->n_slabs++;
    k->n_full += out == cls->capacity;
    k->n_blocks += cls->capacity;
    k->n_live += out; /* less what is cached, at the end */
    k->n_cached += vt_min(remote, out);
    k->n_free += carved - out;
    k->slab_bytes += cls->n_slices * VT_SLICE;
    k->resident_bytes += resident_bytes(s, carved);
}

static bool brought_use(const void *p, size_t *n_blocks, size_t *n_out) {
    struct vt_brought b;
    if (!vt__brought_find(p, &b) || b.n_blocks == 1) return false;
    *n_blocks = b.n_blocks;
    *n_out = b.n_used;
    return true;
}

VT_READS_RACILY bool vt__heap_slab_use(const void *p, size_t *n_blocks, size_t *n_out) {
    struct vt_class_stats k = {0};
    if (!vt__is_in_window(p)) return brought_use(p, n_blocks, n_out);
    const struct slab *s = vt__slab(vt__slice_of(p));
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if (owner == VT_OWNER_NONE || owner == VT_OWNER_LARGE || (owner & VT_OWNER_INNER) != 0)
        return false;
    add_slab(s, &k);
    *n_blocks = k.n_blocks;
    *n_out = k.n_live;
    return true;
}

VT_READS_RACILY static void add_slices(struct vt_stats *out, struct vt_class_stats *classes) {
    size_t n = vt_racy_read(vt__map.n_slices);
    for (size_t i = 1; i < n;) {
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
}

VT_READS_RACILY void vt__heap_each_large(void (*visit)(void *arg, size_t n_bytes), void *arg) {
    size_t n = vt_racy_read(vt__map.n_slices);
    for (size_t i = 1; i < n; i++) {
        const struct slab *s = vt__slab((slab_id)i);
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
    struct vt_chunk_stats chunks;
    size_t n_live;
    size_t slab_resident = 0;
    for (unsigned c = 0; c < VT_N_CLASSES; c++)
        classes[c] = (struct vt_class_stats){.block_bytes = vt__class_bytes(c)};
    /* a handler that comes now and allocates must not wait for our locks */
    bool is_entered = vt__enter();
    add_slices(out, classes);
    add_cached(classes);
    vt__chunks_stats(&chunks);
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
    out->active = chunks.used_bytes;
    out->retained = chunks.retained_bytes;
    out->mapped = chunks.grown_bytes;
    out->purged = chunks.purged_bytes;
    out->n_purges = chunks.n_purges;
    out->metadata = vt__window_metadata_bytes() + vt__arena_bytes();
    out->n_heaps = vt__heaps_count(&n_live);
    out->n_threads = n_live;
    out->n_remote = count_remote();
    if (is_entered) vt__leave();
    out->resident = out->allocated + out->cached + out->fragmented + out->retained + out->metadata;
}
