/* group.c - see group.h. Climate: cli. */
#include "report/group.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/fold.h"
#include "report/label_frames.h"

#define MAX_NAME 4096

/* ---- names of groups */

/* "worker (3)": the name that the thread has, and its number; "" when the sample has neither. */
static void thread_name(const struct profile *p, uint32_t sample, char *out, size_t n_bytes) {
    const struct profile_sample *s = &p->samples[sample];
    const char *name = "";
    int64_t number = -1;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        const char *key = profile_text(p, l->key);
        if (strcmp(key, "thread") != 0 && strcmp(key, "thread_id") != 0) continue;
        if (l->text)
            name = profile_text(p, l->text);
        else
            number = l->number;
    }
    out[0] = '\0';
    if (number < 0)
        (void)snprintf(out, n_bytes, "%s", name);
    else if (*name == '\0')
        (void)snprintf(out, n_bytes, "%" PRId64, number);
    else
        (void)snprintf(out, n_bytes, "%s (%" PRId64 ")", name, number);
}

/* All values of a label, with commas between; "" when the sample has none. */
static void label_name(const struct profile *p, uint32_t sample, const char *key, char *out,
                       size_t n_bytes) {
    const struct profile_sample *s = &p->samples[sample];
    char number[96];
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < s->n_labels && n < n_bytes; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        if (strcmp(profile_text(p, l->key), key) != 0) continue;
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", n ? "," : "",
                              label_text(p, l, number, sizeof number));
    }
}

/* The binary, or the source file, that a node is in; "" when nobody knows. */
static const char *place_name(const struct view *v, uint32_t node, bool is_module) {
    const struct profile *p = v->p;
    const struct view_node *n = &v->nodes[node];
    if (!is_module)
        return n->function == PROFILE_NONE ? "" : profile_text(p, p->functions[n->function].file);
    uint32_t mapping = p->locations[n->location].mapping;
    const char *file = mapping == PROFILE_NONE ? "" : profile_text(p, p->mappings[mapping].file);
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* ---- making them */

static uint32_t group_named(struct groups *g, const char *key, const char *name) {
    char none[MAX_NAME];
    if (*name == '\0') {
        (void)snprintf(none, sizeof none, "(no %s)", key);
        name = none;
    }
    uint32_t id = profile_string(g->v->p, name);
    while (g->n_named <= id) *REPORT_PUSH(g->named, g->n_named, g->cap_named) = 0;
    if (g->named[id] != 0) return g->named[id] - 1;
    *REPORT_PUSH(g->all, g->n, g->cap) = (struct group){.name = id};
    g->named[id] = g->n;
    return g->n - 1;
}

static void group_samples(struct groups *g, const char *key, bool is_thread) {
    struct profile *p = g->v->p;
    char name[MAX_NAME];
    g->of = report_alloc(p->n_samples * sizeof *g->of);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        g->of[i] = PROFILE_NONE;
        if (!g->v->has_sample[i]) continue;
        if (is_thread)
            thread_name(p, i, name, sizeof name);
        else
            label_name(p, i, key, name, sizeof name);
        g->of[i] = group_named(g, key, name);
        g->all[g->of[i]].value += p->values[(size_t)i * p->n_types + g->v->options.type];
    }
}

static void group_stacks(struct groups *g, const char *key, bool is_module) {
    const struct view *v = g->v;
    struct fold f;
    char name[MAX_NAME];
    fold_new(&f, v);
    g->of = report_alloc(v->n_stacks * sizeof *g->of);
    g->is_by_stack = true;
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const char *place = "";
        if (f.view.stacks[i].n > 0) place = place_name(&f.view, fold_decider(&f, i), is_module);
        (void)snprintf(name, sizeof name, "%s", place); /* strings move when one is added */
        g->of[i] = group_named(g, key, name);
        g->all[g->of[i]].value += v->stacks[i].value;
    }
    fold_free(&f);
}

static int by_value(const void *a, const void *b, void *context) {
    const struct groups *g = context;
    const struct group *x = &g->all[*(const uint32_t *)a], *y = &g->all[*(const uint32_t *)b];
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    return strcmp(profile_text(g->v->p, x->name), profile_text(g->v->p, y->name));
}

static void sort_groups(struct groups *g) {
    uint32_t n_of = g->is_by_stack ? g->v->n_stacks : g->v->p->n_samples;
    uint32_t *order = report_alloc(g->n * sizeof *order),
             *now_at = report_alloc(g->n * sizeof *now_at);
    struct group *sorted = report_alloc(g->n * sizeof *sorted);
    for (uint32_t i = 0; i < g->n; i++) order[i] = i;
    if (g->n > 1) qsort_r(order, g->n, sizeof *order, by_value, g);
    for (uint32_t i = 0; i < g->n; i++) {
        sorted[i] = g->all[order[i]];
        now_at[order[i]] = i;
    }
    for (uint32_t i = 0; i < n_of; i++)
        if (g->of[i] != PROFILE_NONE) g->of[i] = now_at[g->of[i]];
    free(g->all);
    g->all = sorted;
    free(order);
    free(now_at);
}

static bool has_label(const struct profile *p, const char *key) {
    for (uint32_t i = 0; i < p->n_labels; i++)
        if (strcmp(profile_text(p, p->labels[i].key), key) == 0) return true;
    return false;
}

int groups_new(struct groups *g, struct view *v, const char *key, struct report_error *e) {
    bool is_module = strcmp(key, "module") == 0, is_thread = strcmp(key, "thread") == 0;
    *g = (struct groups){.v = v};
    if (is_module || strcmp(key, "file") == 0) {
        group_stacks(g, key, is_module);
    } else if (has_label(v->p, key) || (is_thread && has_label(v->p, "thread_id"))) {
        group_samples(g, key, is_thread);
    } else {
        return report_fail(e, EINVAL,
                           "'--group' is thread, module, file or the key of a label, and no sample "
                           "has a label '%s'; 'vitrine tags' lists them",
                           key);
    }
    sort_groups(g);
    return 0;
}

struct view *groups_view(const struct groups *g, uint32_t group, struct report_error *e) {
    if (g->is_by_stack) return view_part(g->v, g->of, group);
    struct view_options o = g->v->options;
    o.group_of = g->of;
    o.group = group;
    return view_new(g->v->p, &o, e);
}

void groups_free(struct groups *g) {
    free(g->all);
    free(g->of);
    free(g->named);
}
