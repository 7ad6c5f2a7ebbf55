/* view_top.c - the table of functions, largest first. Climate: cli. */
#include "report/views.h"

static const struct table_column columns[] = {
    {"flat", TABLE_VALUE, 10}, {"flat%", TABLE_PERCENT, 7}, {"sum%", TABLE_PERCENT, 7},
    {"cum", TABLE_VALUE, 10},  {"cum%", TABLE_PERCENT, 7},  {"name", TABLE_TEXT, 0},
};

void view_top(const struct view *v, const struct view_print *how) {
    struct table t = view_table(v, how, columns, sizeof columns / sizeof *columns);
    double sum = 0;
    table_begin(&t);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct view_node *n = &v->nodes[v->order[i]];
        if (how->n_max > 0 && t.n_rows >= how->n_max) break;
        if (n->flat == 0 && n->cum == 0) continue;
        sum += n->flat;
        struct table_cell cells[] = {
            {.number = n->flat, .variance = n->flat_variance},
            {.number = view_percent(v, n->flat)},
            {.number = view_percent(v, sum)},
            {.number = n->cum, .variance = n->cum_variance},
            {.number = view_percent(v, n->cum)},
            {.text = view_name(v, v->order[i])},
        };
        table_row(&t, cells);
    }
    table_end(&t);
}
