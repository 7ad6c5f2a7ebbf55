/* since.h - the moment that all profiles which options ask for count from, the library's start, and their end. Climate: malloc. */
#ifndef VT_LIFE_SINCE_H
#define VT_LIFE_SINCE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

uint64_t vt__life_since_ns(void); /* wall clock; start.c or start_profiler.c */
void vt__life_control_end(void);  /* at exit, before a profile is ended */

VT_HIDDEN_END

#endif
