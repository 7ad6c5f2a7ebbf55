/* view_peek.c - each function between those that call it and those it calls.
 *
 *   |      value   share  what
 *          1.50MB  80.00%   | main                     callers, with what came through them
 *   1.00MB 1.90MB           work                       flat and cum of the function itself
 *          0.90MB  47.00%   | malloc                   callees
 *
 * An edge counts once per stack, like a function.   Climate: cli.
 */
#include "report/views.h"

#include <errno.h>
#include <stdlib.h>

#include "report/edges.h"
#include "report/regex.h"

#define MAX_FUNCTIONS 80 /* unless told: what the old tools show */

static const struct table_column columns[] = {
    {"function", TABLE_TEXT, 0}, {"relation", TABLE_TEXT, 0}, {"flat", TABLE_VALUE, 10},
    {"cum", TABLE_VALUE, 10},    {"cum%", TABLE_PERCENT, 8},  {"name", TABLE_TEXT, 0},
};

/* In text the first two columns are told by the layout. */
static void put_row(struct table *t, const char *function, const char *relation,
                    struct table_cell flat, struct table_cell cum, double percent,
                    const char *name) {
    const struct table_cell cells[] = {{.text = function},  {.text = relation}, flat, cum,
                                       {.number = percent}, {.text = name}};
    if (t->form != TABLE_AS_TEXT) {
        table_row(t, cells);
        return;
    }
    char a[64], b[64], a_error[TABLE_ERROR], b_error[TABLE_ERROR], share[32];
    bool is_self = relation[0] == 's';
    const char *colour = table_colour(t, cells, is_self ? percent : 0);
    (void)fputs(colour, t->out);
    int used =
        fprintf(t->out, "%10s%s %10s%s %8s  %s",
                is_self ? table_number(t->unit, flat.number, a, sizeof a) : "",
                table_error(t, &flat, a_error), table_number(t->unit, cum.number, b, sizeof b),
                table_error(t, &cum, b_error), table_decimal(percent, 2, "%", share, sizeof share),
                is_self ? "" : "  | ");
    table_name(t, name, used);
    (void)fprintf(t->out, "%s\n", table_plain(colour));
}

/* The edges of one node, largest first. share: percent of the node's cum. */
static void put_edges(const struct view *v, struct table *t, const struct edges *e, uint32_t node,
                      bool callers, uint32_t *scratch) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++)
        if ((callers ? e->all[i].callee : e->all[i].caller) == node && e->all[i].value != 0)
            scratch[n++] = i;
    edges_sort(e, v, scratch, n);
    double cum = v->nodes[node].cum;
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *edge = &e->all[scratch[i]];
        put_row(t, view_name(v, node), callers ? "caller" : "callee", (struct table_cell){0},
                (struct table_cell){.number = edge->value, .variance = edge->variance},
                cum == 0 ? 0 : 100 * edge->value / cum,
                view_name(v, callers ? edge->caller : edge->callee));
    }
}

int view_peek(const struct view *v, const struct view_print *how, struct report_error *e) {
    struct regex *pattern = NULL;
    if (how->pattern != NULL && (pattern = regex_new(how->pattern, "peek", e)) == NULL) return -1;
    struct edges edges;
    edges_new(&edges, v, NULL);
    uint32_t *scratch = report_alloc(edges.n * sizeof *scratch);
    struct table t = view_table(v, how, columns, sizeof columns / sizeof *columns);
    const struct table_cell none = {0};
    char blank[TABLE_ERROR];
    if (how->form == TABLE_AS_TEXT)
        (void)fprintf(how->out, "%10s%s %10s%s %8s  %s\n", "flat", table_error(&t, &none, blank),
                      "cum", blank, "cum%", "name");
    else
        table_begin(&t);
    uint32_t n_max = how->n_max ? how->n_max : pattern ? UINT32_MAX : MAX_FUNCTIONS, n = 0;
    for (uint32_t i = 0; i < v->n_nodes && n < n_max; i++) {
        uint32_t node = v->order[i];
        if (v->nodes[node].cum == 0 || (pattern && !regex_matches(pattern, view_name(v, node))))
            continue;
        if (how->form == TABLE_AS_TEXT)
            (void)fputs("---------- ---------- --------  ----\n", how->out);
        put_edges(v, &t, &edges, node, /* callers */ true, scratch);
        const struct view_node *self = &v->nodes[node];
        put_row(&t, view_name(v, node), "self",
                (struct table_cell){.number = self->flat, .variance = self->flat_variance},
                (struct table_cell){.number = self->cum, .variance = self->cum_variance},
                view_percent(v, self->cum), view_name(v, node));
        put_edges(v, &t, &edges, node, /* callers */ false, scratch);
        n++;
    }
    table_end(&t);
    free(scratch);
    edges_free(&edges);
    regex_free(pattern);
    if (n > 0 || how->group == NULL) return 0;
    return report_fail(e, ENOENT, "no function matches '%.200s'", how->pattern ? how->pattern : "");
}
