/* pprof_text.c - the old tools' table, and the stacks of --stacks. Climate: cli. */
#include "cli/dialect_pprof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/names.h"
#include "report/text.h"

/* ---- units */

static const struct unit_row {
    const char *of, *name;
    double divisor;
    int decimals;
} units[] = {
    {"bytes", "B", 1, 0},           {"bytes", "kB", 1024, 1},     {"bytes", "MB", 1048576, 1},
    {"bytes", "GB", 1073741824, 3}, {"nanoseconds", "ns", 1, 0},  {"nanoseconds", "us", 1e3, 1},
    {"nanoseconds", "ms", 1e6, 1},  {"nanoseconds", "s", 1e9, 3}, {NULL, NULL, 0, 0},
};

struct old_unit pprof_unit(const struct asked *a, const struct view *v) {
    const char *own = view_unit(v);
    struct old_unit u = {1, 0, "samples"};
    if (strcmp(own, "bytes") == 0)
        u = a->show_bytes ? (struct old_unit){1, 0, "B"} : (struct old_unit){1048576, 1, "MB"};
    else if (v->p->kind == PROFILE_CONTENTION && strcmp(own, "nanoseconds") == 0)
        u = (struct old_unit){1e9, 3, "seconds"};
    else if (strstr(view_type(v), "objects"))
        u.name = "objects";
    for (const struct unit_row *r = units; a->unit && r->of; r++)
        if (strcmp(r->of, own) == 0 && strcasecmp(r->name, a->unit) == 0)
            u = (struct old_unit){r->divisor, r->decimals, r->name};
    if (a->divide_by > 0 && a->divide_by != 1) {
        u.divisor *= a->divide_by;
        if (u.decimals == 0) u.decimals = 1;
    }
    return u;
}

const char *pprof_number(const struct old_unit *u, double value, char *out, size_t n_bytes) {
    double shown = u->decimals == 0 ? trunc(value) : value / u->divisor;
    return table_decimal(shown, u->decimals, "", out, n_bytes);
}

static const char *percent(double value, double total, char *out, size_t n_bytes) {
    if (total != 0) return table_decimal(100 * value / total, 1, "%", out, n_bytes);
    return value == 0 ? "nan" : value > 0 ? "+inf" : "-inf";
}

/* ---- the table */

/* By value with its sign, then by name. */
static int by_old_order(const void *a, const void *b, void *context) {
    const struct view *v = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    bool by_cum = v->options.sorts_by_cum;
    double x = by_cum ? v->nodes[m].cum : v->nodes[m].flat,
           y = by_cum ? v->nodes[n].cum : v->nodes[n].flat;
    if (x != y) return x > y ? -1 : 1;
    return strcmp(view_name(v, m), view_name(v, n));
}

static void put_total(const struct asked *a, const struct old_unit *u, double total, FILE *out) {
    char text[64];
    if (total == 0 && !a->is_prompt) return;
    (void)fputs("Total", out);
    if (a->thread) (void)fprintf(out, " (t%s)", text_shown(a->thread));
    (void)fprintf(out, ": %s %s\n", pprof_number(u, total, text, sizeof text), u->name);
}

static double divided(double value, double by) { return by == 0 ? 0 : value / by; }

void pprof_put_text(const struct asked *a, const struct view *v, const struct view *per,
                    FILE *out) {
    struct old_unit u = pprof_unit(a, v);
    char flat[64], flat_share[32], sum_share[32], cum[64], cum_share[32];
    double sum = 0, whole = pprof_whole(v);
    put_total(a, &u, per ? divided(v->total, per->total) : v->total, out);
    if (a->stacks) pprof_put_stacks(v, out);
    if (v->n_nodes > 1) qsort_r(v->order, v->n_nodes, sizeof *v->order, by_old_order, (void *)v);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        uint32_t node = v->order[i];
        const struct view_node *n = &v->nodes[node];
        if (a->n_max > 0 && i >= a->n_max) break;
        if (n->flat == 0 && n->cum == 0) continue;
        double shown_flat = per ? divided(n->flat, per->nodes[node].flat) : n->flat;
        double shown_cum = per ? divided(n->cum, per->nodes[node].cum) : n->cum;
        sum += n->flat;
        (void)fprintf(
            out, "%8s %6s %6s %8s %6s %s\n", pprof_number(&u, shown_flat, flat, sizeof flat),
            percent(n->flat, whole, flat_share, sizeof flat_share),
            percent(sum, whole, sum_share, sizeof sum_share),
            pprof_number(&u, shown_cum, cum, sizeof cum),
            percent(n->cum, whole, cum_share, sizeof cum_share), text_shown(view_name(v, node)));
    }
}

