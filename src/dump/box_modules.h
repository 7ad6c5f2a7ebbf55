/* box_modules.h - notes in the box which files the code of this process is from. Climate: host, no malloc. */
#ifndef VT_DUMP_BOX_MODULES_H
#define VT_DUMP_BOX_MODULES_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__box_note_modules(void); /* those that were not there before; one caller at a time */

VT_HIDDEN_END

#endif
