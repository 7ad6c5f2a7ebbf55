/* view_tree.c - who called whom, from the root on, as an indented tree.
 *
 *          cum     cum%       flat  call
 *       31.2MB  100.00%          0  main
 *       20.0MB   64.10%      820kB    parse x40
 *       19.2MB   61.54%     19.2MB      std::vector growth
 *
 * The largest calls are shown; a caller has at least what it calls, so none of them hangs in the air. Stacks are folded (fold.h).
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#include "report/call_tree.h"
#include "report/fold.h"

#define MAX_CALLS 80 /* unless told: what fits a few screens */
#define INDENT 2

static const struct table_column columns[] = {
    {"depth", TABLE_COUNT, 0},  {"times", TABLE_COUNT, 0}, {"cum", TABLE_VALUE, 10},
    {"cum%", TABLE_PERCENT, 8}, {"flat", TABLE_VALUE, 10}, {"name", TABLE_TEXT, 0},
};

struct tree {
    struct fold fold;
    struct call_tree calls;
    uint32_t *times; /* by call: how often it recurs at most */
    double least;    /* a weight below is not shown */
    uint32_t n_left; /* so many calls of the least weight are */
};

static int by_weight(const void *a, const void *b, void *context) {
    const struct tree *t = context;
    const struct call *x = &t->calls.all[*(const uint32_t *)a],
                      *y = &t->calls.all[*(const uint32_t *)b];
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return strcmp(view_name(&t->fold.view, x->node), view_name(&t->fold.view, y->node));
}

static void count_times(struct tree *t) {
    const struct view *v = &t->fold.view;
    t->times = report_alloc(t->calls.n * sizeof *t->times);
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        uint32_t call = 0;
        for (uint32_t k = v->stacks[i].n; k > 0 && call != PROFILE_NONE; k--) {
            uint32_t at = v->stacks[i].first + k - 1;
            call = call_tree_find(&t->calls, call, v->frames[at]);
            if (call != PROFILE_NONE && t->fold.marks[at].times > t->times[call])
                t->times[call] = t->fold.marks[at].times;
        }
    }
}

/* A call of the weight that is just enough is shown while there is room. */
static void choose(struct tree *t, uint32_t n_max) {
    uint32_t n = t->calls.n - 1, *order = report_alloc(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++) order[i] = i + 1;
    if (n > 1) qsort_r(order, n, sizeof *order, by_weight, t);
    if (n > n_max) {
        t->least = t->calls.all[order[n_max - 1]].weight;
        for (uint32_t i = n_max; i > 0 && t->calls.all[order[i - 1]].weight == t->least; i--)
            t->n_left++;
    } else {
        t->n_left = UINT32_MAX;
    }
    free(order);
}

static bool is_shown(struct tree *t, uint32_t call) {
    double weight = t->calls.all[call].weight;
    if (weight != t->least) return weight > t->least;
    if (t->n_left == 0) return false;
    t->n_left--;
    return true;
}

static void put_call(const struct tree *t, struct table *table, uint32_t call) {
    const struct call *c = &t->calls.all[call];
    const struct view *v = &t->fold.view;
    const char *name = view_name(v, c->node);
    uint32_t times = t->times[call];
    double percent = view_percent(v, c->value);
    const struct table_cell all = {.number = c->value, .variance = c->variance},
                            self = {.number = c->self, .variance = c->self_variance};
    const struct table_cell cells[] = {
        {.number = c->depth}, {.number = times}, all, {.number = percent}, self, {.text = name}};
    if (table->form != TABLE_AS_TEXT) {
        table_row(table, cells);
        return;
    }
    char cum[64], flat[64], cum_error[TABLE_ERROR], flat_error[TABLE_ERROR], share[32],
        turns[16] = "";
    const char *colour = table_colour(table, cells, percent);
    if (times > 1) (void)snprintf(turns, sizeof turns, " x%u", times);
    (void)fputs(colour, table->out);
    int used = fprintf(
        table->out, "%10s%s %8s %10s%s  %*s", table_number(table->unit, c->value, cum, sizeof cum),
        table_error(table, &all, cum_error), table_decimal(percent, 2, "%", share, sizeof share),
        table_number(table->unit, c->self, flat, sizeof flat),
        table_error(table, &self, flat_error), INDENT * (int)(c->depth - 1), "");
    table_name(table, name, used + (int)strlen(turns));
    (void)fprintf(table->out, "%s%s\n", turns, table_plain(colour));
}

/* The children of `parent` in order, on top of the stack of calls to show: the largest is the first to go. */
static uint32_t push_children(struct tree *t, uint32_t parent, uint32_t **stack, uint32_t n,
                              uint32_t *cap) {
    uint32_t first = n;
    for (uint32_t i = t->calls.all[parent].first_child; i != PROFILE_NONE;
         i = t->calls.all[i].next_sibling)
        *REPORT_PUSH(*stack, n, *cap) = i;
    if (n - first > 1) qsort_r(*stack + first, n - first, sizeof **stack, by_weight, t);
    for (uint32_t a = first, b = n; a + 1 < b; a++) {
        uint32_t other = (*stack)[a];
        (*stack)[a] = (*stack)[--b];
        (*stack)[b] = other;
    }
    return n;
}

static uint32_t put_calls(struct tree *t, struct table *table) {
    uint32_t *stack = NULL, n = 0, cap = 0, n_shown = 0;
    n = push_children(t, 0, &stack, n, &cap);
    while (n > 0) {
        uint32_t call = stack[--n];
        if (!is_shown(t, call)) continue;
        put_call(t, table, call);
        n_shown++;
        n = push_children(t, call, &stack, n, &cap);
    }
    free(stack);
    return n_shown;
}

void view_tree(const struct view *v, const struct view_print *how) {
    struct tree t = {.n_left = 0};
    const struct table_cell none = {0};
    char blank[TABLE_ERROR];
    struct table table = view_table(v, how, columns, sizeof columns / sizeof *columns);
    fold_new(&t.fold, v);
    call_tree_new(&t.calls, &t.fold.view, UINT32_MAX);
    count_times(&t);
    choose(&t, how->n_max ? how->n_max : MAX_CALLS);
    if (how->form == TABLE_AS_TEXT)
        (void)fprintf(how->out, "%10s%s %8s %10s%s  %s\n", "cum", table_error(&table, &none, blank),
                      "cum%", "flat", blank, "call");
    else
        table_begin(&table);
    uint32_t n_shown = put_calls(&t, &table);
    table_end(&table);
    if (how->form == TABLE_AS_TEXT && n_shown + 1 < t.calls.n)
        (void)fprintf(how->out, "%u smaller calls are not shown; --count=N shows N\n",
                      t.calls.n - 1 - n_shown);
    if (how->form == TABLE_AS_TEXT && t.calls.is_full)
        (void)fprintf(
            how->out,
            "there are more than %u calls: the deeper ones count for their callers; --limit=SIZE takes more\n",
            t.calls.n - 1);
    free(t.times);
    call_tree_free(&t.calls);
    fold_free(&t.fold);
}
