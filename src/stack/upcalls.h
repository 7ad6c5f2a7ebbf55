/* upcalls.h - what the stack room needs from rooms below it: life/box.c, or life/no_labels.c where there is no heap. */
#ifndef VT_STACK_UPCALLS_H
#define VT_STACK_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__life_modules_changed(void); /* libraries came or went; no lock is held */

VT_HIDDEN_END

#endif
