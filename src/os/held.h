/* held.h - a lock whose holder takes no signal, so that no handler waits for what it interrupted. Climate: malloc. */
#ifndef VT_OS_HELD_H
#define VT_OS_HELD_H

#include "base/lock.h"
#include "os/os.h"

/* The answer is for vt__unlock_held. */
VT_INLINE uint64_t vt__lock_held(struct vt_lock *l) {
    uint64_t mask = vt__os_hold_signals(UINT64_MAX);
    vt_lock(l);
    return mask;
}

VT_INLINE void vt__unlock_held(struct vt_lock *l, uint64_t mask) {
    vt_unlock(l);
    vt__os_restore_signals(mask);
}

#endif
