/* view_sites.c - the places that matter, one line each: "std::vector growth < parse x40 < main".
 *
 * A site is the inner end of a folded stack (fold.h). Stacks that differ only in how often something recurs are one site, and so are
 * those that differ in what is not shown. Where there are thousands of stacks, each is next to nothing: then a site is the function that decides, with all its stacks.
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/fold.h"

#define SITE_FRAMES 4  /* of the program's own */
#define SITE_BYTES 100 /* fewer callers rather than a longer line */
#define MANY_STACKS 1000
#define MAX_NAME 1024

struct site {
    uint32_t stack, n; /* the first of its stacks; so many frames of it */
    uint32_t first;    /* in turns[]: for each of them */
    uint32_t n_stacks;
    uint32_t name;          /* string; without the number of stacks */
    double value, variance; /* the square of its standard error */
};

struct turns {
    uint32_t least, most;
};

struct sites {
    struct fold fold;
    bool by_function;
    struct site *all;
    uint32_t n, cap;
    struct turns *turns;
    uint32_t n_turns, cap_turns;
    struct index index;
};

bool view_sites_by_function(const struct view *v) {
    return v->n_stacks > MANY_STACKS && !v->options.all_frames;
}

/* Frames of a stack that tell its site; functions that recur together are not torn apart. */
static uint32_t site_length(const struct sites *t, uint32_t stack) {
    const struct view_stack *s = &t->fold.view.stacks[stack];
    uint32_t n = SITE_FRAMES + (t->fold.has_library[stack] ? 1 : 0);
    if (n > s->n) n = s->n;
    while (n < s->n && t->fold.marks[s->first + n].group == 0) n++;
    return n;
}

static uint64_t site_key(const struct sites *t, uint32_t stack, uint32_t n) {
    const struct view *v = &t->fold.view;
    uint64_t key = 5;
    if (t->by_function) return hash_mix(key, fold_decider(&t->fold, stack));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = v->stacks[stack].first + i;
        key = hash_mix(hash_mix(key, v->frames[at]), t->fold.marks[at].group);
    }
    return key;
}

static uint64_t site_hash(const void *owner, uint32_t i) {
    const struct sites *t = owner;
    return site_key(t, t->all[i].stack, t->all[i].n);
}

static bool is_same(const struct sites *t, const struct site *a, uint32_t stack, uint32_t n) {
    const struct view *v = &t->fold.view;
    if (t->by_function) return fold_decider(&t->fold, a->stack) == fold_decider(&t->fold, stack);
    if (a->n != n) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = v->stacks[a->stack].first + i, y = v->stacks[stack].first + i;
        if (v->frames[x] != v->frames[y] || t->fold.marks[x].group != t->fold.marks[y].group)
            return false;
    }
    return true;
}

static struct site *site_of(struct sites *t, uint32_t stack) {
    uint32_t n = site_length(t, stack);
    uint32_t *slot = index_first(&t->index, site_key(t, stack, n));
    for (; *slot != INDEX_FREE; slot = index_next(&t->index, slot))
        if (is_same(t, &t->all[*slot], stack, n)) return &t->all[*slot];
    uint32_t id = *slot = t->n;
    *REPORT_PUSH(t->all, t->n, t->cap) = (struct site){.stack = stack, .n = n, .first = t->n_turns};
    for (uint32_t i = 0; i < n; i++)
        *REPORT_PUSH(t->turns, t->n_turns, t->cap_turns) = (struct turns){UINT32_MAX, 0};
    index_added(&t->index, site_hash, t);
    return &t->all[id];
}

static void add_stack(struct sites *t, uint32_t stack) {
    const struct view_stack *s = &t->fold.view.stacks[stack];
    if (s->n == 0) return;
    struct site *site = site_of(t, stack);
    site->value += s->value;
    site->variance += s->variance;
    site->n_stacks++;
    for (uint32_t i = 0; i < site->n && !t->by_function; i++) {
        struct turns *turns = &t->turns[site->first + i];
        uint32_t times = t->fold.marks[s->first + i].times;
        if (times < turns->least) turns->least = times;
        if (times > turns->most) turns->most = times;
    }
}

static const char *frame_name(const struct sites *t, const struct site *s, uint32_t i) {
    const struct view *v = &t->fold.view;
    return view_name(v, v->frames[v->stacks[s->stack].first + i]);
}

