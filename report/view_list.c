/* view_list.c - the source of functions with what each line costs.
 *
 *   ROUTINE ====================== app::deep in /src/work.cc
 *   900000 900000 Total B (flat / cumulative)
 *        .      .   24: NOINLINE void deep(int d) {
 *   ...
 *        . 771000   26:     if (d > 0) deep(d - 1);
 *
 * Works on a view by lines: each of its nodes is a line of a function. A line, and a function, counts once per stack.
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/regex.h"
#include "report/text.h"

#define AROUND 5 /* lines shown before and after */
#define MAX_NAME 4096

struct routine {
    uint32_t name, file;  /* strings */
    uint32_t first, last; /* lines that have values, or where it begins and ends */
    uint32_t location;    /* one of those it was made of */
    double flat, cum;
    uint32_t seen_in;
};

struct routines {
    struct routine *all;
    uint32_t n, cap;
    uint32_t *of_node; /* by node of the view; PROFILE_NONE: does not match */
};

static uint32_t routine_of(struct routines *r, struct view *v, uint32_t function,
                           uint32_t location) {
    char name[MAX_NAME];
    const struct profile_function *f = &v->p->functions[function];
    uint32_t file = f->file;
    (void)name_shorten(profile_text(v->p, f->name), name, sizeof name);
    uint32_t id = profile_string(v->p, name);
    for (uint32_t i = 0; i < r->n; i++)
        if (r->all[i].name == id && r->all[i].file == file) return i;
    *REPORT_PUSH(r->all, r->n, r->cap) =
        (struct routine){.name = id, .file = file, .first = UINT32_MAX, .location = location};
    return r->n - 1;
}

static void find_routines(struct routines *r, struct view *v, const struct regex *pattern) {
    char name[MAX_NAME];
    r->of_node = report_alloc(v->n_nodes * sizeof *r->of_node);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct view_node *n = &v->nodes[i];
        r->of_node[i] = PROFILE_NONE;
        if (n->function == PROFILE_NONE || n->line == 0 || v->p->functions[n->function].file == 0)
            continue;
        const char *full = profile_text(v->p, v->p->functions[n->function].name);
        if (!regex_matches(pattern, name_shorten(full, name, sizeof name)) &&
            !regex_matches(pattern, full))
            continue;
        uint32_t id = r->of_node[i] = routine_of(r, v, n->function, n->location),
                 start = v->p->functions[n->function].start_line;
        struct routine *routine = &r->all[id];
        if (n->line < routine->first) routine->first = n->line;
        if (start > 0 && start < routine->first) routine->first = start;
        if (n->line > routine->last) routine->last = n->line;
    }
}

static void count_routines(struct routines *r, const struct view *v) {
    if (r->n == 0) return; /* nothing matched */
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t id = r->of_node[v->frames[s->first + k]];
            if (id == PROFILE_NONE) continue;
            if (k == 0) r->all[id].flat += s->value;
            if (r->all[id].seen_in != i + 1) r->all[id].cum += s->value;
            r->all[id].seen_in = i + 1;
        }
    }
}

static int by_cum(const struct routine *x, const struct routine *y, const struct view *v) {
    if (fabs(x->cum) != fabs(y->cum)) return fabs(x->cum) > fabs(y->cum) ? -1 : 1;
    return strcmp(profile_text(v->p, x->name), profile_text(v->p, y->name));
}

/* ---- printing */

static const struct table_column columns[] = {
    {"function", TABLE_TEXT, 0}, {"file", TABLE_TEXT, 0}, {"line", TABLE_COUNT, 0},
    {"flat", TABLE_VALUE, 0},    {"cum", TABLE_VALUE, 0}, {"source", TABLE_TEXT, 0},
};

struct listing {
    struct view *v;
    const struct view_list_options *o;
    struct source source;
    struct table table;
    struct module *module; /* of the mapping; NULL: not here */
    uint32_t mapping;
};

static const char *value_or_dot(const struct listing *l, double value, char *out, size_t n_bytes) {
    if (value == 0) return ".";
    return table_number(l->o->unit, value, out, n_bytes);
}

static void put_line(struct listing *l, const struct routine *r, uint32_t line, double flat,
                     double cum, const char *source) {
    char a[64], b[64];
    if (l->o->form == TABLE_AS_TEXT) {
        (void)fprintf(l->o->out, "%*s %*s %4u: %s\n", l->o->width,
                      value_or_dot(l, flat, a, sizeof a), l->o->width,
                      value_or_dot(l, cum, b, sizeof b), line, text_shown_source(source));
        return;
    }
    struct table_cell cells[] = {{.text = profile_text(l->v->p, r->name)},
                                 {.text = profile_text(l->v->p, r->file)},
                                 {.number = line},
                                 {.number = flat},
                                 {.number = cum},
                                 {.text = source}};
    table_row(&l->table, cells);
}

