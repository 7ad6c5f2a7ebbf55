/* call_tree.h - the stacks of a view as one tree: who called whom, from the root on. Climate: cli. */
#ifndef REPORT_CALL_TREE_H
#define REPORT_CALL_TREE_H

#include "report/view.h"

struct call {
    uint32_t node, parent, first_child, next_sibling;
    uint32_t depth;
    double value, weight, self;     /* the sum; of absolute values; of stacks that end here */
    double variance, self_variance; /* of the sum, and of self: squares of their standard errors */
    /* for who draws it */
    double x;          /* where it begins, as a fraction of the whole */
    uint32_t drawn_as; /* its number among those drawn */
};

struct call_tree {
    struct call *all; /* [0] is all together; a caller stands before what it calls */
    uint32_t n, cap;
    bool
        is_full; /* there are more calls than the profile may stand for: those left out count for their callers */
    struct index index;
};

/* Deeper frames than max_depth count for the one there. */
void call_tree_new(struct call_tree *t, const struct view *v, uint32_t max_depth);
/* What `parent` calls: the one of that node; PROFILE_NONE: it does not. */
uint32_t call_tree_find(const struct call_tree *t, uint32_t parent, uint32_t node);
void call_tree_free(struct call_tree *t);

#endif
