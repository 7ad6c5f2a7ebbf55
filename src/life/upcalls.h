/* upcalls.h - what life needs from the names others know us by: dialect/locks.c or, in a static library, no_locks.c. */
#ifndef VT_LIFE_UPCALLS_H
#define VT_LIFE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Waits for libc's locks and conditions are told to probe/waits.c, or no more. 0, or -ENOTSUP. Host. */
int vt__watch_locks(bool on);

VT_HIDDEN_END

#endif
