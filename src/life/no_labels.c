/* no_labels.c - a CPU profiler without a heap has no labels. cpu_labels.c is the other choice. Climate: signal. */
#include "probe/upcalls.h"

uint32_t vt__life_cpu_label(void) { return 0; }

unsigned vt__life_label_pairs(uint32_t label, const char **keys, const char **values,
                              unsigned max) {
    (void)label, (void)keys, (void)values, (void)max;
    return 0;
}
