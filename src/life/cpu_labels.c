/* cpu_labels.c - the labels of threads, for the CPU profiler. no_labels.c is the other choice. Climate: signal; host for pairs. */
#include "heap/heap.h"
#include "probe/probe.h"
#include "probe/upcalls.h"

uint32_t vt__life_cpu_label(void) { return vt__heap_label_now(); }

unsigned vt__life_label_pairs(uint32_t label, const char **keys, const char **values,
                              unsigned max) {
    return vt__label_pairs(label, keys, values, max);
}
