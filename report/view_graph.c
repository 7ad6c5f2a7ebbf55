/* view_graph.c - the call graph drawn without graphviz: SVG, PDF, PostScript, PNG, GIF, with the look of the old tools. What is in it
 * is call_graph.c's, where it lies is layout.c's, how it is written is canvas.c's.
 *
 * Of a difference, boxes of what grew are reddish and of what shrank bluish.   Climate: cli.
 */
#include "report/call_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/canvas.h"
#include "report/layout.h"

#define MAX_LABEL 8192
#define MAX_LINE 60 /* characters of a name's line: longer ones are cut */
#define MARGIN 12.0
#define LEGEND_FONT 14.0
#define EDGE_FONT 11.0
#define LINE 1.2      /* distance of lines, by the size of the font */
#define PAD 6.0       /* between a box and its text */
#define RIMS 3        /* lines around what is less than before, where leaks are marked */
#define RIM 2.0       /* between them */
#define LOOP 26.0     /* room right of a box for an edge to itself, and then its label */
#define PAPER_W 576.0 /* 8 by 11 inches */
#define PAPER_H 792.0

struct drawing {
    struct call_graph g;
    struct layout_box *boxes;
    struct layout_edge *edges;
    struct canvas c;
    double legend_w, down; /* the legend's width, and its height with what is around it */
};

/* ---- text in lines */

/* One line at `text`: its length, and *next behind its end. */
static size_t line_at(const char *text, const char **next) {
    const char *end = strchrnul(text, '\n');
    *next = *end ? end + 1 : end;
    return (size_t)(end - text);
}

/* As many bytes as fit, whole characters. */
static size_t cut(const char *text, size_t n) {
    if (n > MAX_LINE) {
        n = MAX_LINE;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    }
    return n;
}

static void measure(const char *text, double size, double *w, double *h) {
    *w = *h = 0;
    for (const char *next; *text; text = next) {
        size_t n = cut(text, line_at(text, &next));
        *w = fmax(*w, (double)n * size * CANVAS_CHARACTER);
        *h += LINE * size;
    }
}

/* ---- sizes */

static void size_boxes(struct drawing *d) {
    char label[MAX_LABEL];
    d->boxes = report_alloc(d->g.n_nodes * sizeof *d->boxes);
    for (uint32_t i = 0; i < d->g.n_nodes; i++) {
        struct layout_box *b = &d->boxes[i];
        graph_label(&d->g, d->g.nodes[i], label, sizeof label);
        measure(label, graph_font(&d->g, d->g.nodes[i]), &b->w, &b->h);
        b->w += 2 * PAD;
        b->h += 2 * PAD;
    }
}

static void size_edges(struct drawing *d) {
    char label[64];
    d->edges = report_alloc(d->g.n_edges * sizeof *d->edges);
    for (uint32_t i = 0; i < d->g.n_edges; i++) {
        const struct graph_edge *e = &d->g.edges[i];
        size_t n = strlen(graph_number(&d->g, e->value, label, sizeof label));
        d->edges[i] = (struct layout_edge){.from = e->from,
                                           .to = e->to,
                                           .label_w = (double)n * EDGE_FONT * CANVAS_CHARACTER,
                                           .label_h = LINE * EDGE_FONT};
        if (e->from != e->to) continue;
        d->boxes[e->from].loop = LOOP + d->edges[i].label_w;
        d->boxes[e->from].w += d->boxes[e->from].loop;
    }
}

/* ---- drawing */

static void put_legend(struct drawing *d, const char *text) {
    double y = MARGIN;
    d->c.kind->group(&d->c, "legend", "Legend", "legend");
    d->c.kind->box(&d->c, MARGIN / 2, MARGIN / 2, d->legend_w + MARGIN, d->down - 2 * MARGIN,
                   "white");
    for (const char *next; *text; text = next) {
        size_t n = line_at(text, &next);
        y += LINE * LEGEND_FONT;
        d->c.kind->text_at(&d->c, MARGIN, y - 0.3 * LEGEND_FONT, LEGEND_FONT, CANVAS_LEFT, text, n);
    }
    d->c.kind->group_end(&d->c);
}

static const char *fill_of(const struct drawing *d, const struct view_node *n) {
    if (d->g.o->marks_leaks) return n->flat > 0 ? "#c0c0c0" : "white";
    if (!d->g.v->p->is_difference) return "white";
    return n->cum > 0 ? "#fdecea" : n->cum < 0 ? "#e6eefc" : "white";
}

