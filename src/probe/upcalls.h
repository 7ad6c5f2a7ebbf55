/* upcalls.h - what the CPU profiler needs from rooms below it: life/cpu_labels.c, or life/no_labels.c where there is no heap. */
#ifndef VT_PROBE_UPCALLS_H
#define VT_PROBE_UPCALLS_H

#include "base/base.h"

VT_HIDDEN_BEGIN

uint32_t vt__life_cpu_label(void); /* of the calling thread; signal climate; 0: none */
/* The pairs of a label, the innermost first; how many there are, `max` at most. */
unsigned vt__life_label_pairs(uint32_t label, const char **keys, const char **values, unsigned max);

VT_HIDDEN_END

#endif
