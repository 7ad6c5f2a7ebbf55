/* exact.h - every allocation, when asked for: probe/exact.c. Climate: malloc; the readers host. */
#ifndef VT_PROBE_EXACT_H
#define VT_PROBE_EXACT_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Counts from now on, and from 0. Returns 0 or -errno. What was allocated before is not known; its free is not counted. */
int vt__exact_set(bool on);

/* Written by vt__exact_set() alone. Other processes read it through the control block. */
extern _Atomic bool vt__exact_word;

/* Inline: every program asks at its start, and the code of exact mode lies outside of what every program has in memory. */
VT_INLINE bool vt__exact_is_set(void) {
    return atomic_load_explicit(&vt__exact_word, memory_order_relaxed);
}

/* Dumps are due by what was asked for, not by the blocks' sizes. */
void vt__exact_ask_requested(bool on);

struct vt_exact_row {
    uint32_t stack;
    uint32_t run; /* of exact mode, that it was counted in: one from before counts for nothing */
    uint64_t n_alloc, alloc_bytes, alloc_requested_bytes;
    uint64_t n_freed, freed_bytes, freed_requested_bytes;
} VT_ALIGNED(VT_CACHE_LINE); /* one line for a malloc and its free */
bool vt__exact_next(uint32_t *cursor,
                    struct vt_exact_row *out); /* *cursor begins at 0. False at the end */

VT_HIDDEN_END

#endif
