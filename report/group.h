/* group.h - one table for each thread, module, source file, or value of a label.
 *
 * Labels and threads belong to samples. Modules and files are those of the function that decides (fold.h): the innermost of the
 * program's own in a stack.
 *
 * Climate: cli.   Owns: its arrays; the view must live as long.
 */
#ifndef REPORT_GROUP_H
#define REPORT_GROUP_H

#include "report/view.h"

struct group {
    uint32_t name; /* string */
    double value;
};

struct groups {
    struct view *v;
    struct group *all; /* largest first */
    uint32_t n, cap;
    uint32_t *of; /* the group of each sample, or of each stack of the view; PROFILE_NONE: none */
    bool is_by_stack;
    uint32_t *named; /* by string: the group of that name, plus one; 0: none yet */
    uint32_t n_named, cap_named;
};

/* key: "thread", "module", "file", or a label's. -1: the line says why (no sample has that label). May add strings to the profile. */
int groups_new(struct groups *g, struct view *v, const char *key, struct report_error *e);
/* What the view shows of one group. Free it with view_free(). NULL: the line says why. */
struct view *groups_view(const struct groups *g, uint32_t group, struct report_error *e);
void groups_free(struct groups *g);

#endif
