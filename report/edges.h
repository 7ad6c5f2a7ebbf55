/* edges.h - who calls whom in a view, and how much came through. Climate: cli. */
#ifndef REPORT_EDGES_H
#define REPORT_EDGES_H

#include "report/view.h"

struct edge {
    uint32_t caller, callee; /* nodes of the view */
    double value, variance;  /* the square of its standard error */
    uint32_t seen_in; /* the last stack that counted, plus one: an edge counts once per stack */
};

struct edges {
    struct edge *all;
    uint32_t n, cap;
    struct index index;
};

/* Edges between nodes for which is_kept[node]; between two such, what lies between them is left out.
 * is_kept NULL: all. */
void edges_new(struct edges *e, const struct view *v, const bool *is_kept);
void edges_free(struct edges *e);
/* Numbers of edges, largest absolute value first, then by names. */
void edges_sort(const struct edges *e, const struct view *v, uint32_t *numbers, uint32_t n);

#endif
