/* view_dot.c - the call graph in graphviz's language, as the perl pprof draws it; others look for parts of its text.
 *
 *   digraph "app; 3.8 MB" {
 *   node [width=0.375,height=0.25];
 *   Legend [shape=box,fontsize=24,shape=plaintext,label="app\lTotal MB: 3.8\l..."];
 *   N1 [label="main\n0.5 (13.0%)\rof 3.8 (100.0%)\r",shape=box,fontsize=26.0];
 *   N1 -> N2 [label=1.9, weight=24513, style="setlinewidth(1.491109)"];
 *   }
 *
 * Climate: cli.
 */
#include "report/call_graph.h"

#include <math.h>
#include <string.h>

#include "report/text.h"

#define MAX_LABEL 8192

/* Lines that end in graphviz's word for left, centre or right; the last n_right of them are to the right. */
static void put_lines(FILE *out, char *lines, const char *end, unsigned n_right) {
    unsigned n = 0;
    for (const char *s = lines; *s; s++) n += *s == '\n';
    for (char *line = lines, *next; *line; line = next, n--) {
        next = strchrnul(line, '\n');
        if (*next) *next++ = '\0';
        text_dot(out, line);
        (void)fputs(n <= n_right ? "\\r" : end, out);
    }
}

static void put_head(const struct call_graph *g, FILE *out) {
    char total[64], legend[MAX_LABEL];
    (void)fputs("digraph \"", out);
    text_dot(out, g->o->title);
    (void)fprintf(out, "; %s ", graph_number(g, g->v->total, total, sizeof total));
    text_dot(out, g->o->unit.suffix);
    (void)fputs("\" {\n", out);
    if (g->o->for_paper) (void)fputs("size=\"8,11\"\n", out);
    (void)fputs("node [width=0.375,height=0.25];\n"
                "Legend [shape=box,fontsize=24,shape=plaintext,label=\"",
                out);
    graph_legend(g, legend, sizeof legend);
    put_lines(out, legend, "\\l", 0);
    (void)fputs("\"];\n", out);
}

static void put_node(const struct call_graph *g, uint32_t i, FILE *out) {
    const struct view_node *n = &g->v->nodes[g->nodes[i]];
    char label[MAX_LABEL];
    (void)fprintf(out, "N%u [label=\"", i + 1);
    graph_label(g, g->nodes[i], label, sizeof label);
    put_lines(out, label, "\\n", n->cum == n->flat ? 1 : 2);
    (void)fprintf(out, "\",shape=box,fontsize=%.1f%s];\n", graph_font(g, g->nodes[i]),
                  g->o->marks_leaks && n->flat > 0   ? ",style=filled,fillcolor=gray"
                  : g->o->marks_leaks && n->flat < 0 ? ",peripheries=3"
                                                     : "");
}

static void put_edge(const struct call_graph *g, const struct graph_edge *e, FILE *out) {
    char value[64];
    const char *quote = g->o->unit.scale ? "\"" : ""; /* "1.9MB" is no number to graphviz */
    (void)fprintf(out, "N%u -> N%u [label=%s%s%s, weight=%.0f, style=\"setlinewidth(%f)%s\"];\n",
                  e->from + 1, e->to + 1, quote, graph_number(g, e->value, value, sizeof value),
                  quote, floor(fmin(pow(fabs(e->value), 0.7), 100000)), e->width,
                  e->is_inlined ? ",dashed" : "");
}

bool view_dot(const struct view *v, const struct view_dot_options *o, FILE *out) {
    struct call_graph g;
    call_graph_new(&g, v, o);
    bool has_nodes = g.n_nodes > 0;
    if (has_nodes) {
        put_head(&g, out);
        for (uint32_t i = 0; i < g.n_nodes; i++) put_node(&g, i, out);
        for (uint32_t i = 0; i < g.n_edges; i++) put_edge(&g, &g.edges[i], out);
        (void)fputs("}\n", out);
    }
    call_graph_free(&g);
    return has_nodes;
}
