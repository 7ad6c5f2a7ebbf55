/* no_labels.c - a CPU profiler without a heap has no labels, and no black box. cpu_labels.c and box.c are the other choice.
 * Climate: signal. */
#include "life/box.h"
#include "probe/upcalls.h"
#include "stack/upcalls.h"

uint32_t vt__life_cpu_label(void) { return 0; }

void vt__life_box_attend(void) {}

void vt__life_modules_changed(void) {}

void vt__life_box_end(uint32_t written) { (void)written; }

unsigned vt__life_label_pairs(uint32_t label, const char **keys, const char **values,
                              unsigned max) {
    (void)label, (void)keys, (void)values, (void)max;
    return 0;
}
