/* view_tags.c - the labels of the samples, and how much each value of each has.
 *
 *        value  value% key   label
 *       1.50MB  60.00% user  ann
 *       1.00MB  40.00% user  bob
 *
 * Keys by alphabet; the values of one, largest first.   Climate: cli.
 */
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tag {
    uint32_t key, text, unit; /* strings; text 0: the number counts */
    int64_t number;
    double value;
};

struct tags {
    const struct profile *p;
    struct tag *all;
    uint32_t n, cap;
    struct index index;
};

static uint64_t tag_key(uint32_t key, uint32_t text, uint32_t unit, int64_t number) {
    return hash_mix(hash_mix(hash_mix(hash_mix(11, key), text), unit), (uint64_t)number);
}

static uint64_t tag_hash(const void *owner, uint32_t i) {
    const struct tags *t = owner;
    return tag_key(t->all[i].key, t->all[i].text, t->all[i].unit, t->all[i].number);
}

static void add_tag(struct tags *t, const struct profile_label *l, double value) {
    int64_t number = l->text ? 0 : l->number;
    uint32_t *slot = index_first(&t->index, tag_key(l->key, l->text, l->unit, number));
    for (; *slot != INDEX_FREE; slot = index_next(&t->index, slot)) {
        struct tag *old = &t->all[*slot];
        if (old->key == l->key && old->text == l->text && old->unit == l->unit &&
            old->number == number) {
            old->value += value;
            return;
        }
    }
    *slot = t->n;
    *REPORT_PUSH(t->all, t->n, t->cap) = (struct tag){l->key, l->text, l->unit, number, value};
    index_added(&t->index, tag_hash, t);
}

static int by_key_and_value(const void *a, const void *b, void *context) {
    const struct profile *p = context;
    const struct tag *x = a, *y = b;
    if (x->key != y->key) return strcmp(profile_text(p, x->key), profile_text(p, y->key));
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(profile_text(p, x->text), profile_text(p, y->text));
}

/* "ann", "4.00kB", "17 requests"; only people want it rounded */
static const char *tag_name(const struct profile *p, const struct tag *t, bool for_people,
                            char *out, size_t n) {
    if (t->text) return profile_text(p, t->text);
    const char *unit = profile_text(p, t->unit ? t->unit : t->key);
    struct table_unit u = table_unit_for(unit, (double)t->number);
    if (!for_people)
        (void)snprintf(out, n, "%" PRId64, t->number);
    else if (u.suffix[0] != '\0')
        (void)snprintf(out, n, "%.*f%s", u.decimals, (double)t->number / u.divisor, u.suffix);
    else
        (void)snprintf(out, n, "%" PRId64 "%s%s", t->number, t->unit ? " " : "",
                       profile_text(p, t->unit));
    return out;
}

static const struct table_column columns[] = {
    {"value", TABLE_VALUE, 12},
    {"value%", TABLE_PERCENT, 8},
    {"key", TABLE_TEXT, -12},
    {"label", TABLE_TEXT, 0},
};

void view_tags(const struct view *v, const struct view_print *how) {
    const struct profile *p = v->p;
    struct tags t = {.p = p};
    index_init(&t.index);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        double value = p->values[(size_t)i * p->n_types + v->options.type];
        for (uint32_t k = 0; v->has_sample[i] && k < s->n_labels; k++)
            add_tag(&t, &p->labels[s->first_label + k], value);
    }
    if (t.n > 1) qsort_r(t.all, t.n, sizeof *t.all, by_key_and_value, (void *)p);
    struct table table = view_table(v, how, columns, sizeof columns / sizeof *columns);
    table_begin(&table);
    for (uint32_t i = 0; i < t.n && (how->n_max == 0 || i < how->n_max); i++) {
        char name[96];
        struct table_cell cells[] = {
            {.number = t.all[i].value},
            {.number = view_percent(v, t.all[i].value)},
            {.text = profile_text(p, t.all[i].key)},
            {.text = tag_name(p, &t.all[i], how->form == TABLE_AS_TEXT, name, sizeof name)}};
        table_row(&table, cells);
    }
    table_end(&table);
    free(t.all);
    index_free(&t.index);
}
