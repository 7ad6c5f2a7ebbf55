/* stats.h - the heap's statistics as text or JSON. Climate: host, no malloc. */
#ifndef VT_DUMP_STATS_H
#define VT_DUMP_STATS_H

#include "base/base.h"
#include "vitrine.h"

VT_HIDDEN_BEGIN

struct vt_class_stats;
void vt__stats_take(struct vt_stats *out,
                    struct vt_class_stats *classes); /* VT_N_CLASSES of them; heap/heap.h */
void vt__stats_write(void (*sink)(void *arg, const char *data, size_t n_bytes), void *sink_arg,
                     enum vt_format format);
int vt__stats_write_fd(int fd, enum vt_format format); /* 0 or -errno */

VT_HIDDEN_END

#endif
