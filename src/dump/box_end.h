/* box_end.h - tells what the process has resident when it ends. Climate: host, no malloc. */
#ifndef VT_DUMP_BOX_END_H
#define VT_DUMP_BOX_END_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Is there a file VT_BOX_ENDS beside the black box? Asked at the start: later a seccomp filter may be in force. */
bool vt__box_end_is_awaited(void);
void vt__box_tell_end(void); /* to that file */
/* Before profiles are written at exit: what that takes is told as ours. */
void vt__box_note_peak(void);

VT_HIDDEN_END

#endif
