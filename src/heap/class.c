/* class.c - fills the table of size classes. Climate: malloc. */
#include "heap/class.h"

#include "heap/impl.h"

#define MAX_SLAB_SLICES 15
#define MIN_BLOCKS 4

struct vt_class vt__classes[VT_N_CLASSES];

/* The fewest slices that hold a few blocks and leave little of themselves unused. Small slabs empty more often, and only
 * an empty slab serves another class; an unused tail is only address space, but for part of a page. */
static unsigned slab_slices(size_t block_bytes) {
    for (unsigned n = 1; n < MAX_SLAB_SLICES; n++) {
        size_t slab = n * VT_SLICE;
        if (slab >= block_bytes * MIN_BLOCKS && slab % block_bytes * 8 <= slab) return n;
    }
    return MAX_SLAB_SLICES;
}

void vt__classes_init(void) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct vt_class *k = &vt__classes[c];
        size_t bytes = vt__class_bytes(c);
        k->block_bytes = (uint32_t)bytes;
        k->recip = (uint32_t)(((UINT64_C(1) << 32) + bytes - 1) / bytes);
        k->n_slices = (uint8_t)slab_slices(bytes);
        k->capacity = (uint16_t)vt_min(k->n_slices * VT_SLICE / bytes, VT_SLAB_MAX_BLOCKS);
        k->list_goal = (uint8_t)vt_min(vt_max(VT_LIST_BYTES / bytes, VT_LIST_MIN), VT_LIST_MAX);
    }
}
