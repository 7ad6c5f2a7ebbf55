/* ranges.c - what other libraries' interfaces ask of a heap: the window as ranges, what one thread keeps, the size a block would
 * have.
 *
 * Climate: malloc.   Owns: nothing.   Locks: none; a range may have changed when it is looked at.
 */
#include "heap/stock.h"
#include "heap/impl.h"
#include "heap/link.h"
#include "heap/magazine.h"
#include "heap/shelf.h"

#define VT_CHUNK_OF(slice) ((slice) / VT_CHUNK_SLICES)

VT_READS_RACILY static enum vt_range_kind kind_of_free(size_t slice) {
    const struct chunk *c = &vt__chunks[VT_CHUNK_OF(slice)];
    bool is_dirty = (c->dirty_slices >> (slice % VT_CHUNK_SLICES) & 1) != 0;
    return is_dirty ? VT_RANGE_FREE : VT_RANGE_CLEAN;
}

static bool is_free(size_t slice) {
    const struct slab *s = vt__slab((slab_id)slice);
    return atomic_load_explicit(&s->owner, memory_order_acquire) == VT_OWNER_NONE;
}

static size_t free_slices(size_t first, size_t end) {
    size_t n = 1;
    while (first + n < end && is_free(first + n) && kind_of_free(first + n) == kind_of_free(first))
        n++;
    return n;
}

VT_READS_RACILY bool vt__heap_next_range(size_t *cursor, struct vt_heap_range *out) {
    size_t end = vt_racy_read(vt__map.n_slices);
    size_t first = vt_max(*cursor, 1), n = 1; /* slice 0 is nobody's */
    if (first >= end) return false;
    const struct slab *s = vt__slab((slab_id)first);
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    *out = (struct vt_heap_range){.kind = VT_RANGE_LARGE, .used = 1};
    if (owner == VT_OWNER_NONE) {
        n = free_slices(first, end);
        *out = (struct vt_heap_range){.kind = kind_of_free(first)};
    } else if (owner == VT_OWNER_LARGE) {
        n = vt_max(s->run_slices, 1);
    } else if ((owner & VT_OWNER_INNER) == 0) {
        const struct vt_class *k = &vt__classes[s->cls];
        n = k->n_slices;
        out->kind = VT_RANGE_SLAB;
        out->used = (double)s->carved * k->block_bytes / (double)(n * VT_SLICE);
    }
    out->at = vt__slice_address((slab_id)first);
    out->n_bytes = n * VT_SLICE;
    *cursor = first + n;
    return true;
}

size_t vt__heap_range_step(void) { return VT_SLICE; }

void vt__heap_window(struct vt_heap_place *out) {
    *out = (struct vt_heap_place){vt__map.base, vt__window.n_bytes};
}

VT_READS_RACILY void vt__heap_slab_tables(struct vt_heap_place out[2]) {
    size_t n_slices = vt_racy_read(vt__map.n_slices), n_chunks = vt_racy_read(vt__window.n_chunks);
    out[0] = (struct vt_heap_place){(uintptr_t)vt__map.slabs, n_slices * sizeof(struct slab)};
    out[1] = (struct vt_heap_place){(uintptr_t)vt__chunks, n_chunks * sizeof(struct chunk)};
}

size_t vt__heap_thread_cached_bytes(void) {
    const struct heap *h = vt__tls.real;
    size_t n_bytes = 0;
    if (h == NULL) return 0;
    for (unsigned c = 0; c < VT_N_SMALL; c++)
        for (const struct block *b = h->list[c]; b != NULL && b != &vt__nil; b = link_next(b, c))
            n_bytes += vt__class_bytes(c);
    return n_bytes + h->shelf_bytes + vt__magazines_bytes(h) + h->parcel.n_bytes;
}

void vt__heap_drop_thread_cache(void) {
    if (vt__tls.real == NULL || !vt__enter()) return;
    vt__shelves_clear(vt__tls.real);
    vt__heap_drop_empty(vt__tls.real, /* has_heaps_lock */ false);
    vt__stock_clear(vt__tls.real);
    vt__leave();
}

size_t vt__heap_grown_bytes(void) { return vt_racy_read(vt__window.n_chunks) << VT_CHUNK_SHIFT; }

size_t vt__good_size(size_t align, size_t n_bytes) {
    if (n_bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2) return 0;
    size_t n = vt_round_up(n_bytes + (n_bytes == 0), vt_max(align, VT_BLOCK_ALIGN));
    if (n > VT_MEDIUM_MAX || align > VT_SLICE) return vt_round_up(vt_max(n_bytes, 1), VT_OS_PAGE);
    unsigned cls = vt__class_of(n);
    while ((vt__class_bytes(cls) & (align - 1)) != 0) cls++; /* as vt__aligned_alloc */
    return vt__class_bytes(cls);
}
