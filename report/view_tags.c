/* view_tags.c - the labels of the samples, and how much each value of each has.
 *
 *        value  value% key   label
 *       1.50MB  60.00% user  ann
 *       1.00MB  40.00% user  bob
 *
 * Keys by alphabet; the values of one, largest first.   Climate: cli.
 */
#include "report/views.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/label_filter.h"
#include "report/label_frames.h"

struct tag {
    struct profile_label label; /* its number is 0 where the text counts */
    double value, variance;
};

struct tags {
    const struct profile *p;
    struct tag *all;
    uint32_t n, cap;
    struct index index;
};

static uint64_t tag_key(const struct profile_label *l) {
    return hash_mix(hash_mix(hash_mix(hash_mix(11, l->key), l->text), l->unit),
                    (uint64_t)l->number);
}

static uint64_t tag_hash(const void *owner, uint32_t i) {
    const struct tags *t = owner;
    return tag_key(&t->all[i].label);
}

static bool is_same(const struct profile_label *a, const struct profile_label *b) {
    return a->key == b->key && a->text == b->text && a->unit == b->unit && a->number == b->number;
}

static void add_tag(struct tags *t, struct profile_label l, double value, double variance) {
    if (l.text) l.number = 0;
    uint32_t *slot = index_first(&t->index, tag_key(&l));
    for (; *slot != INDEX_FREE; slot = index_next(&t->index, slot))
        if (is_same(&t->all[*slot].label, &l)) {
            t->all[*slot].value += value;
            t->all[*slot].variance += variance;
            return;
        }
    *slot = t->n;
    *REPORT_PUSH(t->all, t->n, t->cap) = (struct tag){l, value, variance};
    index_added(&t->index, tag_hash, t);
}

static int by_key_and_value(const void *a, const void *b, void *context) {
    const struct profile *p = context;
    const struct tag *x = a, *y = b;
    const struct profile_label *k = &x->label, *l = &y->label;
    if (k->key != l->key) return strcmp(profile_text(p, k->key), profile_text(p, l->key));
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    if (k->number != l->number) return k->number < l->number ? -1 : 1;
    return strcmp(profile_text(p, k->text), profile_text(p, l->text));
}

/* Only people want it rounded. */
static const char *tag_name(const struct profile *p, const struct tag *t, bool for_people,
                            char *out, size_t n) {
    if (for_people || t->label.text) return label_text(p, &t->label, out, n);
    (void)snprintf(out, n, "%" PRId64, t->label.number);
    return out;
}

static const struct table_column columns[] = {
    {"value", TABLE_VALUE, 12},
    {"value%", TABLE_PERCENT, 8},
    {"key", TABLE_TEXT, -12},
    {"label", TABLE_TEXT, 0},
};

int view_tags(const struct view *v, const struct view_print *how, struct report_error *e) {
    const struct profile *p = v->p;
    struct tags t = {.p = p};
    bool *is_wanted = label_keys_wanted(p, v->options.tag_show, v->options.tag_hide, e);
    if (is_wanted == NULL) return -EINVAL;
    index_init(&t.index);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        double value = p->values[(size_t)i * p->n_types + v->options.type];
        for (uint32_t k = 0; v->has_sample[i] && k < s->n_labels; k++)
            if (is_wanted[p->labels[s->first_label + k].key])
                add_tag(&t, p->labels[s->first_label + k], value,
                        profile_variance(p, i, v->options.type));
    }
    if (t.n > 1) qsort_r(t.all, t.n, sizeof *t.all, by_key_and_value, (void *)p);
    struct table table = view_table(v, how, columns, sizeof columns / sizeof *columns);
    table_begin(&table);
    for (uint32_t i = 0; i < t.n && (how->n_max == 0 || i < how->n_max); i++) {
        char name[96];
        struct table_cell cells[] = {
            {.number = t.all[i].value, .variance = t.all[i].variance},
            {.number = view_percent(v, t.all[i].value)},
            {.text = profile_text(p, t.all[i].label.key)},
            {.text = tag_name(p, &t.all[i], how->form == TABLE_AS_TEXT, name, sizeof name)}};
        table_row(&table, cells);
    }
    table_end(&table);
    free(t.all);
    free(is_wanted);
    index_free(&t.index);
    return 0;
}
