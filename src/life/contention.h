/* contention.h - contention profiles: when they are begun and ended. Climate: host. */
#ifndef VT_LIFE_CONTENTION_H
#define VT_LIFE_CONTENTION_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* As the functions of vitrine.h. */
int vt__life_contention_start(const char *file);
int vt__life_contention_dump(const char *path);
int vt__life_contention_stop(void);

VT_HIDDEN_END

#endif
