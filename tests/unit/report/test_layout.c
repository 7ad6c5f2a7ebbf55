/* test_layout.c - the layers of a call graph: nothing lies upon anything else, calls go down. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "report/layout.h"

#define MAX 64

struct graph {
    struct layout_box boxes[MAX];
    struct layout_edge edges[4 * MAX];
    uint32_t n_boxes, n_edges;
    struct layout_point size;
};

static void add(struct graph *g, uint32_t from, uint32_t to) {
    g->edges[g->n_edges++] =
        (struct layout_edge){.from = from, .to = to, .label_w = 20, .label_h = 10};
    if (from == to && g->boxes[from].loop == 0) {
        g->boxes[from].loop = 40;
        g->boxes[from].w += 40;
    }
}

static void place(struct graph *g) { g->size = layout(g->boxes, g->n_boxes, g->edges, g->n_edges); }

static void forget(struct graph *g) {
    for (uint32_t i = 0; i < g->n_edges; i++) free(g->edges[i].points);
}

static void boxes_are_apart(const struct graph *g) {
    for (uint32_t i = 0; i < g->n_boxes; i++) {
        const struct layout_box *a = &g->boxes[i];
        assert_true(a->x - (a->w - a->loop) / 2 > -0.01 && a->y - a->h / 2 > -0.01);
        assert_true(a->x + (a->w - a->loop) / 2 + a->loop < g->size.x + 0.01);
        assert_true(a->y + a->h / 2 < g->size.y + 0.01);
        for (uint32_t k = 0; k < i; k++) {
            const struct layout_box *b = &g->boxes[k];
            bool is_beside =
                fabs(a->x - b->x) >= (a->w - a->loop) / 2 + (b->w - b->loop) / 2 - 0.01;
            bool is_below = fabs(a->y - b->y) >= (a->h + b->h) / 2 - 0.01;
            if (!is_beside && !is_below) fail_msg("boxes %u and %u overlap", i, k);
        }
    }
}

/* Labels lie in no box, and not upon each other. */
static void labels_are_apart(const struct graph *g) {
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct layout_edge *e = &g->edges[i];
        if (e->from == e->to) continue;
        for (uint32_t k = 0; k < g->n_boxes; k++) {
            const struct layout_box *b = &g->boxes[k];
            if (e->label.x < b->x + (b->w - b->loop) / 2 &&
                e->label.x + e->label_w > b->x - (b->w - b->loop) / 2 &&
                fabs(e->label.y - b->y) < (b->h + e->label_h) / 2 - 0.01)
                fail_msg("the label of edge %u lies in box %u", i, k);
        }
        for (uint32_t k = 0; k < i; k++) {
            const struct layout_edge *o = &g->edges[k];
            if (o->from != o->to && fabs(e->label.x - o->label.x) < e->label_w &&
                fabs(e->label.y - o->label.y) < e->label_h)
                fail_msg("labels of edges %u and %u overlap", i, k);
        }
    }
}

/* An edge begins at its caller's box and ends at its callee's. */
static void edges_meet_boxes(const struct graph *g) {
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct layout_edge *e = &g->edges[i];
        if (e->from == e->to) continue;
        assert_true(e->n_points >= 4 && e->n_points % 3 == 1);
        const struct layout_point *ends[] = {&e->points[0], &e->points[e->n_points - 1]};
        const struct layout_box *boxes[] = {&g->boxes[e->from], &g->boxes[e->to]};
        for (unsigned k = 0; k < 2; k++) {
            assert_true(fabs(ends[k]->x - boxes[k]->x) <= (boxes[k]->w - boxes[k]->loop) / 2);
            assert_true(fabs(fabs(ends[k]->y - boxes[k]->y) - boxes[k]->h / 2) < 0.01);
        }
    }
}

/* An edge lies in no box, its own two at their rims. */
static void edges_avoid_boxes(const struct graph *g) {
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct layout_edge *e = &g->edges[i];
        for (uint32_t k = 0; e->from != e->to && k < 8 * e->n_points; k++) {
            const struct layout_point *p = &e->points[k / 24 * 3];
            double t = k % 24 / 24.0, s = 1 - t;
            if (k / 24 * 3 + 3 >= e->n_points) break;
            double x = s * s * s * p[0].x + 3 * s * s * t * p[1].x + 3 * s * t * t * p[2].x +
                       t * t * t * p[3].x,
                   y = s * s * s * p[0].y + 3 * s * s * t * p[1].y + 3 * s * t * t * p[2].y +
                       t * t * t * p[3].y;
            for (uint32_t b = 0; b < g->n_boxes; b++) {
                const struct layout_box *box = &g->boxes[b];
                if (fabs(x - box->x) < (box->w - box->loop) / 2 - 0.01 &&
                    fabs(y - box->y) < box->h / 2 - 0.01)
                    fail_msg("edge %u lies in box %u", i, b);
            }
        }
    }
}

