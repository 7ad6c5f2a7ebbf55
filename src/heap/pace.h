/* pace.h - how often a walk that takes long is taken again.
 *
 * Some figures are known to the slabs only, and somebody may ask for them all the time. A short walk is taken for each question, a
 * long one so seldom that it costs a hundredth of the time at most: who asks meanwhile gets what was seen last.
 *
 * Climate: malloc.   Owns: nothing; who walks has the struct, and its lock if there must be one.
 */
#ifndef VT_HEAP_PACE_H
#define VT_HEAP_PACE_H

#include "os/os.h"

#define VT_STEPS_PER_MS 1024 /* of some 10 ns: 1 % */

struct vt_pace {
    uint64_t walked_ms;
    size_t n_steps; /* that the last one took; 0 at first */
};

/* May one begin now? Who gets true walks, and writes n_steps. */
VT_INLINE bool vt__pace_allows(struct vt_pace *p, size_t n_short) {
    if (p->n_steps <= n_short) return true;
    uint64_t now_ms = vt__os_now_ms();
    if (now_ms - p->walked_ms <= p->n_steps / VT_STEPS_PER_MS) return false;
    p->walked_ms = now_ms;
    return true;
}

#endif
