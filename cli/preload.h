/* preload.h - the library and a program it shall be preloaded into. Climate: cli. */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

#include "report/error.h"

/* The library that belongs to this command: in the lib folder of the tree that the command itself lies in, wherever that is
 * and whatever links lead to it. 0, or a negative errno with the line set. */
int preload_library(char path[PATH_MAX], struct report_error *e);

/* The file that `name` means, as a shell finds it. 0, -ENOENT, or another negative errno when it cannot be run. */
int preload_program(const char *name, char path[PATH_MAX], struct report_error *e);

/* Would the library be loaded into this program, or the interpreter of this script, and work there? False: the line says why
 * not, and what can be done. Files that cannot be looked into are believed to be good. */
bool preload_is_possible(const char *program, struct report_error *e);

#endif