static void put_node(struct drawing *d, uint32_t i) {
    const struct layout_box *b = &d->boxes[i];
    const struct view_node *n = &d->g.v->nodes[d->g.nodes[i]];
    double size = graph_font(&d->g, d->g.nodes[i]), w = b->w - b->loop, y = b->y - b->h / 2;
    char label[MAX_LABEL], id[16];
    unsigned n_lines = 0, n_right = n->cum == n->flat ? 1 : 2;
    (void)snprintf(id, sizeof id, "N%u", i + 1);
    graph_label(&d->g, d->g.nodes[i], label, sizeof label);
    for (const char *s = label; *s; s++) n_lines += *s == '\n';
    d->c.kind->group(&d->c, "node", id, view_name(d->g.v, d->g.nodes[i]));
    d->c.kind->box(&d->c, b->x - w / 2, y, w, b->h, fill_of(d, n));
    for (unsigned k = 1; k < RIMS && d->g.o->marks_leaks && n->flat < 0; k++)
        d->c.kind->box(&d->c, b->x - w / 2 + k * RIM, y + k * RIM, w - 2 * k * RIM,
                       b->h - 2 * k * RIM, "white");
    y += PAD;
    for (const char *text = label, *next; *text; text = next, n_lines--) {
        size_t length = cut(text, line_at(text, &next));
        bool is_right = n_lines <= n_right;
        y += LINE * size;
        d->c.kind->text_at(&d->c, is_right ? b->x + w / 2 - PAD : b->x, y - 0.3 * size, size,
                           is_right ? CANVAS_RIGHT : CANVAS_MIDDLE, text, length);
    }
    d->c.kind->group_end(&d->c);
}

/* Out of the right side and back into it. */
static void bend_loop(const struct drawing *d, struct layout_edge *e) {
    const struct layout_box *b = &d->boxes[e->from];
    double right = b->x + (b->w - b->loop) / 2, h = fmin(b->h / 4, 14);
    const struct layout_point p[] = {
        {right, b->y - h}, {right + LOOP, b->y - h}, {right + LOOP, b->y + h}, {right, b->y + h}};
    for (unsigned i = 0; i < 4; i++) *REPORT_PUSH(e->points, e->n_points, e->cap_points) = p[i];
    e->label = (struct layout_point){right + LOOP - 4, b->y};
}

static void put_edge(struct drawing *d, uint32_t i) {
    const struct graph_edge *e = &d->g.edges[i];
    const struct layout_edge *l = &d->edges[i];
    char label[64], id[40], title[40];
    (void)snprintf(id, sizeof id, "E%u", i + 1);
    (void)snprintf(title, sizeof title, "N%u->N%u", e->from + 1, e->to + 1);
    (void)graph_number(&d->g, e->value, label, sizeof label);
    d->c.kind->group(&d->c, "edge", id, title);
    d->c.kind->curve(&d->c, l->points, l->n_points, e->width, e->is_inlined);
    d->c.kind->text_at(&d->c, l->label.x + 1, l->label.y + 0.35 * EDGE_FONT, EDGE_FONT, CANVAS_LEFT,
                       label, strlen(label));
    d->c.kind->group_end(&d->c);
}

/* Everything below the legend and beside the margin. */
static void move_all(struct drawing *d) {
    for (uint32_t i = 0; i < d->g.n_nodes; i++) {
        d->boxes[i].x += MARGIN;
        d->boxes[i].y += d->down;
    }
    for (uint32_t i = 0; i < d->g.n_edges; i++) {
        struct layout_edge *e = &d->edges[i];
        e->label.x += MARGIN;
        e->label.y += d->down;
        for (uint32_t k = 0; k < e->n_points; k++) {
            e->points[k].x += MARGIN;
            e->points[k].y += d->down;
        }
        if (e->from == e->to) bend_loop(d, e);
    }
}

static void draw(struct drawing *d, const struct canvas_kind *kind, FILE *out) {
    char legend[MAX_LABEL];
    double w, h, scale = 1;
    size_boxes(d);
    size_edges(d);
    struct layout_point size = layout(d->boxes, d->g.n_nodes, d->edges, d->g.n_edges);
    graph_legend(&d->g, legend, sizeof legend);
    h = 0, w = 0;
    for (const char *text = legend, *next; *text; text = next) {
        w = fmax(w, (double)line_at(text, &next) * LEGEND_FONT * CANVAS_CHARACTER);
        h += LINE * LEGEND_FONT;
    }
    d->legend_w = w;
    d->down = h + 3 * MARGIN;
    move_all(d);
    w = fmax(w, size.x) + 2 * MARGIN;
    h = d->down + size.y + MARGIN;
    if (d->g.o->for_paper) scale = fmin(1, fmin(PAPER_W / w, PAPER_H / h));
    canvas_begin(&d->c, kind, out, w, h, scale, d->g.o->title);
    put_legend(d, legend);
    for (uint32_t i = 0; i < d->g.n_edges; i++) put_edge(d, i);
    for (uint32_t i = 0; i < d->g.n_nodes; i++) put_node(d, i);
    canvas_end(&d->c);
}

void view_graph(const struct view *v, const struct view_dot_options *o, const char *format,
                FILE *out) {
    struct drawing d = {.edges = NULL};
    call_graph_new(&d.g, v, o);
    draw(&d, canvas_kind(format), out);
    for (uint32_t i = 0; i < d.g.n_edges; i++) free(d.edges[i].points);
    free(d.edges);
    free(d.boxes);
    call_graph_free(&d.g);
}
