/* class.c - fills the table of size classes. Climate: malloc. */
#include "heap/class.h"

#include "heap/impl.h"

struct vt_class vt__classes[VT_N_CLASSES];

void vt__classes_init(void) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct vt_class *k = &vt__classes[c];
        size_t bytes = vt__class_bytes(c);
        k->block_bytes = (uint32_t)bytes;
        k->recip = (uint32_t)(((UINT64_C(1) << 32) + bytes - 1) / bytes);
        /* The fewest slices that hold a block. Small slabs empty more often, and only an empty slab serves another class; a
         * tail that no block fits in is only address space, but for part of a page. */
        k->n_slices = (uint8_t)vt_div_up(bytes, VT_SLICE);
        k->capacity = (uint16_t)vt_min(k->n_slices * VT_SLICE / bytes, VT_SLAB_MAX_BLOCKS);
        k->has_tail = k->n_slices * VT_SLICE - k->capacity * bytes >= VT_TAIL_MIN_BYTES;
        size_t shelf_bytes = c < VT_N_SMALL    ? VT_SHELF_SMALL_BYTES
                             : bytes <= KiB(8) ? VT_SHELF_MEDIUM_BYTES
                                               : KiB(128);
        k->shelf_max = (uint8_t)vt_min(vt_max(shelf_bytes / bytes, VT_SHELF_MIN), VT_SHELF_MAX);
        k->list_goal = (uint8_t)vt_min(vt_max(VT_LIST_BYTES / bytes, VT_LIST_MIN), VT_LIST_MAX);
    }
}
