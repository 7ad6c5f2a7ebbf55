/* call_graph.h - which nodes and edges of a view a picture has room for, and what is written in it: the perl pprof's rules.
 *
 * The largest nodes by cum are drawn; an edge between two of them also when others were between. The first edge into a
 * node is always drawn, so that nothing stands alone.
 *
 * Climate: cli.
 */
#ifndef REPORT_CALL_GRAPH_H
#define REPORT_CALL_GRAPH_H

#include "report/views.h"

struct graph_edge {
    uint32_t from, to; /* in nodes[] */
    double value;
    double width;    /* of the line */
    bool is_inlined; /* the callee is: a dashed line */
};

struct call_graph {
    const struct view *v;
    const struct view_dot_options *o;
    uint32_t *nodes; /* of the view, by cum */
    uint32_t n_nodes;
    struct graph_edge *edges; /* by value */
    uint32_t n_edges, cap_edges;
    double whole; /* what shares are of */
    double least_node, least_edge;
};

void call_graph_new(struct call_graph *g, const struct view *v, const struct view_dot_options *o);
void call_graph_free(struct call_graph *g);

/* A value in the graph's unit, in `out`, which is given back. */
const char *graph_number(const struct call_graph *g, double value, char *out, size_t n_bytes);
/* 1 is all. */
double graph_share(const struct call_graph *g, double value);
/* 8 to 58 points, by the node's own share. */
double graph_font(const struct call_graph *g, uint32_t node);
/* The lines of the legend and of a node, each ended by '\n', in `out`. A name has a break at blanks and between
 * scopes, so that boxes stay narrow. */
void graph_legend(const struct call_graph *g, char *out, size_t n_bytes);
void graph_label(const struct call_graph *g, uint32_t node, char *out, size_t n_bytes);

#endif
