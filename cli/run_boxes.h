/* run_boxes.h - the black boxes of what `vitrine run` runs: cli/run_boxes.c. Climate: cli. */
#ifndef CLI_RUN_BOXES_H
#define CLI_RUN_BOXES_H

#include "cli/run.h"

struct boxes {
    char folder[PATH_MAX]; /* private; "" : there is none */
    int lock;
};

bool boxes_begin(struct boxes *b); /* false: there is no place for them */
void boxes_end(struct boxes *b);
/* The profiles of processes that did not write their own, into the folder of the run. Notes who was cut off. */
void boxes_write(struct run *r, const struct settings *s);

#endif
