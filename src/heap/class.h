/* class.h - size classes: which block size serves a request, and how its slabs are cut.
 *
 * Small: 64 classes, 16 bytes apart, up to 1 KiB; the index is arithmetic. Medium: 48 classes, 8 per doubling, up to
 * 64 KiB. Above that a request gets a run of whole slices (large.c).
 *
 * Climate: malloc.   Owns: vt__classes, filled once at start, then read by every thread.
 */
#ifndef VT_HEAP_CLASS_H
#define VT_HEAP_CLASS_H

#include "heap/heap.h"

VT_HIDDEN_BEGIN

#define VT_BLOCK_ALIGN 16u
#define VT_SMALL_MAX KiB(1)
#define VT_N_SMALL 64u
#define VT_MEDIUM_MAX KiB(64)
#define VT_N_MEDIUM (VT_N_CLASSES - VT_N_SMALL)

_Static_assert(VT_N_SMALL *VT_BLOCK_ALIGN == VT_SMALL_MAX, "small classes reach SMALL_MAX");

struct vt_class {
    uint32_t block_bytes;
    uint32_t recip;    /* ceil(2^32 / block_bytes); see is_block_start() */
    uint16_t capacity; /* blocks in a slab */
    uint8_t n_slices;  /* slices in a slab */
    uint8_t
        list_goal; /* blocks a refill likes to hand over: enough to amortise it, little enough for the cache */
    uint8_t shelf_max; /* blocks on a thread's shelf */
    bool has_tail;     /* behind the last block of a slab there is room worth a system call */
};

extern struct vt_class vt__classes[VT_N_CLASSES];

void vt__classes_init(void);

/* 1 <= n_bytes <= VT_MEDIUM_MAX */
VT_INLINE unsigned vt__class_of(size_t n_bytes) {
    size_t n = n_bytes - 1;
    if (n < VT_SMALL_MAX) return (unsigned)(n >> 4);
    unsigned top = vt_log2(n); /* 10..15: eight classes between 2^top and 2^(top+1) */
    return VT_N_SMALL + (top - 10) * 8 + (unsigned)(n >> (top - 3)) - 8; /* 8..15, less 8 */
}

/* The first class from n_bytes on whose blocks are all aligned; align <= VT_SLICE. The last one, 64 KiB, suits all. */
VT_INLINE unsigned vt__class_aligned(size_t n_bytes, size_t align) {
    unsigned cls = vt__class_of(n_bytes);
    while ((vt__classes[cls].block_bytes & (align - 1)) != 0) cls++;
    return cls;
}

VT_INLINE size_t vt__class_bytes(unsigned cls) {
    if (cls < VT_N_SMALL) return (cls + 1) * VT_BLOCK_ALIGN;
    unsigned m = cls - VT_N_SMALL;
    return ((size_t)(m & 7) + 9) << (m / 8 + 7);
}

VT_HIDDEN_END

#endif
