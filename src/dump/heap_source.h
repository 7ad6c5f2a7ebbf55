/* heap_source.h - the probes' knowledge as rows for a heap profile. Climate: host, no malloc. */
#ifndef VT_DUMP_HEAP_SOURCE_H
#define VT_DUMP_HEAP_SOURCE_H

#include "dump/profile.h"
#include "probe/probe.h"

VT_HIDDEN_BEGIN

#define VT_ROW_LABELS 16 /* of a sample, the innermost */

struct vt_heap_rows {
    enum vt_heap_kind kind;
    uint64_t period_bytes;
    uint32_t cursor;
    struct vt_site site;
    const char *keys[VT_ROW_LABELS], *values[VT_ROW_LABELS];
};

/* A source over `rows`, which must outlive it. */
struct vt_heap_source vt__heap_source(struct vt_heap_rows *rows, enum vt_heap_kind kind);

VT_HIDDEN_END

#endif
