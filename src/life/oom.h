/* oom.h - the option heap_oom: life/oom.c. Climate: host, no malloc. */
#ifndef VT_LIFE_OOM_H
#define VT_LIFE_OOM_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__life_oom_look(void);      /* a heap profile, if memory is short; no lock is held */
uint64_t vt__life_oom_watch(void); /* the same, and in how many milliseconds again */

VT_HIDDEN_END

#endif
