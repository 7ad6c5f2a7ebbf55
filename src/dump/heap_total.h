/* heap_total.h - what a heap profile comes to. Climate: host, no malloc. */
#ifndef VT_DUMP_HEAP_TOTAL_H
#define VT_DUMP_HEAP_TOTAL_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* In use now, by the samples: estimates, and of how many places they are. */
struct vt_heap_total {
    uint64_t bytes, objects, n_stacks;
};
void vt__heap_total(struct vt_heap_total *out);

VT_HIDDEN_END

#endif
