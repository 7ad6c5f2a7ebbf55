/* box.h - what must outlive the process: `struct vt_box` (vitrine-box.h), and the memory of the tables that it leads to.
 *
 * In memory of our own a core file has it. In a file of the option black_box (box_file.c) it is there however the process ends.
 *
 * Climate: signal, but for what box_file.c does: host, no malloc.
 */
#ifndef VT_OS_BOX_H
#define VT_OS_BOX_H

#include "os/os.h"
#include "vitrine-box.h"

VT_HIDDEN_BEGIN

/* Where it is; never NULL. It is empty, and touched by nobody, until somebody has a table to note. */
extern struct vt_box *vt__box;
/* acquire: who finds it begun finds the rest of its head; pairs with the release in begin() */
VT_INLINE bool vt__box_is_begun(void) {
    return __atomic_load_n(&vt__box->at, __ATOMIC_ACQUIRE) != 0;
}
struct vt_box *vt__box_begun(void); /* it has its head from now on */

/* This region is reserved now. */
void vt__box_note_region(struct vt_region *r);
/* Memory for a table or a text that the box leads to: zeroed, never given back. NULL: there is none. */
void *vt__box_take(size_t n_bytes, size_t align);

/* Before anything in it is written: a child that was made without our knowledge (a bare clone()) has the parent's file. 0: it is one, or the
 * child of a fork that has no file yet; vt__box_attend() is due. */
extern volatile struct vt_box_guard {
    uint32_t is_mine;
    uint32_t
        next_run; /* one more than that of exact mode; 0 too, where it is not ours: no row has that */
} * vt__box_guard;
VT_INLINE bool vt__box_is_mine(void) { return vt_likely(vt__box_guard->is_mine != 0); }

/* Where the file is mapped that has the regions; all 0: there is none. By pointers, because libraries without a black box do without
 * box_file.c. */
extern struct vt_box_span {
    char *base;
    size_t n_bytes;
    void (*place)(unsigned which, void **at, size_t *n_bytes); /* where a region goes */
    /* Room on the disk for what is there, so that writing to it cannot fail. 0 or -errno. */
    int (*make_room)(void *at, size_t n_bytes);
} vt__box_span;
VT_INLINE bool vt__box_has_file(void) { return vt__box_span.base != NULL; }
VT_INLINE bool vt__box_holds(const void *at) {
    return (uintptr_t)at - (uintptr_t)vt__box_span.base < vt__box_span.n_bytes;
}

VT_HIDDEN_END

#endif
