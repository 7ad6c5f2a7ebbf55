/* box_files.h - profiles out of the box of a process that is gone, as files: for `read`, `core` and `run`. Climate: cli. */
#ifndef CLI_BOX_FILES_H
#define CLI_BOX_FILES_H

#include "cli/command.h"
#include "report/read_box.h"

/* Writes one, with names where the binaries are there. EXIT_FINE, or EXIT_COULD_NOT after a message. The profile is the caller's. */
int box_write(struct profile *p, const char *path, const struct settings *s);
/* What its profile tells of rows that are missing or torn; the peak has the same as the heap. */
void box_say_notes(const struct profile *p, enum box_kind kind);
extern const char *const box_endings[BOX_N_KINDS]; /* of files: ".heap" */
extern const char *const box_words[BOX_N_KINDS];   /* for people: "heap" */

#endif
