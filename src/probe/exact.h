/* exact.h - every allocation, when asked for: probe/exact.c. Climate: malloc; the readers host. */
#ifndef VT_PROBE_EXACT_H
#define VT_PROBE_EXACT_H

#include <stdatomic.h>

#include "base/base.h"

VT_HIDDEN_BEGIN

int vt__exact_set(
    bool
        on); /* from now on, and from 0; 0 or -errno. What was allocated before is not known, and its free not counted */
bool vt__exact_is_set(void);
void vt__exact_ask_requested(
    bool on); /* dumps are due by what was asked for, not by the blocks' sizes */
const _Atomic bool *vt__exact_word(void); /* where it is, for other processes */

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
