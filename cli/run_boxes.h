/* run_boxes.h - the black boxes of what `vitrine run` runs: cli/run_boxes.c. Climate: cli. */
#ifndef CLI_RUN_BOXES_H
#define CLI_RUN_BOXES_H

#include "cli/run.h"

struct boxes {
    char top[PATH_MAX / 2]; /* ours alone; "": there is none */
    char folder[PATH_MAX];  /* where they are: that, or below it */
    int lock;
    bool has_lost;       /* somebody's had no room for all */
    const char *of_user; /* the user's own choice of a file, as the options have it; NULL: none */
};

bool boxes_begin(struct boxes *b); /* false: there is no place for them */
void boxes_end(struct boxes *b);
/* The profiles of processes that did not write their own, into the folder of the run. Notes who was cut off. */
void boxes_write(struct run *r, const struct settings *s);

#endif
