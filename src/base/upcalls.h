/* upcalls.h - what base needs from a room above it: the os room's sleep and wake. Defined in os/process.c. */
#ifndef VT_BASE_UPCALLS_H
#define VT_BASE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__os_wait(void *word, uint32_t while_value);
void vt__os_wake(void *word, int n);

VT_HIDDEN_END

#endif
