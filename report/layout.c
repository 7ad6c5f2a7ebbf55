/* layout.c - see layout.h. Climate: cli.
 *
 * Boxes stand in even layers. An edge goes through a point in each layer between its ends; the point in the odd layer
 * nearest to its middle is as wide as its label. So every step of an edge is from one layer to the next:
 *
 *   layer 0     [ main ]
 *   layer 1      | 12    | 30          points with labels
 *   layer 2    [ read ]   |            a point of the long edge
 *   layer 3      | 12     |
 *   layer 4        [ parse ]
 */
#include "report/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 32
#define GAP_X 14.0
#define GAP_Y 24.0
#define STUB 9.0     /* the last of an edge is straight: its arrow's head lies there */
#define POINT_W 6.0  /* room for an edge that passes */
#define PORT_STEP 14 /* edges leave a box so far apart, if it is wide enough */

/* A box or a point. */
struct item {
    double w, h, x, y;
    double
        anchor; /* edges pass so far right of its middle: a label stands right of its edge, a loop of its box */
    double layer_h; /* of the highest in its layer */
    uint32_t layer, place, group;
    uint32_t first_up, n_up, first_down, n_down; /* in links */
};

/* From one layer to the next. */
struct step {
    uint32_t up, down; /* items */
};

struct making {
    struct layout_box *boxes;
    uint32_t n_boxes;
    struct layout_edge *edges;
    uint32_t n_edges;
    bool *is_turned;     /* by edge */
    uint32_t *rank;      /* by box */
    uint32_t *group;     /* by box: those that edges join, by the least number among them */
    uint32_t *order;     /* boxes, callers first */
    uint32_t *first_out; /* by box: its edges are out[first_out[b]] ... */
    uint32_t *out;
    struct item *items; /* the boxes, then points */
    uint32_t n_items, cap_items;
    uint32_t *first_item; /* by edge: its points, one after another */
    uint32_t *label_item; /* by edge */
    struct step *steps;
    uint32_t n_steps, cap_steps;
    uint32_t *links; /* items: for each item those above, then those below */
    uint32_t **layers;
    uint32_t *n_in_layer;
    uint32_t n_layers;
};

/* ---- 1 and 2: layers of boxes */

static void list_edges(struct making *m) {
    m->first_out = report_alloc((m->n_boxes + 1) * sizeof *m->first_out);
    m->out = report_alloc(m->n_edges * sizeof *m->out);
    for (uint32_t e = 0; e < m->n_edges; e++) m->first_out[m->edges[e].from + 1]++;
    for (uint32_t b = 0; b < m->n_boxes; b++) m->first_out[b + 1] += m->first_out[b];
    uint32_t *at = report_alloc(m->n_boxes * sizeof *at);
    for (uint32_t e = 0; e < m->n_edges; e++) {
        uint32_t from = m->edges[e].from;
        m->out[m->first_out[from] + at[from]++] = e;
    }
    free(at);
}

enum { NEW, OPEN, DONE };

/* Depth first from a box: an edge to a box that is still open closes a circle. Boxes are put into order[] from its end. */
static void visit(struct making *m, uint32_t root, unsigned char *state, uint32_t *next,
                  uint32_t *stack, uint32_t *end) {
    uint32_t depth = 0;
    stack[depth++] = root;
    state[root] = OPEN;
    while (depth > 0) {
        uint32_t b = stack[depth - 1];
        if (next[b] == m->first_out[b + 1] - m->first_out[b]) {
            state[b] = DONE;
            m->order[--*end] = b;
            depth--;
            continue;
        }
        uint32_t e = m->out[m->first_out[b] + next[b]++], to = m->edges[e].to;
        if (to == b) continue;
        if (state[to] == OPEN) m->is_turned[e] = true;
        if (state[to] == NEW) {
            state[to] = OPEN;
            stack[depth++] = to;
        }
    }
}

static void order_boxes(struct making *m) {
    unsigned char *state = report_alloc(m->n_boxes);
    uint32_t *next = report_alloc(m->n_boxes * sizeof *next);
    uint32_t *stack = report_alloc(m->n_boxes * sizeof *stack);
    bool *is_called = report_alloc(m->n_boxes * sizeof *is_called);
    uint32_t end = m->n_boxes;
    m->is_turned = report_alloc(m->n_edges * sizeof *m->is_turned);
    m->order = report_alloc(m->n_boxes * sizeof *m->order);
    for (uint32_t e = 0; e < m->n_edges; e++)
        if (m->edges[e].from != m->edges[e].to) is_called[m->edges[e].to] = true;
    for (unsigned turn = 0; turn < 2; turn++) /* roots first, then circles nobody calls into */
        for (uint32_t b = 0; b < m->n_boxes; b++)
            if (state[b] == NEW && (turn == 1 || !is_called[b]))
                visit(m, b, state, next, stack, &end);
    free(state);
    free(next);
    free(stack);
    free(is_called);
}

