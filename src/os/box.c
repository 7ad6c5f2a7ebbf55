/* box.c - see box.h. Climate: signal.   Owns: the head, while it is in memory.   Locks: none. */
#include "os/box.h"

static VT_ALIGNED(VT_BOX_ALIGN) struct vt_box in_memory;
struct vt_box *vt__box = &in_memory;
struct vt_region *vt__box_regions[VT_BOX_N_REGIONS];

static volatile struct vt_box_guard always = {.is_mine = 1};
volatile struct vt_box_guard *vt__box_guard = &always;
struct vt_box_span vt__box_span;

/* Two threads that come at once write the same, but for the time. */
static VT_COLD void begin(struct vt_box *b) {
    for (unsigned i = 0; i < sizeof(b->magic); i++)
        __atomic_store_n(&b->magic[i], VT_BOX_MAGIC[i], __ATOMIC_RELAXED);
    __atomic_store_n(&b->version, VT_BOX_VERSION, __ATOMIC_RELAXED);
    __atomic_store_n(&b->n_bytes, (uint32_t)sizeof(*b), __ATOMIC_RELAXED);
    __atomic_store_n(&b->start_ns, vt__os_wall_ns(), __ATOMIC_RELAXED);
    __atomic_store_n(&b->entry, vt__os_entry(), __ATOMIC_RELAXED);
    /* release: who finds the address finds the rest */
    __atomic_store_n(&b->at, (uintptr_t)b, __ATOMIC_RELEASE);
}

struct vt_box *vt__box_begun(void) {
    if (vt_unlikely(!vt__box_is_begun())) begin(vt__box);
    return vt__box;
}

void vt__box_note_region(struct vt_region *r) {
    uintptr_t base = (uintptr_t)atomic_load_explicit(&r->base, memory_order_relaxed);
    __atomic_store_n(&vt__box_begun()->region[r->box - 1], base, __ATOMIC_RELEASE);
    vt__box_regions[r->box - 1] = r;
}
