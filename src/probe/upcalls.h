/* upcalls.h - what the profilers of time need from rooms below them: life/cpu_births.c, life/thread.c, and life/cpu_labels.c or, where
 * there is no heap, life/no_labels.c. */
#ifndef VT_PROBE_UPCALLS_H
#define VT_PROBE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

uint32_t vt__life_cpu_label(void); /* of the calling thread; signal climate; 0: none */
/* The calling thread has its first sample: its end is to be told by vt__cpu_task_ends. Signal climate; life/cpu_births.c. */
void vt__life_cpu_seen(void);
/* The calling thread has memory for walks: its end is to be told by vt__stack_thread_ends. Signal climate; life/thread.c. */
void vt__life_thread_seen(void);
/* The pairs of a label, the innermost first; how many there are, `max` at most. */
unsigned vt__life_label_pairs(uint32_t label, const char **keys, const char **values, unsigned max);

/* vt__box_is_mine() was false: before anything is recorded. Signal climate; life/box.c. */
void vt__life_box_attend(void);

VT_HIDDEN_END

#endif