static uint32_t upper(const struct making *m, uint32_t e) {
    return m->is_turned[e] ? m->edges[e].to : m->edges[e].from;
}
static uint32_t lower(const struct making *m, uint32_t e) {
    return m->is_turned[e] ? m->edges[e].from : m->edges[e].to;
}

static int by_order(const void *a, const void *b, void *context) {
    const uint32_t *at = context;
    uint32_t x = at[*(const uint32_t *)a], y = at[*(const uint32_t *)b];
    return x < y ? -1 : x > y;
}

/* The longest path from a root; then who has more callees than callers moves down to them. */
static void rank_boxes(struct making *m) {
    uint32_t *by_upper = report_alloc(m->n_edges * sizeof *by_upper);
    uint32_t *at = report_alloc(m->n_boxes * sizeof *at);
    uint32_t *key = report_alloc(m->n_edges * sizeof *key);
    uint32_t *n_up = report_alloc(m->n_boxes * sizeof *n_up),
             *n_down = report_alloc(m->n_boxes * sizeof *n_down);
    m->rank = report_alloc(m->n_boxes * sizeof *m->rank);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_boxes; i++) at[m->order[i]] = i;
    for (uint32_t e = 0; e < m->n_edges; e++) {
        if (m->edges[e].from == m->edges[e].to) continue;
        by_upper[n++] = e;
        key[e] = at[upper(m, e)];
        n_down[upper(m, e)]++;
        n_up[lower(m, e)]++;
    }
    if (n > 1) qsort_r(by_upper, n, sizeof *by_upper, by_order, key);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = upper(m, by_upper[i]), b = lower(m, by_upper[i]);
        if (m->rank[b] < m->rank[a] + 1) m->rank[b] = m->rank[a] + 1;
    }
    for (uint32_t i = n; i > 0;) { /* by their upper ends, the last first */
        uint32_t a = upper(m, by_upper[i - 1]), least = UINT32_MAX;
        for (; i > 0 && upper(m, by_upper[i - 1]) == a; i--)
            if (m->rank[lower(m, by_upper[i - 1])] < least)
                least = m->rank[lower(m, by_upper[i - 1])];
        if (n_up[a] < n_down[a]) m->rank[a] = least - 1;
    }
    free(by_upper);
    free(at);
    free(key);
    free(n_up);
    free(n_down);
}

static uint32_t group_of(const struct making *m, uint32_t box) {
    while (m->group[box] != box) box = m->group[box];
    return box;
}

static void group_boxes(struct making *m) {
    m->group = report_alloc(m->n_boxes * sizeof *m->group);
    for (uint32_t b = 0; b < m->n_boxes; b++) m->group[b] = b;
    for (uint32_t e = 0; e < m->n_edges; e++) {
        uint32_t a = group_of(m, m->edges[e].from), b = group_of(m, m->edges[e].to);
        m->group[a > b ? a : b] = a < b ? a : b;
    }
    for (uint32_t b = 0; b < m->n_boxes; b++) m->group[b] = group_of(m, b);
}

/* ---- items, and the steps between them */

static uint32_t add_item(struct making *m, double w, double h, uint32_t layer, uint32_t group) {
    *REPORT_PUSH(m->items, m->n_items, m->cap_items) =
        (struct item){.w = w, .h = h, .layer = layer, .group = group};
    if (layer >= m->n_layers) m->n_layers = layer + 1;
    return m->n_items - 1;
}

static void add_step(struct making *m, uint32_t up, uint32_t down) {
    *REPORT_PUSH(m->steps, m->n_steps, m->cap_steps) = (struct step){up, down};
}