void pprof_tell_filters(const struct asked *a, const struct settings *s, const struct view *v,
                        FILE *out) {
    struct old_unit u = pprof_unit(a, v);
    char shown[64], total[64], text[32];
    (void)pprof_number(&u, v->shown, shown, sizeof shown);
    (void)pprof_number(&u, v->total, total, sizeof total);
    const char *share = percent(v->shown, v->total, text, sizeof text);
    if (s->focus)
        (void)fprintf(out, "After focusing on '%s': %s %s of %s (%s)\n", text_shown(s->focus),
                      shown, u.name, total, share);
    if (s->ignore)
        (void)fprintf(out, "After ignoring '%s': %s %s of %s (%s)\n", text_shown(s->ignore), shown,
                      u.name, total, share);
}

/* ---- the stacks */

/* One frame of a stack: the function, its file and line; inlined ones innermost first. */
static void put_place(const struct profile *p, const struct profile_location *l, uint32_t k,
                      bool is_leak, FILE *out) {
    char name[4096] = "", place[4096] = "??:0";
    if (l->n_lines == 0) {
        view_unknown_name(p, l, name, sizeof name);
    } else {
        const struct profile_line *line = &p->lines[l->first_line + k];
        const struct profile_function *f = &p->functions[line->function];
        (void)name_shorten(profile_text(p, f->name), name, sizeof name);
        if (f->file)
            (void)snprintf(place, sizeof place, "%s:%u", profile_text(p, f->file), line->line);
    }
    if (is_leak)
        (void)fprintf(out, "\t@ %016" PRIx64 " %s %s\n", l->address, text_shown(name),
                      text_shown(place));
    else
        (void)fprintf(out, "(%016" PRIx64 ") %s:%s\n", l->address, text_shown(place),
                      text_shown(name));
}

/* `first`: what stands before the first line; the others are indented as far. */
static void put_frames(const struct view *v, const struct view_stack *s, bool is_leak, FILE *out) {
    const struct profile *p = v->p;
    const struct profile_stack *stack = &p->stacks[s->stack];
    bool is_first = true;
    for (uint32_t i = s->first_frame; i < stack->n; i++) {
        const struct profile_location *l = &p->locations[p->frames[stack->first + i]];
        for (uint32_t k = 0; k < (l->n_lines ? l->n_lines : 1); k++) {
            if (!is_leak && !is_first) (void)fputs("         ", out);
            put_place(p, l, k, is_leak, out);
            is_first = false;
        }
    }
}

struct leak {
    uint32_t stack; /* of the view */
    double bytes, objects;
};

static int by_bytes(const void *a, const void *b) {
    const struct leak *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* What is in use by each stack: "Leak of B bytes in N objects allocated from:". */
static void put_leaks(const struct view *v, FILE *out) {
    const struct profile *p = v->p;
    uint32_t space = profile_find_type(p, "inuse_space"),
             count = profile_find_type(p, "inuse_objects");
    if (space == PROFILE_NONE || count == PROFILE_NONE) return;
    struct leak *by_stack = report_alloc(p->n_stacks * sizeof *by_stack);
    struct leak *all = report_alloc(v->n_stacks * sizeof *all);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const double *values = &p->values[(size_t)i * p->n_types];
        by_stack[p->samples[i].stack].bytes += values[space];
        by_stack[p->samples[i].stack].objects += values[count];
    }
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct leak *l = &by_stack[v->stacks[i].stack];
        if (l->bytes > 0) all[n++] = (struct leak){i, l->bytes, l->objects};
    }
    if (n > 1) qsort(all, n, sizeof *all, by_bytes);
    for (uint32_t i = 0; i < n; i++) {
        (void)fprintf(out, "Leak of %" PRId64 " bytes in %" PRId64 " objects allocated from:\n",
                      whole_value(all[i].bytes), whole_value(all[i].objects));
        put_frames(v, &v->stacks[all[i].stack], true, out);
    }
    free(all);
    free(by_stack);
}

void pprof_put_stacks(const struct view *v, FILE *out) {
    (void)fputs("Stacks:\n\n", out);
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        if (v->stacks[i].n == 0) continue;
        (void)fprintf(out, "%-8" PRId64 " ", whole_value(trunc(v->stacks[i].value)));
        put_frames(v, &v->stacks[i], false, out);
        (void)fputc('\n', out);
    }
    if (v->p->kind == PROFILE_HEAP || v->p->kind == PROFILE_GROWTH) put_leaks(v, out);
}
