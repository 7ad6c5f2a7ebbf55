/* call_graph.c - see call_graph.h. Climate: cli. */
#include "report/call_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/edges.h"
#include "report/text.h"

/* ---- choosing */

static int by_cum(const void *a, const void *b, void *context) {
    const struct view *v = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    double x = fabs(v->nodes[m].cum), y = fabs(v->nodes[n].cum);
    if (x != y) return x > y ? -1 : 1;
    return strcmp(view_name(v, m), view_name(v, n));
}

static void choose_nodes(struct call_graph *g) {
    const struct view *v = g->v;
    g->nodes = report_alloc(v->n_nodes * sizeof *g->nodes);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_nodes; i++) g->nodes[n++] = i;
    if (n > 1) qsort_r(g->nodes, n, sizeof *g->nodes, by_cum, (void *)v);
    if (n > g->o->max_nodes) n = g->o->max_nodes;
    while (n > 0 && fabs(v->nodes[g->nodes[n - 1]].cum) <= g->least_node) n--;
    g->n_nodes = n;
}

static void add_edge(struct call_graph *g, const struct edge *e, const uint32_t *number) {
    double width = 2 * fmin(1, 3 * fabs(graph_share(g, e->value)));
    if (g->o->for_screen && width < 1) width = 1;
    *REPORT_PUSH(g->edges, g->n_edges, g->cap_edges) =
        (struct graph_edge){.from = number[e->caller] - 1,
                            .to = number[e->callee] - 1,
                            .value = e->value,
                            .width = width,
                            .is_inlined = strstr(view_name(g->v, e->callee), "(inline)") != NULL};
}

static void choose_edges(struct call_graph *g) {
    const struct view *v = g->v;
    bool *is_kept = report_alloc(v->n_nodes * sizeof *is_kept);
    uint32_t *number = report_alloc(v->n_nodes * sizeof *number),
             *n_in = report_alloc(v->n_nodes * sizeof *n_in),
             *n_out = report_alloc(v->n_nodes * sizeof *n_out);
    struct edges edges;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        is_kept[g->nodes[i]] = true;
        number[g->nodes[i]] = i + 1;
    }
    edges_new(&edges, v, is_kept);
    uint32_t *order = report_alloc(edges.n * sizeof *order);
    for (uint32_t i = 0; i < edges.n; i++) order[i] = i;
    edges_sort(&edges, v, order, edges.n);
    for (uint32_t i = 0; i < edges.n; i++) {
        const struct edge *e = &edges.all[order[i]];
        if (e->value == 0) continue;
        bool is_self = e->caller == e->callee, is_first = n_in[e->callee] == 0 && !is_self;
        bool is_small = fabs(e->value) <= g->least_edge || n_out[e->caller] >= g->o->max_degree ||
                        n_in[e->callee] >= g->o->max_degree;
        if (is_small && !is_first) continue;
        n_in[e->callee] += !is_self;
        n_out[e->caller] += !is_self;
        add_edge(g, e, number);
    }
    free(order);
    free(number);
    free(n_in);
    free(n_out);
    free(is_kept);
    edges_free(&edges);
}

void call_graph_new(struct call_graph *g, const struct view *v, const struct view_dot_options *o) {
    *g = (struct call_graph){.v = v, .o = o, .whole = o->whole != 0 ? o->whole : v->shown};
    g->least_node = trunc(o->node_fraction * fabs(g->whole));
    g->least_edge = trunc(o->edge_fraction * fabs(g->whole));
    choose_nodes(g);
    if (g->n_nodes > 0) choose_edges(g);
}

void call_graph_free(struct call_graph *g) {
    free(g->nodes);
    free(g->edges);
}

/* ---- what is written */

const char *graph_number(const struct call_graph *g, double value, char *out, size_t n_bytes) {
    struct table_unit u = g->o->unit;
    if (u.scale) return table_number(u, value, out, n_bytes);
    value /= u.divisor;
    if (u.decimals == 0) value = trunc(value);
    return table_decimal(value, u.decimals, "", out, n_bytes);
}

double graph_share(const struct call_graph *g, double value) {
    return g->whole == 0 ? 0 : value / g->whole;
}

static const char *graph_percent(const struct call_graph *g, double value, char *out,
                                 size_t n_bytes) {
    return table_decimal(100 * graph_share(g, value), 1, "%", out, n_bytes);
}

double graph_font(const struct call_graph *g, uint32_t node) {
    double share = fabs(graph_share(g, g->v->nodes[node].flat));
    return 8 + 50 * sqrt(fmin(1, share)); /* of a difference it may be above */
}

void graph_legend(const struct call_graph *g, char *out, size_t n_bytes) {
    const char *unit = text_shown(g->o->unit.suffix), *title = text_shown(g->o->title);
    char total[64], shown[64], node[64], edge[64];
    if (g->o->is_compact) {
        const char *slash = strrchr(title, '/');
        (void)snprintf(out, n_bytes, "%.2000s\nTotal %s: %s\n", slash ? slash + 1 : title, unit,
                       graph_number(g, g->v->total, total, sizeof total));
        return;
    }
    (void)snprintf(out, n_bytes,
                   "%.2000s\nTotal %s: %s\nFocusing on: %s\nDropped nodes with <= %s abs(%s)\n"
                   "Dropped edges with <= %s %s\n",
                   title, unit, graph_number(g, g->v->total, total, sizeof total),
                   graph_number(g, g->v->shown, shown, sizeof shown),
                   graph_number(g, g->least_node, node, sizeof node), unit,
                   graph_number(g, g->least_edge, edge, sizeof edge), unit);
}

void graph_label(const struct call_graph *g, uint32_t node, char *out, size_t n_bytes) {
    const struct view_node *n = &g->v->nodes[node];
    char flat[64], cum[64], share[32], of[160] = "";
    size_t at = 0;
    for (const char *s = text_shown(view_name(g->v, node)); *s && at + 200 < n_bytes; s++) {
        bool is_scope = s[0] == ':' && s[1] == ':';
        out[at++] = is_scope || *s == ' ' ? '\n' : *s;
        s += is_scope;
    }
    if (n->cum != n->flat)
        (void)snprintf(of, sizeof of, "of %s (%s)\n", graph_number(g, n->cum, cum, sizeof cum),
                       graph_percent(g, n->cum, share, sizeof share));
    (void)snprintf(out + at, n_bytes - at, "\n%s (%s)\n%s",
                   graph_number(g, n->flat, flat, sizeof flat),
                   graph_percent(g, n->flat, share, sizeof share), of);
}
