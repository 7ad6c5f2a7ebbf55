/* box.h - the option black_box: life/box.c. Climate: host, no malloc. */
#ifndef VT_LIFE_BOX_H
#define VT_LIFE_BOX_H

#include "base/base.h"

VT_HIDDEN_BEGIN

void vt__life_box_begin(void);     /* once, when the options are read and nothing is recorded yet */
void vt__life_box_begin_end(void); /* at exit, before profiles are written */
/* At exit, after these (enum vt_box_written) were written; when all are that were asked for, nobody needs the box any more. */
void vt__life_box_end(uint32_t written);

VT_HIDDEN_END

#endif
