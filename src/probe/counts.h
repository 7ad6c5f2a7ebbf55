/* counts.h - how often each stack was met, and for how long, by labels and by who was there: what the CPU profiler and the
 * contention profile count in.
 *
 * Climate: signal; host where it says so.   Locks: none.
 */
#ifndef VT_PROBE_COUNTS_H
#define VT_PROBE_COUNTS_H

#include "os/os.h"

VT_HIDDEN_BEGIN

struct vt_counts {
    struct vt_region region;
};
#define VT_COUNT_CELL_BYTES VT_CACHE_LINE
#define VT_COUNT_CELLS ((size_t)585 << 10) /* (1 + 8 + 64 + 512) Ki, see counts.c */
#define VT_COUNTS                                                                                  \
    { VT_REGION(VT_COUNT_CELLS *VT_COUNT_CELL_BYTES, KiB(64)) }
/* The same, in the box. */
#define VT_BOXED_COUNTS(which)                                                                     \
    { VT_BOXED_REGION(which, VT_COUNT_CELLS *VT_COUNT_CELL_BYTES, KiB(64)) }

struct vt_count {
    uint32_t stack, label; /* depot id, heap label */
    uint32_t who;          /* below 2^20; what it means is the caller's */
    uint64_t n, on_ns, off_ns;
};

bool vt__counts_add(struct vt_counts *c, const struct vt_count *more); /* false: no room */
void vt__counts_forget(struct vt_counts *c);                           /* from now on; host */
/* Copies, of what is not 0 since then: *cursor begins at 0. False at the end. */
bool vt__counts_next(struct vt_counts *c, uint32_t *cursor, struct vt_count *out);

VT_HIDDEN_END

#endif