static int by_value(const void *a, const void *b, void *context) {
    const struct sites *t = context;
    const struct site *x = a, *y = b;
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int order = strcmp(frame_name(t, x, i), frame_name(t, y, i));
        if (order != 0) return order;
    }
    return x->n < y->n ? -1 : x->n > y->n;
}

/* " x40", or " x2-40" where it differs; nothing for once. */
static int put_turns(const struct turns *t, char *out, size_t n_bytes) {
    if (t->most <= 1) return snprintf(out, n_bytes, "%s", "");
    if (t->least == t->most) return snprintf(out, n_bytes, " x%u", t->most);
    return snprintf(out, n_bytes, " x%u-%u", t->least, t->most);
}

/* Callers are left out when the line gets long, but the one that decides is always there. */
static void site_name(const struct sites *t, const struct site *s, char *out, size_t n_bytes) {
    const struct fold *f = &t->fold;
    uint32_t decider = f->has_library[s->stack] ? 1 : 0, group = 0;
    size_t n = 0;
    if (t->by_function) {
        (void)snprintf(out, n_bytes, "%s", view_name(&f->view, fold_decider(f, s->stack)));
        return;
    }
    for (uint32_t i = 0; i < s->n && n < n_bytes; i++) {
        const char *name = frame_name(t, s, i);
        uint32_t begins = f->marks[f->view.stacks[s->stack].first + i].group;
        if (i > decider && group == 0 && n + strlen(name) > SITE_BYTES) break;
        if (begins > 1) group = begins;
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%s%s", i ? " < " : "", begins > 1 ? "(" : "",
                              name);
        bool ends = group == 1;
        if (group > 0) group--;
        if (n < n_bytes && ends) n += (size_t)snprintf(out + n, n_bytes - n, ")");
        if (n < n_bytes && (ends || begins == 1))
            n += (size_t)put_turns(&t->turns[s->first + i], out + n, n_bytes - n);
    }
}

static int by_name(const void *a, const void *b) {
    const struct site *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Sites that read the same are one. */
static void merge_sites(struct sites *t) {
    char name[MAX_NAME];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        site_name(t, &t->all[i], name, sizeof name);
        t->all[i].name = profile_string(t->fold.view.p, name);
    }
    if (t->n > 1) qsort(t->all, t->n, sizeof *t->all, by_name);
    for (uint32_t i = 0; i < t->n; i++) {
        struct site *last = n > 0 ? &t->all[n - 1] : NULL, *s = &t->all[i];
        if (last == NULL || last->name != s->name) {
            t->all[n++] = *s;
            continue;
        }
        last->value += s->value;
        last->variance += s->variance;
        last->n_stacks += s->n_stacks;
    }
    t->n = n;
}

/* What stands in the table; `out` has room for what is behind the name. */
static const char *site_text(const struct sites *t, const struct site *s, char *out,
                             size_t n_bytes) {
    const char *name = profile_text(t->fold.view.p, s->name);
    if (!t->by_function) return name;
    (void)snprintf(out, n_bytes, "%s, %u stack%s", name, s->n_stacks, s->n_stacks == 1 ? "" : "s");
    return out;
}

static const struct table_column columns[] = {
    {"value", TABLE_VALUE, 12}, {"value%", TABLE_PERCENT, 8}, {"site", TABLE_TEXT, 0}};

void view_sites(const struct view *v, const struct view_print *how) {
    struct sites t = {.by_function = view_sites_by_function(v)};
    fold_new(&t.fold, v);
    index_init(&t.index);
    for (uint32_t i = 0; i < v->n_stacks; i++) add_stack(&t, i);
    merge_sites(&t);
    if (t.n > 1) qsort_r(t.all, t.n, sizeof *t.all, by_value, &t);
    struct table table = view_table(v, how, columns, sizeof columns / sizeof *columns);
    char name[MAX_NAME + 32];
    table_begin(&table);
    for (uint32_t i = 0; i < t.n && (how->n_max == 0 || i < how->n_max); i++) {
        const struct site *s = &t.all[i];
        struct table_cell cells[] = {{.number = s->value, .variance = s->variance},
                                     {.number = view_percent(v, s->value)},
                                     {.text = site_text(&t, s, name, sizeof name)}};
        if (s->value != 0) table_row(&table, cells);
    }
    table_end(&table);
    fold_free(&t.fold);
    free(t.all);
    free(t.turns);
    index_free(&t.index);
}
