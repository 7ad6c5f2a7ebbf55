/* exact.h - every allocation, when asked for: probe/exact.c. Climate: malloc; the readers host. */
#ifndef VT_PROBE_EXACT_H
#define VT_PROBE_EXACT_H

#include <stdatomic.h>

#include "base/base.h"
#include "vitrine-box.h"

VT_HIDDEN_BEGIN

/* Counts from now on, and from 0. Returns 0 or -errno. What was allocated before is not known; its free is not counted. */
int vt__exact_set(bool on);

/* Written by vt__exact_set() alone. Other processes read it through the control block. */
extern _Atomic bool vt__exact_word;

/* Inline: every program asks at its start, and the code of exact mode lies outside of what every program has in memory. */
VT_INLINE bool vt__exact_is_set(void) {
    return atomic_load_explicit(&vt__exact_word, memory_order_relaxed);
}

/* Where it notes what each block is; 0 bytes: nowhere yet. */
const void *vt__exact_notes(size_t *n_bytes);

/* Dumps are due by what was asked for, not by the blocks' sizes. */
void vt__exact_ask_requested(bool on);
/* Blocks that are allocated from now on have their age counted when they are freed. */
void vt__exact_ask_ages(bool on);
bool vt__exact_has_ages(void);

/* ---- reading: exact_read.c ---- */

struct vt_exact_counts {
    uint64_t n, bytes, requested_bytes;
};
/* One stack; by site also one thread and one set of labels, else these are 0. */
struct vt_exact_site {
    uint32_t stack, label, thread;
    struct vt_exact_counts alloc, freed,
        peak; /* all since the start, of these, in use when most was */
};
struct vt_exact_cursor { /* begins as {0} */
    const void *table;
    uint32_t place;
};
/* False at the end. Approximate while threads allocate: a site may be read between two of its numbers. */
bool vt__exact_next_stack(uint32_t *cursor, struct vt_exact_site *out);
bool vt__exact_next_site(struct vt_exact_cursor *cursor, struct vt_exact_site *out);
/* What was freed of the site that the cursor just gave, by age: below 1, 2, 4, ... milliseconds. */
void vt__exact_ages_of(const struct vt_exact_cursor *cursor,
                       struct vt_exact_counts out[VT_LIFETIMES]);
/* If most is in use just now, then that is the peak. Before reading one. */
void vt__exact_settle_peak(void);

VT_HIDDEN_END

#endif
