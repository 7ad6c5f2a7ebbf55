/* since.h - the moment that all profiles which options ask for count from, the library's start, and their end. Climate: malloc. */
#ifndef VT_LIFE_SINCE_H
#define VT_LIFE_SINCE_H

#include <stdatomic.h>

#include "os/os.h"

VT_HIDDEN_BEGIN

uint64_t vt__life_since_ns(void); /* wall clock; start.c or start_profiler.c */
/* At exit, before a profile is ended: what were started from here on would never be written. Here, so that a program nobody asks need
 * not have the code of control.c. Kept as a number: a child that shares our memory may end before us. */
extern _Atomic int vt__life_ended_pid; /* the process whose profiles were ended; 0: none */
VT_INLINE void vt__life_control_end(void) {
    atomic_store_explicit(&vt__life_ended_pid, vt__os_pid(), memory_order_relaxed);
}

VT_HIDDEN_END

#endif
