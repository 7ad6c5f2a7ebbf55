/* heap_source.h - the probes' knowledge as rows for a heap profile. Climate: host, no malloc. */
#ifndef VT_DUMP_HEAP_SOURCE_H
#define VT_DUMP_HEAP_SOURCE_H

#include "dump/profile.h"
#include "os/os.h"
#include "probe/exact.h"
#include "probe/probe.h"

VT_HIDDEN_BEGIN

#define VT_ROW_LABELS 16 /* of a sample, the innermost */

struct vt_heap_rows {
    enum vt_heap_kind kind;
    uint64_t period_bytes;
    bool has_maps;       /* the program's own mappings come behind the others */
    bool is_in_maps;     /* and now they do */
    bool has_inuse_only; /* nothing is said of what was allocated in all; to be set by the caller */
    bool is_exact;       /* of exact mode */
    bool by_thread; /* in rows of exact mode threads and labels are told apart; others always do */
    uint32_t cursor;
    struct vt_exact_cursor exact_cursor;
    struct vt_exact_site exact;
    struct vt_exact_counts ages[VT_LIFETIMES]; /* of it */
    unsigned
        age; /* of lifetimes: 0: the next site, and what is in use of it; else one more than their index */
    struct vt_site site;
    const char *keys[VT_ROW_LABELS], *values[VT_ROW_LABELS];
    char name[VT_TASK_NAME_BYTES]; /* of its thread */
};

/* A source over `rows`, which must outlive it. While the program's own mappings are recorded, they are also in profiles of what
 * is in use. */
struct vt_heap_source vt__heap_source(struct vt_heap_rows *rows, enum vt_heap_kind kind);

VT_HIDDEN_END

#endif
