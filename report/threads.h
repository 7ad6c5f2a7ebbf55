/* threads.h - a profile in parts, one for each thread that its samples name by a label. Climate: cli. */
#ifndef REPORT_THREADS_H
#define REPORT_THREADS_H

#include "report/profile.h"

/* To the last sample: whose it is. */
void threads_label(struct profile *p, int64_t thread);

typedef int threads_take(struct profile *part, int64_t thread, void *context);
/* Gives each thread's samples to `take`, as a profile of their own, the smallest number first, until it answers anything but 0; gives
 * that answer. Samples without a thread are left out. The time is in proportion to the parts, however many there are. */
int threads_each(const struct profile *p, threads_take *take, void *context);

#endif
