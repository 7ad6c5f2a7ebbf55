/* maps.h - the program's own mappings, by stack, when asked for: probe/maps.c. Climate: malloc; the readers host. */
#ifndef VT_PROBE_MAPS_H
#define VT_PROBE_MAPS_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

extern _Atomic bool vt__maps_are_recorded, vt__maps_are_on; /* the second: or somebody listens */
void vt__maps_set(bool on); /* recording, from now on; what was mapped before is not known */

/* One relaxed load: all that a call costs while nobody asked. */
VT_INLINE bool vt__maps_is_on(void) {
    return vt_unlikely(atomic_load_explicit(&vt__maps_are_on, memory_order_relaxed));
}

VT_INLINE bool vt__maps_is_recording(void) {
    return vt__maps_is_on() && atomic_load_explicit(&vt__maps_are_recorded, memory_order_relaxed);
}

/* Who hears of each such call, whether it succeeded or not; NULL: nobody. Calls come with no lock held. */
struct vt_map_call {
    enum { VT_CALL_MMAP, VT_CALL_MUNMAP, VT_CALL_MREMAP, VT_CALL_SBRK } call;
    uintptr_t at;
    size_t n_bytes, new_bytes; /* of sbrk the step, which may be negative */
    int prot, flags, fd;
    int64_t offset;
    uintptr_t to;     /* where mremap is asked to put it */
    uintptr_t result; /* as the program sees it */
};
void vt__maps_set_listener(void (*heard)(const struct vt_map_call *call));
void vt__maps_tell(const struct vt_map_call *call);

enum vt_map_use { VT_MAP_ANONYMOUS, VT_MAP_FILE, VT_MAP_BREAK };

/* The kernel gave the caller of our caller these addresses; whatever was known of them is over. */
void vt__maps_added(uintptr_t at, size_t n_bytes, enum vt_map_use use);
/* The two calls that take addresses away are made in here, so that another thread that is given the same ones comes later. 0 or
 * -errno, as the kernel says; *out is where mremap put it. */
int vt__maps_unmap(void *at, size_t n_bytes);
int vt__maps_remap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to, void **out);
/* The break moved down. */
void vt__maps_removed(uintptr_t at, size_t n_bytes);

struct vt_map_row {
    uint32_t stack; /* depot id; 0: lost */
    enum vt_map_use use;
    uint64_t n_mapped, mapped_bytes; /* calls, since recording began */
    uint64_t n_inuse, inuse_bytes;   /* calls of whose mapping something is left */
};
bool vt__maps_next(uint32_t *cursor, struct vt_map_row *out); /* *cursor begins at 0; false: end */

/* Calls, or parts of mappings, that could not be remembered: no memory, too many, or made by a signal handler that interrupted
 * us. */
uint64_t vt__maps_lost(void);

VT_HIDDEN_END

#endif