static struct graph boxes(uint32_t n) {
    struct graph g = {.n_boxes = n};
    for (uint32_t i = 0; i < n; i++)
        g.boxes[i] = (struct layout_box){.w = 30 + 7 * (i % 9), .h = 12 + 5 * (i % 5)};
    return g;
}

TEST(layout, callees_are_below_callers_and_a_chain_is_straight) {
    struct graph g = boxes(4);
    for (uint32_t i = 0; i < 3; i++) add(&g, i, i + 1);
    place(&g);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(g.boxes[i + 1].y > g.boxes[i].y);
        assert_true(fabs(g.boxes[i + 1].x - g.boxes[i].x) < 3);
    }
    forget(&g);
}

TEST(layout, a_tree_has_no_crossing) {
    struct graph g = boxes(15);
    for (uint32_t i = 1; i < 15; i++) add(&g, (i - 1) / 2, i);
    place(&g);
    boxes_are_apart(&g);
    for (uint32_t i = 0; i < g.n_edges; i++)
        for (uint32_t k = 0; k < g.n_edges; k++) {
            const struct layout_box *a = &g.boxes[g.edges[i].from], *b = &g.boxes[g.edges[k].from],
                                    *c = &g.boxes[g.edges[i].to], *d = &g.boxes[g.edges[k].to];
            if (a->y == b->y && a->x < b->x) assert_true(c->x < d->x);
        }
    forget(&g);
}

TEST(layout, circles_loops_and_islands_are_placed) {
    struct graph g = boxes(6);
    add(&g, 0, 1);
    add(&g, 1, 2);
    add(&g, 2, 0); /* a circle that nobody calls into */
    add(&g, 3, 3); /* calls itself */
    add(&g, 2, 3);
    add(&g, 0, 3); /* two layers down */
    place(&g);     /* 4 and 5 stand alone */
    boxes_are_apart(&g);
    labels_are_apart(&g);
    edges_meet_boxes(&g);
    edges_avoid_boxes(&g);
    assert_true(g.boxes[1].y > g.boxes[0].y && g.boxes[2].y > g.boxes[1].y);
    forget(&g);
}

/* Two trees, each wide where the other is narrow: one must not stand far away from the other. */
TEST(layout, graphs_without_an_edge_between_them_stand_side_by_side) {
    static const double widths[] = {75, 130, 235, 200, 75, 75, 110, 75, 85, 218, 85, 200, 126};
    static const uint32_t calls[][2] = {{0, 1}, {1, 2}, {1, 3},  {4, 5},   {4, 6}, {5, 7},
                                        {5, 8}, {7, 9}, {8, 10}, {10, 11}, {6, 12}};
    struct graph g = boxes(13);
    for (uint32_t i = 0; i < 13; i++) g.boxes[i].w = widths[i];
    for (uint32_t i = 0; i < sizeof calls / sizeof *calls; i++) add(&g, calls[i][0], calls[i][1]);
    place(&g);
    boxes_are_apart(&g);
    labels_are_apart(&g);
    double gap = INFINITY; /* between boxes of the two that stand beside each other */
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 4; k < 13; k++)
            if (g.boxes[i].y == g.boxes[k].y)
                gap = fmin(gap,
                           fabs(g.boxes[i].x - g.boxes[k].x) - (g.boxes[i].w + g.boxes[k].w) / 2);
    if (gap > 15) fail_msg("expected a gap of 14, seen %g", gap);
    forget(&g);
}

TEST(layout, nothing_overlaps_in_any_graph) {
    unsigned seed = 7;
    for (unsigned round = 0; round < 200; round++) {
        struct graph g = boxes(1 + (uint32_t)rand_r(&seed) % MAX);
        uint32_t n = (uint32_t)rand_r(&seed) % (3 * g.n_boxes);
        for (uint32_t i = 0; i < n; i++)
            add(&g, (uint32_t)rand_r(&seed) % g.n_boxes, (uint32_t)rand_r(&seed) % g.n_boxes);
        place(&g);
        boxes_are_apart(&g);
        labels_are_apart(&g);
        edges_meet_boxes(&g);
        edges_avoid_boxes(&g);
        forget(&g);
    }
}

UNIT_MAIN()
