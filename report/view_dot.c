/* view_dot.c - the call graph in graphviz's language, as the perl pprof draws it; others look for parts of its text.
 *
 *   digraph "app; 3.8 MB" {
 *   node [width=0.375,height=0.25];
 *   Legend [shape=box,fontsize=24,shape=plaintext,label="app\lTotal MB: 3.8\l..."];
 *   N1 [label="main\n0.5 (13.0%)\rof 3.8 (100.0%)\r",shape=box,fontsize=26.0];
 *   N1 -> N2 [label=1.9, weight=24513, style="setlinewidth(1.491109)"];
 *   }
 *
 * The largest nodes by cum are drawn; an edge between two of them also when others were between. The first
 * edge into a node is always drawn, so that nothing stands alone.
 *
 * Climate: cli.
 */
#include "report/edges.h"
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct graph {
    const struct view *v;
    const struct view_dot_options *o;
    uint32_t *nodes; /* those drawn, by cum */
    uint32_t n_nodes;
    uint32_t *number; /* by node of the view: N..., 0 for those not drawn */
    double least_node, least_edge;
};

static int by_cum(const void *a, const void *b, void *context) {
    const struct view *v = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    double x = fabs(v->nodes[m].cum), y = fabs(v->nodes[n].cum);
    if (x != y) return x > y ? -1 : 1;
    return strcmp(view_name(v, m), view_name(v, n));
}

static void choose_nodes(struct graph *g) {
    const struct view *v = g->v;
    g->nodes = report_alloc(v->n_nodes * sizeof *g->nodes);
    g->number = report_alloc(v->n_nodes * sizeof *g->number);
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_nodes; i++) g->nodes[n++] = i;
    if (n > 1) qsort_r(g->nodes, n, sizeof *g->nodes, by_cum, (void *)v);
    if (n > g->o->max_nodes) n = g->o->max_nodes;
    while (n > 0 && fabs(v->nodes[g->nodes[n - 1]].cum) <= g->least_node) n--;
    g->n_nodes = n;
    for (uint32_t i = 0; i < n; i++) g->number[g->nodes[i]] = i + 1;
}

/* Text within quotes; with breaks at blanks and between scopes, so that boxes stay narrow. */
static void put_quoted(FILE *out, const char *text, bool with_breaks) {
    for (; *text; text++) {
        if (with_breaks && (*text == ' ' || (text[0] == ':' && text[1] == ':'))) {
            (void)fputs("\\n", out);
            if (*text == ':') text++;
        } else if (*text == '"' || *text == '\\') {
            (void)fprintf(out, "\\%c", *text);
        } else {
            (void)fputc(*text == '\n' ? ' ' : *text, out);
        }
    }
}

static const char *number(const struct graph *g, double value, char *out, size_t n_bytes) {
    struct table_unit u = g->o->unit;
    if (u.decimals == 0)
        value = trunc(value / u.divisor);
    else
        value /= u.divisor;
    (void)snprintf(out, n_bytes, "%.*f", u.decimals, value == 0 ? 0 : value);
    return out;
}

static double share(const struct graph *g, double value) {
    return g->v->shown == 0 ? 0 : value / g->v->shown;
}

static void put_head(const struct graph *g, FILE *out) {
    const char *unit = g->o->unit.suffix;
    char total[64], shown[64], node[64], edge[64];
    (void)fputs("digraph \"", out);
    put_quoted(out, g->o->title, false);
    (void)fprintf(out, "; %s %s\" {\n", number(g, g->v->total, total, sizeof total), unit);
    if (g->o->for_paper) (void)fputs("size=\"8,11\"\n", out);
    (void)fputs("node [width=0.375,height=0.25];\n"
                "Legend [shape=box,fontsize=24,shape=plaintext,label=\"",
                out);
    put_quoted(out, g->o->title, false);
    (void)fprintf(
        out,
        "\\lTotal %s: %s\\lFocusing on: %s\\lDropped nodes with <= %s abs(%s)\\lDropped edges with <= %s "
        "%s\\l\"];\n",
        unit, total, number(g, g->v->shown, shown, sizeof shown),
        number(g, g->least_node, node, sizeof node), unit,
        number(g, g->least_edge, edge, sizeof edge), unit);
}

static void put_node(const struct graph *g, uint32_t node, FILE *out) {
    const struct view_node *n = &g->v->nodes[node];
    char flat[64], cum[64];
    (void)fprintf(out, "N%u [label=\"", g->number[node]);
    put_quoted(out, view_name(g->v, node), true);
    (void)fprintf(out, "\\n%s (%.1f%%)\\r", number(g, n->flat, flat, sizeof flat),
                  100 * share(g, n->flat));
    if (n->cum != n->flat)
        (void)fprintf(out, "of %s (%.1f%%)\\r", number(g, n->cum, cum, sizeof cum),
                      100 * share(g, n->cum));
    (void)fprintf(out, "\",shape=box,fontsize=%.1f%s];\n", 8 + 50 * sqrt(fabs(share(g, n->flat))),
                  g->o->marks_leaks && n->flat > 0   ? ",style=filled,fillcolor=gray"
                  : g->o->marks_leaks && n->flat < 0 ? ",peripheries=3"
                                                     : "");
}

static void put_edge(const struct graph *g, const struct edge *e, FILE *out) {
    char value[64];
    double width = 2 * fmin(1, 3 * fabs(share(g, e->value))),
           weight = fmin(pow(fabs(e->value), 0.7), 100000);
    if (g->o->for_screen && width < 1) width = 1;
    bool is_inlined = strstr(view_name(g->v, e->callee), "(inline)") != NULL;
    (void)fprintf(out, "N%u -> N%u [label=%s, weight=%.0f, style=\"setlinewidth(%f)%s\"];\n",
                  g->number[e->caller], g->number[e->callee],
                  number(g, e->value, value, sizeof value), floor(weight), width,
                  is_inlined ? ",dashed" : "");
}

static void put_edges(const struct graph *g, FILE *out) {
    const struct view *v = g->v;
    bool *is_kept = report_alloc(v->n_nodes * sizeof *is_kept);
    uint32_t *n_in = report_alloc(v->n_nodes * sizeof *n_in),
             *n_out = report_alloc(v->n_nodes * sizeof *n_out);
    struct edges edges;
    for (uint32_t i = 0; i < v->n_nodes; i++) is_kept[i] = g->number[i] != 0;
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
        put_edge(g, e, out);
    }
    free(order);
    free(n_in);
    free(n_out);
    free(is_kept);
    edges_free(&edges);
}

bool view_dot(const struct view *v, const struct view_dot_options *o, FILE *out) {
    struct graph g = {.v = v,
                      .o = o,
                      .least_node = trunc(o->node_fraction * fabs(v->shown)),
                      .least_edge = trunc(o->edge_fraction * fabs(v->shown))};
    choose_nodes(&g);
    if (g.n_nodes > 0) {
        put_head(&g, out);
        for (uint32_t i = 0; i < g.n_nodes; i++) put_node(&g, g.nodes[i], out);
        put_edges(&g, out);
        (void)fputs("}\n", out);
    }
    free(g.nodes);
    free(g.number);
    return g.n_nodes > 0;
}