static void add_points(struct making *m, uint32_t e) {
    const struct layout_edge *edge = &m->edges[e];
    uint32_t up = upper(m, e), down = lower(m, e);
    uint32_t first = m->items[up].layer, last = m->items[down].layer, before = up;
    uint32_t label_layer = ((first + last) / 2) | 1;
    m->first_item[e] = m->n_items;
    for (uint32_t layer = first + 1; layer < last; layer++) {
        bool has_label = layer == label_layer;
        uint32_t item = add_item(m, has_label ? edge->label_w + POINT_W : POINT_W,
                                 has_label ? edge->label_h : 0, layer, m->group[up]);
        m->items[item].anchor = (POINT_W - m->items[item].w) / 2;
        if (has_label) m->label_item[e] = item;
        add_step(m, before, item);
        before = item;
    }
    add_step(m, before, down);
}

static void make_items(struct making *m) {
    m->first_item = report_alloc(m->n_edges * sizeof *m->first_item);
    m->label_item = report_alloc(m->n_edges * sizeof *m->label_item);
    for (uint32_t b = 0; b < m->n_boxes; b++) {
        uint32_t item = add_item(m, m->boxes[b].w, m->boxes[b].h, 2 * m->rank[b], m->group[b]);
        m->items[item].anchor = -m->boxes[b].loop / 2;
    }
    for (uint32_t e = 0; e < m->n_edges; e++)
        if (m->edges[e].from != m->edges[e].to) add_points(m, e);
}

static void make_links(struct making *m) {
    m->links = report_alloc(2 * (size_t)m->n_steps * sizeof *m->links);
    for (uint32_t i = 0; i < m->n_steps; i++) {
        m->items[m->steps[i].up].n_down++;
        m->items[m->steps[i].down].n_up++;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < m->n_items; i++) {
        struct item *it = &m->items[i];
        it->first_up = at;
        it->first_down = at += it->n_up;
        at += it->n_down;
        it->n_up = it->n_down = 0;
    }
    for (uint32_t i = 0; i < m->n_steps; i++) {
        struct item *up = &m->items[m->steps[i].up], *down = &m->items[m->steps[i].down];
        m->links[up->first_down + up->n_down++] = m->steps[i].down;
        m->links[down->first_up + down->n_up++] = m->steps[i].up;
    }
}

/* Into their layers in the order in which a walk from the roots meets them: much of it is right already. */
static void fill_layers(struct making *m) {
    m->layers = report_alloc(m->n_layers * sizeof(uint32_t *));
    m->n_in_layer = report_alloc(m->n_layers * sizeof *m->n_in_layer);
    bool *is_in = report_alloc(m->n_items * sizeof *is_in);
    uint32_t *stack = report_alloc((m->n_items + m->n_steps) * sizeof *stack);
    for (uint32_t i = 0; i < m->n_items; i++) m->n_in_layer[m->items[i].layer]++;
    for (uint32_t l = 0; l < m->n_layers; l++) {
        m->layers[l] = report_alloc(m->n_in_layer[l] * sizeof *m->layers[l]);
        m->n_in_layer[l] = 0;
    }
    for (uint32_t i = 0; i < m->n_boxes; i++) {
        uint32_t depth = 0;
        stack[depth++] = m->order[i];
        while (depth > 0) {
            uint32_t item = stack[--depth];
            struct item *it = &m->items[item];
            if (is_in[item]) continue;
            is_in[item] = true;
            it->place = m->n_in_layer[it->layer];
            m->layers[it->layer][m->n_in_layer[it->layer]++] = item;
            for (uint32_t k = it->n_down; k > 0; k--)
                stack[depth++] = m->links[it->first_down + k - 1];
        }
    }
    free(is_in);
    free(stack);
}

/* ---- 3: order within layers */

/* Crossings between a layer and the next: pairs of steps in the wrong order, counted by a tree of sums. */
static uint64_t count_crossings(const struct making *m) {
    uint64_t n = 0;
    uint32_t most = 0;
    for (uint32_t l = 0; l < m->n_layers; l++)
        if (m->n_in_layer[l] > most) most = m->n_in_layer[l];
    uint32_t *sums = report_alloc((most + 2) * sizeof *sums);
    for (uint32_t l = 0; l + 1 < m->n_layers; l++) {
        uint32_t width = m->n_in_layer[l + 1], total = 0;
        memset(sums, 0, (width + 2) * sizeof *sums);
        for (uint32_t i = 0; i < m->n_in_layer[l]; i++) {
            const struct item *it = &m->items[m->layers[l][i]];
            for (uint32_t k = 0; k < it->n_down; k++) {
                uint32_t place = m->items[m->links[it->first_down + k]].place, before = 0;
                for (uint32_t s = place + 1; s > 0; s &= s - 1) before += sums[s];
                n += total - before;
            }
            for (uint32_t k = 0; k < it->n_down; k++) {
                uint32_t place = m->items[m->links[it->first_down + k]].place;
                for (uint32_t s = place + 1; s <= width; s += s & -s) sums[s]++;
                total++;
            }
        }
    }
    free(sums);
    return n;
}

