/* layout.h - places boxes in layers, callers above callees, and edges as curves between them.
 *
 *   1. edges that would close a circle are turned round      3. each layer is ordered by the mean place of its neighbours
 *   2. layers by the longest path from a root                4. places: as near to the neighbours as the order allows
 *
 * Between two layers of boxes lies one of labels, so that neither lies upon the other. Nothing here knows of profiles.
 *
 * Climate: cli.
 */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include "report/memory.h"

struct layout_point {
    double x, y;
};

struct layout_box {
    double w, h; /* in: with `loop` */
    double loop; /* in: room for an edge to itself, right of the box */
    double x, y; /* out: the middle of the box without that room */
};

struct layout_edge {
    uint32_t from, to;         /* in; equal ones are left to the caller */
    double label_w, label_h;   /* in */
    struct layout_point label; /* out: the label's left middle */
    /* out: cubic curves; the first point, then three for each curve. Freed by the caller. */
    struct layout_point *points;
    uint32_t n_points, cap_points;
};

/* Gives the size of the whole, which begins at 0, 0. */
struct layout_point layout(struct layout_box *boxes, uint32_t n_boxes, struct layout_edge *edges,
                           uint32_t n_edges);

#endif
