/* timeline.h - a value over time: as a line of text, and as a picture in a page. Climate: cli. */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct timeline_point {
    double seconds, value; /* since the start */
};

struct timeline {
    struct timeline_point *all; /* in the order of time; malloc'ed by who fills it */
    uint32_t n, cap;
    const char *unit; /* of the values: "bytes" */
};

double timeline_largest(const struct timeline *t);
/* At most n_columns characters, each as high as the largest value of its part of the time, and the last one as high as the last value:
 * how it ended may be seen for a moment only. In ASCII, if need be. */
void timeline_spark(const struct timeline *t, unsigned n_columns, bool is_ascii, FILE *out);
/* <svg class="timeline">: an area, its largest value and its length. */
void timeline_svg(const struct timeline *t, FILE *out);

#endif