/* Sums of the nodes of a routine at one line. */
static void line_values(const struct view *v, const uint32_t *of_node, uint32_t id, uint32_t line,
                        double *flat, double *cum) {
    *flat = *cum = 0;
    for (uint32_t i = 0; i < v->n_nodes; i++)
        if (of_node[i] == id && v->nodes[i].line == line) {
            *flat += v->nodes[i].flat;
            *cum += v->nodes[i].cum;
        }
}

/* The binary of a location, kept until another is asked for; NULL: it is not here, or the names are not from it. */
static struct module *module_of(struct listing *l, uint32_t mapping) {
    if (mapping == PROFILE_NONE || l->v->p->mappings[mapping].has_functions) return NULL;
    if (l->mapping != mapping) {
        module_close(l->module);
        l->module = symbols_open(l->v->p, mapping, l->o->symbols);
        l->mapping = mapping;
    }
    return l->module;
}

static uint32_t last_line(struct listing *l, const struct routine *r) {
    const struct profile *p = l->v->p;
    const struct profile_location *at = &p->locations[r->location];
    uint64_t address;
    struct module *m = l->o->symbols ? module_of(l, at->mapping) : NULL;
    if (m == NULL) return r->last;
    const struct profile_mapping *map = &p->mappings[at->mapping];
    if (!module_address(m, at->address - map->start + map->offset, &address)) return r->last;
    uint32_t last = module_last_line(m, address, profile_text(p, r->file));
    return last > r->last ? last : r->last;
}

static void put_routine(struct listing *l, const uint32_t *of_node, struct routine *r,
                        uint32_t id) {
    r->last = last_line(l, r);
    const char *path = profile_text(l->v->p, r->file);
    char a[64], b[64];
    bool is_text = l->o->form == TABLE_AS_TEXT, has_source = source_open(&l->source, path);
    int why = errno;
    if (is_text) {
        (void)fprintf(l->o->out, "ROUTINE ====================== %s in %s\n",
                      text_shown(profile_text(l->v->p, r->name)), text_shown(path));
        (void)fprintf(l->o->out, "%*s %*s Total %s (flat / cumulative)\n", l->o->width,
                      list_total(l->o, r->flat, a, sizeof a), l->o->width,
                      list_total(l->o, r->cum, b, sizeof b), text_shown(l->o->unit_name));
        if (!has_source) (void)fprintf(l->o->out, "(no source: %s)\n", strerror(why));
    }
    uint32_t first = r->first > AROUND ? r->first - AROUND : 1, last = r->last + AROUND;
    if (has_source && last > l->source.n_lines) last = l->source.n_lines;
    for (uint32_t line = first; line <= last; line++) {
        double flat, cum;
        line_values(l->v, of_node, id, line, &flat, &cum);
        if (!has_source && flat == 0 && cum == 0) continue;
        if (is_text && line == r->first) (void)fputs("---\n", l->o->out);
        put_line(l, r, line, flat, cum, source_line(&l->source, path, line));
        if (is_text && line == r->last) (void)fputs("---\n", l->o->out);
    }
}

int view_list(struct view *v, const struct view_list_options *o, struct report_error *e) {
    struct routines r = {0};
    struct regex *pattern = regex_new(o->pattern, "list", e);
    if (pattern == NULL) return -1;
    find_routines(&r, v, pattern);
    count_routines(&r, v);
    /* the largest that is left, again and again: nodes know routines by number, so they stay where they are */
    uint32_t n_printed = 0;
    bool *is_printed = report_alloc(r.n * sizeof *is_printed);
    struct listing l = {.v = v,
                        .o = o,
                        .source = {.search = o->search},
                        .mapping = PROFILE_NONE,
                        .table = {.out = o->out,
                                  .form = o->form,
                                  .type = view_type(v),
                                  .unit_name = view_unit(v),
                                  .total = v->total,
                                  .is_incomplete = !profile_is_whole(v->p),
                                  .columns = columns,
                                  .n_columns = sizeof columns / sizeof *columns,
                                  .group = o->group,
                                  .is_next_group = o->is_next_group,
                                  .unit = {1, 0, "", NULL}}};
    if (o->form != TABLE_AS_TEXT) table_begin(&l.table);
    for (uint32_t round = 0; round < r.n; round++) {
        uint32_t best = PROFILE_NONE;
        for (uint32_t i = 0; i < r.n; i++)
            if (!is_printed[i] && (best == PROFILE_NONE || by_cum(&r.all[i], &r.all[best], v) < 0))
                best = i;
        is_printed[best] = true;
        if (r.all[best].cum == 0 && r.all[best].flat == 0) continue;
        put_routine(&l, r.of_node, &r.all[best], best);
        n_printed++;
    }
    if (o->form != TABLE_AS_TEXT) table_end(&l.table);
    source_close(&l.source);
    module_close(l.module);
    free(is_printed);
    free(r.of_node);
    free(r.all);
    regex_free(pattern);
    if (n_printed > 0) return 0;
    return report_fail(e, ENOENT, "no function with lines matches '%.200s'", o->pattern);
}
