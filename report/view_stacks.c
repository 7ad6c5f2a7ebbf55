/* view_stacks.c - whole stacks: traces for people, collapsed for other tools.
 *
 * Two stacks of a profile can be one row of names (two call sites in one function, two builds of one
 * program); all views add such rows up.   Climate: cli.
 */
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

struct rows {
    const struct view *v;
    struct view_stack *all; /* the first stack of each row, with the sum */
    uint32_t n, cap;
    struct index index;
};

static uint64_t row_key(const struct view *v, const struct view_stack *s) {
    return hash_bytes(view_nodes(v, s), s->n * sizeof *v->frames);
}

static uint64_t row_hash(const void *owner, uint32_t i) {
    const struct rows *r = owner;
    return row_key(r->v, &r->all[i]);
}

static void add_row(struct rows *r, const struct view_stack *s) {
    const uint32_t *nodes = view_nodes(r->v, s);
    uint32_t *slot = index_first(&r->index, row_key(r->v, s));
    for (; *slot != INDEX_FREE; slot = index_next(&r->index, slot)) {
        struct view_stack *old = &r->all[*slot];
        if (old->n == s->n && memcmp(view_nodes(r->v, old), nodes, s->n * sizeof *nodes) == 0) {
            old->value += s->value;
            old->variance += s->variance;
            return;
        }
    }
    *slot = r->n;
    *REPORT_PUSH(r->all, r->n, r->cap) = *s;
    index_added(&r->index, row_hash, r);
}

static int by_value(const void *a, const void *b, void *context) {
    const struct view *v = context;
    const struct view_stack *x = a, *y = b;
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int order = strcmp(view_name(v, v->frames[x->first + x->n - 1 - i]),
                           view_name(v, v->frames[y->first + y->n - 1 - i]));
        if (order != 0) return order;
    }
    return x->n < y->n ? -1 : x->n > y->n;
}

static struct rows make_rows(const struct view *v) {
    struct rows r = {.v = v};
    index_init(&r.index);
    for (uint32_t i = 0; i < v->n_stacks; i++)
        if (v->stacks[i].n > 0) add_row(&r, &v->stacks[i]);
    if (r.n > 1) qsort_r(r.all, r.n, sizeof *r.all, by_value, (void *)v);
    return r;
}

static void free_rows(struct rows *r) {
    free(r->all);
    index_free(&r->index);
}

static const struct table_column columns[] = {{"value", TABLE_VALUE, 12}, {"stack", TABLE_LIST, 0}};

void view_traces(const struct view *v, const struct view_print *how) {
    struct rows r = make_rows(v);
    struct table t = view_table(v, how, columns, 2);
    const char **names = NULL;
    uint32_t cap = 0;
    table_begin(&t);
    for (uint32_t i = 0; i < r.n && (how->n_max == 0 || i < how->n_max); i++) {
        const struct view_stack *s = &r.all[i];
        if (s->value == 0) continue;
        REPORT_ROOM(names, 0, cap, s->n);
        for (uint32_t k = 0; k < s->n; k++) names[k] = view_name(v, v->frames[s->first + k]);
        struct table_cell cells[] = {{.number = s->value, .variance = s->variance},
                                     {.list = names, .n = s->n}};
        table_row(&t, cells);
    }
    table_end(&t);
    free(names);
    free_rows(&r);
}

/* A value that the form has no place for. */
static bool is_nothing(const struct view_stack *s) { return rint(s->value) == 0; }

static void put_collapsed_table(const struct rows *r, const struct view_print *how) {
    struct table t = view_table(r->v, how, columns, 2);
    const char **names = NULL;
    uint32_t cap = 0;
    table_begin(&t);
    for (uint32_t i = 0; i < r->n && (how->n_max == 0 || i < how->n_max); i++) {
        const struct view_stack *s = &r->all[i];
        if (is_nothing(s)) continue;
        REPORT_ROOM(names, 0, cap, s->n);
        for (uint32_t k = 0; k < s->n; k++)
            names[k] = view_name(r->v, r->v->frames[s->first + s->n - 1 - k]);
        struct table_cell cells[] = {{.number = rint(s->value), .variance = s->variance},
                                     {.list = names, .n = s->n}};
        table_row(&t, cells);
    }
    table_end(&t);
    free(names);
}

static void put_collapsed_lines(const struct rows *r, const struct view_print *how) {
    for (uint32_t i = 0; i < r->n && (how->n_max == 0 || i < how->n_max); i++) {
        const struct view_stack *s = &r->all[i];
        if (is_nothing(s)) continue;
        for (uint32_t k = s->n; k > 0; k--) {
            text_collapsed(how->out, view_name(r->v, r->v->frames[s->first + k - 1]));
            if (k > 1) (void)fputc(';', how->out);
        }
        (void)fprintf(how->out, " %.0f\n", rint(s->value));
    }
}

void view_collapsed(const struct view *v, const struct view_print *how) {
    struct rows r = make_rows(v);
    if (how->form == TABLE_AS_TEXT)
        put_collapsed_lines(&r, how);
    else
        put_collapsed_table(&r, how);
    free_rows(&r);
}
