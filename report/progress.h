/* progress.h - how far long work has come, for who wants to show it. Climate: cli. */
#ifndef REPORT_PROGRESS_H
#define REPORT_PROGRESS_H

#include <stdint.h>

/* "reading 'app.heap'", done of all; all 0: nobody knows how much there is. Called often: it decides what is worth
 * showing. NULL: nobody looks. */
extern void (*report_progress)(const char *what, const char *name, uint64_t done, uint64_t all);

static inline void progress(const char *what, const char *name, uint64_t done, uint64_t all) {
    if (report_progress) report_progress(what, name, done, all);
}

#endif
