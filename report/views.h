/* views.h - the ways to print a view: one file each, view_NAME.c. All write to `out` and leave errors of
 * writing to the caller, who looks at ferror() once.   Climate: cli.
 */
#ifndef REPORT_VIEWS_H
#define REPORT_VIEWS_H

#include <math.h>

#include "report/source.h"
#include "report/symbols.h"
#include "report/table.h"
#include "report/timeline.h"
#include "report/view.h"

struct view_print {
    FILE *out;
    enum table_form form;
    uint32_t n_max;      /* rows, or stacks; 0: all */
    const char *pattern; /* view_peek: only functions that match; NULL: all */
    unsigned width;      /* of the terminal: longer names are cut; 0: as long as they are */
    bool has_colour;
    const char *group;  /* of what this is a table, or NULL: of all */
    bool is_next_group; /* there was a table of another group before */
    bool has_errors;    /* of estimates: they are shown, too */
};

/* A table of the view's values, not begun yet. */
static inline struct table view_table(const struct view *v, const struct view_print *how,
                                      const struct table_column *columns, uint32_t n_columns) {
    return (struct table){.out = how->out,
                          .form = how->form,
                          .type = view_type(v),
                          .unit_name = view_unit(v),
                          .total = v->total,
                          .columns = columns,
                          .n_columns = n_columns,
                          .width = how->width,
                          .has_colour = how->has_colour && how->form == TABLE_AS_TEXT,
                          .is_difference = v->p->is_difference,
                          .is_incomplete = !profile_is_whole(v->p),
                          .group = how->group,
                          .is_next_group = how->is_next_group,
                          .has_errors = how->has_errors && v->has_errors,
                          .total_variance = v->total_variance,
                          .unit = table_unit_each(view_unit(v))};
}

/* flat, flat%, sum%, cum, cum%, name: who uses it. */
void view_top(const struct view *v, const struct view_print *how);
/* Who called whom, from the root on. */
void view_tree(const struct view *v, const struct view_print *how);
/* Each function with its callers above and its callees below. Can fail: the pattern. */
int view_peek(const struct view *v, const struct view_print *how, struct report_error *e);
/* Each stack with its value, leaf first. */
void view_traces(const struct view *v, const struct view_print *how);
/* The places, as far as their innermost frames tell: value, percent, "leaf < its caller < ..."; by the function that decides
 * where there are thousands of stacks. */
void view_sites(const struct view *v, const struct view_print *how);
bool view_sites_by_function(const struct view *v);
/* root;...;leaf value, one line per distinct row of names. */
void view_collapsed(const struct view *v, const struct view_print *how);
/* The labels of the samples, and how much each has. Can fail: the regexps of keys. */
int view_tags(const struct view *v, const struct view_print *how, struct report_error *e);
/* The tables of the profile as they are: for people, and for programs. */
void profile_print_raw(const struct profile *p, FILE *out);
void profile_write_json(const struct profile *p, FILE *out);
void profile_write_csv(const struct profile *p, FILE *out);
/* The flame graph: an SVG picture, or an HTML page, that needs nothing but itself. */
void view_flame(const struct view *v, FILE *out, const char *title);
/* The page may have a timeline above the graph; or NULL. */
void view_flame_page(const struct view *v, FILE *out, const char *title,
                     const struct timeline *over_time);

/* The source of the functions that match, with what each line costs. The view must be by lines. A function ends at its
 * last line that has code, where its binary is here, else at the last that has values. */
struct view_list_options {
    FILE *out;
    enum table_form form;
    const char *pattern;
    struct table_unit unit;
    const char *unit_name;
    int width; /* of the values */
    struct source_search search;
    bool is_intel; /* view_disasm: Intel's way of writing, not AT&T's */
    bool is_old;   /* headings, and view_disasm's source lines, as the perl pprof has them */
    const struct symbols_options
        *symbols;      /* view_list: where a function ends is looked up there; or NULL */
    const char *group; /* as in view_print */
    bool is_next_group;
};
/* A value of a heading: the perl pprof writes 0.0, where we write 0. */
static inline const char *list_total(const struct view_list_options *o, double value, char *out,
                                     size_t n_bytes) {
    if (value != 0 || !o->is_old) return table_number(o->unit, value, out, n_bytes);
    (void)snprintf(out, n_bytes, "%.*f", o->unit.decimals, 0.0);
    return out;
}
/* -EINVAL: bad pattern; -ENOENT: no function matches. */
int view_list(struct view *v, const struct view_list_options *o, struct report_error *e);

/* The same for instructions. The view must be by addresses and without inlined frames. */
int view_disasm(struct view *v, const struct view_list_options *o, const struct symbols_options *s,
                struct report_error *e);

/* For KCachegrind. The view must be by lines. */
void view_callgrind(const struct view *v, FILE *out);

/* The call graph in graphviz's language. */
struct view_dot_options {
    const char *title; /* the program's name */
    struct table_unit unit;
    uint32_t max_nodes, max_degree;      /* the old tool's: 80, 8 */
    double node_fraction, edge_fraction; /* smaller ones are not drawn: .005, .001 */
    double whole;                        /* what shares are of; 0: of what is shown */
    bool for_paper, for_screen;          /* one page; no line thinner than one */
    bool marks_leaks;
    bool is_compact; /* the legend has the totals alone */
};
/* False: no node is large enough, and nothing was written. */
bool view_dot(const struct view *v, const struct view_dot_options *o, FILE *out);
/* The same graph, which has nodes, drawn by ourselves as "svg", "pdf", "ps", "ps2", "png" or "gif". */
void view_graph(const struct view *v, const struct view_dot_options *o, const char *format,
                FILE *out);

/* Leaves in the profile what passes the filters of the view: samples, frames, labels. -1: the line says why. */
int profile_filter(struct profile *p, const struct view_options *options, struct report_error *e);

/* profile.proto, gzipped: what its samples need, and all mappings. Gives 0, or -1 with errno. */
int profile_write_proto(const struct profile *p, FILE *out);
/* The table of view_top() as a profile.proto: one sample of one frame for each row, with the types cum and flat. */
int profile_write_top(const struct view *v, FILE *out);
/* A value as the nearest whole number that a file can hold. */
static inline int64_t whole_value(double value) {
    if (!(fabs(value) < 9e18)) return value > 0 ? INT64_MAX : value < 0 ? INT64_MIN : 0;
    return llrint(value);
}

/* For speedscope: one of its profiles per view, all views of one profile and by the same; `active` is shown first. What
 * is below zero is left out: it has no place there. */
void view_speedscope(const struct view *const *views, uint32_t n, uint32_t active,
                     const char *title, FILE *out);
/* For the Firefox Profiler: its processed profile. */
void view_firefox(const struct view *v, const char *title, FILE *out);
/* For Perfetto and chrome://tracing: the tree of calls as slices, as if each had run once. False, and nothing is
 * written, when the values are no times or counts. */
bool view_trace(const struct view *v, const char *title, FILE *out);

/* What pprof --raw writes: names, then the profile. `program` goes into its first lines. */
void profile_write_symbolized(const struct profile *p, FILE *out, const char *program);

#endif
