/* run_boxes.h - the black boxes of what `vitrine run` runs: cli/run_boxes.c. Climate: cli. */
#ifndef CLI_RUN_BOXES_H
#define CLI_RUN_BOXES_H

#include "cli/run.h"

#define BOXES_NAME "vitrine.run." /* how the name of their folder begins */

struct boxes {
    char top[PATH_MAX / 2]; /* ours alone; "": there is none */
    char folder[PATH_MAX];  /* where they are: that, or below it */
    int lock;
    int ends;            /* the file VT_BOX_ENDS there, open; -1: there is none */
    bool has_lost;       /* somebody's had no room for all */
    const char *of_user; /* the user's own choice of a file, as the options have it; NULL: none */
};

bool boxes_begin(struct boxes *b); /* false: there is no place for them */
void boxes_end(struct boxes *b);
/* What processes told at their end. */
void boxes_read_ends(const struct boxes *b, struct residence *r);
/* The profiles of processes that did not write their own, into the folder of the run. Notes who was cut off. */
void boxes_write(struct run *r, const struct settings *s);

#endif