static double mean_place(const struct making *m, const struct item *it, bool from_above) {
    uint32_t first = from_above ? it->first_up : it->first_down,
             n = from_above ? it->n_up : it->n_down;
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) sum += m->items[m->links[first + k]].place;
    return n ? sum / n : it->place;
}

static int by_x(const void *a, const void *b, void *context) {
    const struct making *m = context;
    const struct item *x = &m->items[*(const uint32_t *)a], *y = &m->items[*(const uint32_t *)b];
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Groups stay together. */
static void sort_by_x(struct making *m, uint32_t l) {
    if (m->n_in_layer[l] > 1) qsort_r(m->layers[l], m->n_in_layer[l], sizeof **m->layers, by_x, m);
    for (uint32_t i = 0; i < m->n_in_layer[l]; i++) m->items[m->layers[l][i]].place = i;
}

static void sort_layer(struct making *m, uint32_t l, bool from_above) {
    for (uint32_t i = 0; i < m->n_in_layer[l]; i++) {
        struct item *it = &m->items[m->layers[l][i]];
        it->x = mean_place(m, it, from_above);
    }
    sort_by_x(m, l);
}

static void order_layers(struct making *m) {
    uint32_t *best = report_alloc(m->n_items * sizeof *best);
    for (uint32_t l = 0; l < m->n_layers; l++) sort_by_x(m, l); /* x is 0: by groups alone */
    uint64_t least = count_crossings(m);
    for (uint32_t i = 0; i < m->n_items; i++) best[i] = m->items[i].place;
    for (unsigned sweep = 0; sweep < SWEEPS && least > 0; sweep++) {
        bool from_above = sweep % 2 == 0;
        for (uint32_t l = 1; l < m->n_layers; l++)
            sort_layer(m, from_above ? l : m->n_layers - 1 - l, from_above);
        uint64_t n = count_crossings(m);
        if (n >= least) continue;
        least = n;
        for (uint32_t i = 0; i < m->n_items; i++) best[i] = m->items[i].place;
    }
    for (uint32_t i = 0; i < m->n_items; i++)
        m->layers[m->items[i].layer][m->items[i].place = best[i]] = i;
    free(best);
}

/* ---- 4: places */

/* A run of items that touch each other: it moves as one. */
struct run {
    uint32_t first, n;
    double wanted, weight; /* where its first item's left edge wants to be, on average */
};

/* Each item as near to where it wants to be as the others allow: runs that would overlap become one. */
static void settle(struct making *m, uint32_t l, const double *wanted, const double *weight,
                   struct run *runs) {
    uint32_t n_runs = 0;
    double offset = 0; /* of an item's middle behind the left edge of the layer's first item */
    double *offsets = report_alloc(m->n_in_layer[l] * sizeof *offsets);
    for (uint32_t i = 0; i < m->n_in_layer[l]; i++) {
        const struct item *it = &m->items[m->layers[l][i]];
        offsets[i] = offset + it->w / 2;
        offset += it->w + GAP_X;
        runs[n_runs++] = (struct run){i, 1, wanted[i] - offsets[i], weight[i]};
        while (n_runs > 1 && runs[n_runs - 2].wanted > runs[n_runs - 1].wanted) {
            struct run *a = &runs[n_runs - 2], *b = &runs[n_runs - 1];
            a->wanted = (a->wanted * a->weight + b->wanted * b->weight) / (a->weight + b->weight);
            a->weight += b->weight;
            a->n += b->n;
            n_runs--;
        }
    }
    for (uint32_t r = 0; r < n_runs; r++)
        for (uint32_t i = runs[r].first; i < runs[r].first + runs[r].n; i++)
            m->items[m->layers[l][i]].x = runs[r].wanted + offsets[i];
    free(offsets);
}

static double passes_at(const struct item *it) { return it->x + it->anchor; }

/* Steps between two points want to be straight more than others. */
static double pull(const struct making *m, uint32_t a, uint32_t b) {
    return a >= m->n_boxes && b >= m->n_boxes ? 8 : a >= m->n_boxes || b >= m->n_boxes ? 2 : 1;
}

static void wish(const struct making *m, uint32_t item, bool above, bool below, double *wanted,
                 double *weight) {
    const struct item *it = &m->items[item];
    double sum = 0, all = 0;
    for (uint32_t k = 0; k < it->n_up + it->n_down; k++) {
        bool is_up = k < it->n_up;
        if (is_up ? !above : !below) continue;
        uint32_t other = m->links[is_up ? it->first_up + k : it->first_down + (k - it->n_up)];
        double p = pull(m, item, other);
        sum += p * (passes_at(&m->items[other]) - it->anchor);
        all += p;
    }
    *wanted = all > 0 ? sum / all : it->x;
    *weight = all > 0 ? all : 0.1;
}

static void place_across(struct making *m) {
    uint32_t most = 1;
    for (uint32_t l = 0; l < m->n_layers; l++)
        if (m->n_in_layer[l] > most) most = m->n_in_layer[l];
    double *wanted = report_alloc(most * sizeof *wanted),
           *weight = report_alloc(most * sizeof *weight);
    struct run *runs = report_alloc(most * sizeof *runs);
    for (uint32_t i = 0; i < m->n_items; i++) m->items[i].x = 0;
    for (unsigned sweep = 0; sweep < 2 * SWEEPS; sweep++) {
        bool down = sweep % 2 == 0, is_late = sweep >= SWEEPS;
        for (uint32_t k = 0; k < m->n_layers; k++) {
            uint32_t l = down ? k : m->n_layers - 1 - k;
            for (uint32_t i = 0; i < m->n_in_layer[l]; i++)
                wish(m, m->layers[l][i], down || is_late, !down || is_late, &wanted[i], &weight[i]);
            settle(m, l, wanted, weight, runs);
        }
    }
    free(wanted);
    free(weight);
    free(runs);
}

/* Groups beside each other, as near as their layers allow; each has a box in the first. */
static void join_groups(struct making *m) {
    double *right = report_alloc(m->n_layers * sizeof *right);
    for (uint32_t l = 0; l < m->n_layers; l++) right[l] = -INFINITY;
    for (uint32_t g = 0; g < m->n_boxes; g++) {
        double shift = INFINITY;
        if (m->group[g] != g) continue;
        for (uint32_t i = 0; i < m->n_items; i++) {
            const struct item *it = &m->items[i];
            if (it->group == g) shift = fmin(shift, it->x - it->w / 2 - GAP_X - right[it->layer]);
        }
        for (uint32_t i = 0; i < m->n_items; i++) {
            struct item *it = &m->items[i];
            if (it->group != g) continue;
            if (isfinite(shift)) it->x -= shift;
            right[it->layer] = fmax(right[it->layer], it->x + it->w / 2);
        }
    }
    free(right);
}

static struct layout_point place_down(struct making *m) {
    struct layout_point size = {0, 0};
    double left = INFINITY;
    for (uint32_t i = 0; i < m->n_items; i++) left = fmin(left, m->items[i].x - m->items[i].w / 2);
    for (uint32_t l = 0; l < m->n_layers; l++) {
        double h = 0;
        for (uint32_t i = 0; i < m->n_in_layer[l]; i++) h = fmax(h, m->items[m->layers[l][i]].h);
        for (uint32_t i = 0; i < m->n_in_layer[l]; i++) {
            struct item *it = &m->items[m->layers[l][i]];
            it->x -= left;
            it->y = size.y + h / 2;
            it->layer_h = h;
            if (m->layers[l][i] >= m->n_boxes) it->h = h; /* a point is as high as its layer */
            size.x = fmax(size.x, it->x + it->w / 2);
        }
        size.y += h + (l + 1 < m->n_layers ? GAP_Y : 0);
    }
    return size;
}

/* ---- curves */

/* Where on the side of a box the step to `other` begins: steps side by side, by the place of their other ends. */
static double port(const struct making *m, uint32_t box, uint32_t other, bool is_down) {
    const struct item *it = &m->items[box];
    uint32_t first = is_down ? it->first_down : it->first_up, n = is_down ? it->n_down : it->n_up;
    uint32_t before = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t o = m->links[first + k];
        double x = passes_at(&m->items[o]), y = passes_at(&m->items[other]);
        before += x < y || (x == y && o < other);
    }
    double room = 0.8 * (it->w + 2 * it->anchor), each = fmin(PORT_STEP, room / n);
    return passes_at(it) + (before - (n - 1) / 2.0) * each;
}

