/* progress.c - see progress.h. Climate: cli. */
#include "report/progress.h"

#include <stddef.h>

void (*report_progress)(const char *what, const char *name, uint64_t done, uint64_t all) = NULL;
