/* upcalls.h - what the os room needs from a room above it: life/box.c. */
#ifndef VT_OS_UPCALLS_H
#define VT_OS_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__life_box_is_full(
    const char *path); /* the first time that it has no room; signal climate */

VT_HIDDEN_END

#endif
