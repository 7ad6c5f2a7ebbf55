/* box_files.h - profiles out of the box of a process that is gone, as files: for `read`, `core` and `run`. Climate: cli. */
#ifndef CLI_BOX_FILES_H
#define CLI_BOX_FILES_H

#include "cli/command.h"
#include "report/read_box.h"

/* Writes one, with names where the binaries are there. EXIT_FINE, or EXIT_COULD_NOT after a message. The profile is the caller's. */
int box_write(struct profile *p, const char *path, const struct settings *s);
extern const char *const box_endings[BOX_N_KINDS]; /* of files: ".heap" */
extern const char *const box_words[BOX_N_KINDS];   /* for people: "heap" */

#endif
