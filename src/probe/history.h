/* history.h - single samples, kept beyond their end: the last N that were allocated, and all since a log was begun. Told by whoever
 * watches samples (vt__sample_set_watcher).
 *
 * Climate: malloc; the readers host.
 */
#ifndef VT_PROBE_HISTORY_H
#define VT_PROBE_HISTORY_H

#include "probe/probe.h"

VT_HIDDEN_BEGIN

struct vt_past_end { /* of a sample: its birth, its death */
    uint64_t at_ns;  /* monotonic; 0: not yet */
    uint32_t stack, thread;
};
struct vt_past {
    size_t requested_bytes, block_bytes;
    struct vt_past_end born, died;
};

/* With the probe lock, as the watcher is called. */
void vt__history_allocated(const struct vt_sampled *s);
void vt__history_freed(const struct vt_sampled *s);

#define VT_HISTORY_ALL UINT64_MAX
void vt__history_keep(uint64_t n_last); /* 0: none */
void vt__history_log(bool on);          /* on: begins anew; off: what was logged is forgotten */
/* *cursor begins at 0; the oldest comes first. False at the end. Of the log those that were freed. */
bool vt__history_next_recent(uint32_t *cursor, struct vt_past *out);
bool vt__history_next_logged(uint32_t *cursor, struct vt_past *out);

VT_HIDDEN_END

#endif
