/* history.h - single samples (probe/history.h) as jemalloc's JSON. Climate: host, no malloc. */
#ifndef VT_DUMP_HISTORY_H
#define VT_DUMP_HISTORY_H

#include "base/base.h"

VT_HIDDEN_BEGIN

struct vt_history_info {
    const char *version, *resolution; /* of the times */
    uint64_t period_bytes, duration_ns;
    int64_t most_recent;
};

/* All that was logged and freed, to a file that is complete or absent; 0 or -errno, and no word on stderr. */
int vt__history_write_log(const char *path, const struct vt_history_info *info);
/* The last ones that were allocated, to a function, piece by piece. 0 or -errno. */
int vt__history_write_recent(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                             const struct vt_history_info *info);

VT_HIDDEN_END

#endif
