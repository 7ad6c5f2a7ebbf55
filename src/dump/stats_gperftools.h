/* stats_gperftools.h - the heap's statistics in the words of gperftools. Climate: host, no malloc. */
#ifndef VT_DUMP_STATS_GPERFTOOLS_H
#define VT_DUMP_STATS_GPERFTOOLS_H

#include "base/base.h"
#include "base/text.h"

VT_HIDDEN_BEGIN

/* Their figures, made of ours. */
struct vt_gperftools_stats {
    size_t in_use, page_heap_free, central_free, transfer_free, thread_free, metadata, unmapped;
    size_t physical, virtual_bytes,
        heap; /* sums: without, with what is unmapped; without metadata */
    size_t n_spans, n_threads, page_bytes;
    size_t n_purges, purged;
};
/* What is wanted of them, the dearest last: `metadata`, `physical`, `virtual_bytes` and `n_threads` need the second, `in_use`,
 * `central_free` and `thread_free` the third, and the others the first. */
enum vt_gperftools_wanted { VT_GPERFTOOLS_PAGES, VT_GPERFTOOLS_TABLES, VT_GPERFTOOLS_BLOCKS };
void vt__gperftools_stats(struct vt_gperftools_stats *out, enum vt_gperftools_wanted wanted);

/* Level 1 or, with classes and free runs, 2. */
void vt__gperftools_stats_write(struct vt_text *t, int level);

VT_HIDDEN_END

#endif