static void add_curve(struct layout_edge *e, struct layout_point to) {
    struct layout_point from = e->points[e->n_points - 1];
    double middle = (from.y + to.y) / 2;
    *REPORT_PUSH(e->points, e->n_points, e->cap_points) = (struct layout_point){from.x, middle};
    *REPORT_PUSH(e->points, e->n_points, e->cap_points) = (struct layout_point){to.x, middle};
    *REPORT_PUSH(e->points, e->n_points, e->cap_points) = to;
}

/* A way between x and `to` beside a box of little height: does a higher box of its layer stand there? */
static bool is_blocked(const struct making *m, uint32_t box, double x, double to) {
    const struct item *it = &m->items[box];
    double left = fmin(x, to), right = fmax(x, to);
    for (uint32_t i = 0; i < m->n_in_layer[it->layer]; i++) {
        uint32_t other = m->layers[it->layer][i];
        const struct item *o = &m->items[other];
        if (other != box && other < m->n_boxes && o->h > it->h && o->x - o->w / 2 < right &&
            o->x + o->w / 2 > left)
            return true;
    }
    return false;
}

static void draw_edge(struct making *m, uint32_t id) {
    struct layout_edge *e = &m->edges[id];
    const struct item *up = &m->items[upper(m, id)], *down = &m->items[lower(m, id)];
    uint32_t n = down->layer - up->layer - 1, first = m->first_item[id];
    *REPORT_PUSH(e->points, e->n_points, e->cap_points) =
        (struct layout_point){port(m, upper(m, id), first, true), up->y + up->h / 2};
    double x = e->points[0].x, end = port(m, lower(m, id), first + n - 1, false);
    bool is_turned = m->is_turned[id];
    double straight =
        (is_turned ? STUB : 0) + (is_blocked(m, upper(m, id), x, passes_at(&m->items[first]))
                                      ? (up->layer_h - up->h) / 2
                                      : 0);
    if (straight > 0) add_curve(e, (struct layout_point){x, e->points[0].y + straight});
    for (uint32_t i = first; i < first + n; i++) {
        const struct item *it = &m->items[i];
        add_curve(e, (struct layout_point){passes_at(it), it->y - it->h / 2});
        add_curve(e, (struct layout_point){passes_at(it), it->y + it->h / 2});
    }
    double y = down->y - down->h / 2;
    straight = (is_turned ? 0 : STUB) +
               (is_blocked(m, lower(m, id), passes_at(&m->items[first + n - 1]), end)
                    ? (down->layer_h - down->h) / 2
                    : 0);
    if (straight > 0) add_curve(e, (struct layout_point){end, y - straight});
    add_curve(e, (struct layout_point){end, y});
    const struct item *label = &m->items[m->label_item[id]];
    e->label = (struct layout_point){passes_at(label) + POINT_W / 2, label->y};
    for (uint32_t i = 0; is_turned && i < e->n_points / 2; i++) {
        struct layout_point p = e->points[i];
        e->points[i] = e->points[e->n_points - 1 - i];
        e->points[e->n_points - 1 - i] = p;
    }
}

struct layout_point layout(struct layout_box *boxes, uint32_t n_boxes, struct layout_edge *edges,
                           uint32_t n_edges) {
    struct making m = {.boxes = boxes, .n_boxes = n_boxes, .edges = edges, .n_edges = n_edges};
    list_edges(&m);
    order_boxes(&m);
    rank_boxes(&m);
    group_boxes(&m);
    make_items(&m);
    make_links(&m);
    fill_layers(&m);
    order_layers(&m);
    place_across(&m);
    join_groups(&m);
    struct layout_point size = place_down(&m);
    for (uint32_t b = 0; b < n_boxes; b++) {
        boxes[b].x = passes_at(&m.items[b]);
        boxes[b].y = m.items[b].y;
    }
    for (uint32_t e = 0; e < n_edges; e++)
        if (edges[e].from != edges[e].to) draw_edge(&m, e);
    for (uint32_t l = 0; l < m.n_layers; l++) free(m.layers[l]);
    free(m.layers);
    free(m.n_in_layer);
    free(m.links);
    free(m.steps);
    free(m.first_item);
    free(m.label_item);
    free(m.items);
    free(m.rank);
    free(m.group);
    free(m.order);
    free(m.is_turned);
    free(m.first_out);
    free(m.out);
    return size;
}
