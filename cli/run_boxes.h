/* run_boxes.h - the black boxes of what `vitrine run` runs: cli/run_boxes.c. Climate: cli. */
#ifndef CLI_RUN_BOXES_H
#define CLI_RUN_BOXES_H

#include "cli/box_folder.h"
#include "cli/run.h"

struct boxes {
    struct box_folder folder;
    int ends;            /* the file VT_BOX_ENDS there, open; -1: there is none */
    bool has_lost;       /* somebody's had no room for all */
    const char *of_user; /* the user's own choice of a file, as the options have it; NULL: none */
    uint32_t n_running;  /* processes that the program started and that outlive it */
    pid_t running;       /* one of them */
    char running_path[PATH_MAX + NAME_MAX + 2]; /* its box, or all */
};

bool boxes_begin(struct boxes *b); /* false: there is no place for them */
void boxes_end(struct boxes *b);   /* the folder stays for processes that run on */
/* What processes told at their end. */
void boxes_read_ends(const struct boxes *b, struct residence *r);
/* The profiles of processes that did not write their own, into the folder of the run. Notes who was cut off. */
void boxes_write(struct run *r, const struct settings *s);
void boxes_say_running(const struct run *r); /* who runs on, if somebody does */

#endif
