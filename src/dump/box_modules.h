/* box_modules.h - notes in the box which files the code of this process is from. Climate: host, no malloc. */
#ifndef VT_DUMP_BOX_MODULES_H
#define VT_DUMP_BOX_MODULES_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Those that were not there before; one caller at a time. The second: only those that were unloaded. */
void vt__box_note_modules(void);
void vt__box_note_gone(void);

VT_HIDDEN_END

#endif
