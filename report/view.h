/* view.h - what all views look at: a profile by functions (or lines, files, addresses), filtered, one type.
 *
 *   profile --view_new()--> nodes with flat and cum, stacks as rows of nodes --> view_top() view_tree() ...
 *
 * A node is what one line of a table is about. Each location is a run of nodes, innermost inlined first;
 * each stack that passed the filters has its value and its nodes, leaf first.
 *
 * Climate: cli.   Owns: its arrays; the profile must live as long.
 */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include <stdio.h>

#include "report/error.h"
#include "report/profile.h"

enum view_by {
    VIEW_FUNCTIONS,
    VIEW_FILE_FUNCTIONS, /* of one name in two files are two */
    VIEW_LINES,
    VIEW_FILES,
    VIEW_ADDRESSES
};

struct view_options {
    uint32_t type; /* of the profile's types; PROFILE_NONE: its default */
    enum view_by by;
    bool full_names;      /* with parameters and template arguments */
    bool mangled_names;   /* as the linker has them */
    bool tells_instances; /* template arguments, where two functions differ by nothing else */
    bool no_inlines;      /* inlined calls count for the function they are in */
    bool marks_inlined;   /* " (inline)" behind names, as the perl pprof writes */
    bool shows_address;   /* behind names; each address is a node, but by files */
    bool shows_columns;   /* file:line:column; each column is a node */
    bool by_path;         /* what is called from two places is two nodes: a tree, not a graph */
    bool all_frames;      /* do not cut off the allocator's own frames */
    bool drops_negative;  /* differences below zero count as zero */
    bool sorts_by_cum;
    bool is_each_place; /* each line of each location is a node: filter.c */
    bool is_relative;   /* percentages are of what passed the filters, not of all */
    /* regexps, or NULL: keep and drop stacks; keep and drop frames; cut off the callers of the outermost match; cut off
     * what the innermost match calls */
    const char *focus, *ignore, *show, *hide, *show_from, *prune_from;
    /* labels, or NULL: keep and drop samples; see label_filter.h */
    const char *tag_focus, *tag_ignore;
    const uint32_t *group_of; /* by sample, or NULL: only those of `group` */
    uint32_t group;
    /* regexps of labels' keys, or NULL: which of them view_tags() shows */
    const char *tag_show, *tag_hide;
};

struct view_node {
    uint32_t name;     /* string */
    uint32_t function; /* of the profile; PROFILE_NONE for a place without */
    uint32_t line;     /* in a view by lines, else 0 */
    uint32_t location; /* the first of those it was made of */
    double flat, cum;
    double flat_variance, cum_variance; /* squares of their standard errors */
};

struct view_stack {
    uint32_t stack;       /* of the profile */
    uint32_t first, n;    /* in frames[]: nodes, leaf first */
    uint32_t first_frame; /* of the profile's stack: those before it are the allocator's */
    double value;
    double variance; /* the square of its standard error */
};

struct view {
    struct profile *p;
    struct view_options options;
    double total;  /* of the whole profile */
    double shown;  /* of what passed the filters */
    double weight; /* sum of absolute values of the whole profile, by stack */
    double whole;  /* what percentages are of */
    double total_variance, shown_variance;
    bool has_errors; /* values are estimates, and it is known how good they are */
    struct view_node *nodes;
    uint32_t n_nodes, cap_nodes;
    uint32_t *order; /* nodes by flat or cum, largest first, then by name */
    struct view_stack *stacks;
    uint32_t n_stacks, cap_stacks;
    uint32_t *frames;
    uint32_t n_frames, cap_frames;
    bool *has_sample; /* by sample of the profile: it passed the filters */
};

/* The nodes of a stack. A view in which no stack has any has no frames[]. */
static inline const uint32_t *view_nodes(const struct view *v, const struct view_stack *s) {
    static const uint32_t none[1];
    return s->n > 0 ? v->frames + s->first : none;
}

/* NULL: the line says why (a bad regexp). May add strings to the profile. */
struct view *view_new(struct profile *p, const struct view_options *o, struct report_error *e);
/* The stacks of a view for which group_of[stack of the view] is `group`. */
struct view *view_part(const struct view *v, const uint32_t *group_of, uint32_t group);
void view_free(struct view *v);
static inline const char *view_name(const struct view *v, uint32_t node) {
    return profile_text(v->p, v->nodes[node].name);
}
static inline const char *view_type(const struct view *v) {
    return profile_text(v->p, v->p->types[v->options.type].name);
}
static inline const char *view_unit(const struct view *v) {
    return profile_text(v->p, v->p->types[v->options.type].unit);
}
/* Of the whole: the total, or for a difference the sum of all changes, or what the base had. */
static inline double view_percent(const struct view *v, double value) {
    return v->whole == 0 ? 0 : 100 * value / v->whole;
}

/* The name of a place nobody knows the function of: binary+0xoffset. */
void view_unknown_name(const struct profile *p, const struct profile_location *l, char *out,
                       size_t n_bytes);

#endif
