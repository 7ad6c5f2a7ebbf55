/* kept_names.h - what a text profile keeps behind its map of libraries, in lines that other readers of its format skip.
 *
 *   # build-id 55d0c0ffe000 6f0e2c...            of the mapping that begins there; the process writes it
 *   # vitrine names 1                            from here to the end of the file: what `vitrine symbolize` found
 *   # function 12 _Z4workv<tab>work()<tab>/src/work.cc    the first, the second ...: its first line, linker's name, name, file
 *   # place 55d0c0ffee0e 3:17:5 1:40:0           an address inside a call: function:line:column, innermost inlined first
 *
 * Control characters and backslashes in names are \xNN. A line that is damaged is skipped, as old readers do with all of them.
 *
 * Climate: cli.
 */
#ifndef REPORT_KEPT_NAMES_H
#define REPORT_KEPT_NAMES_H

#include <stdio.h>

#include "report/profile.h"

#define KEPT_MAX_INLINED 256 /* of one place */

/* Where the names begin in a text profile of n bytes; n: there are none. */
size_t kept_names_find(const char *bytes, size_t n);
/* Writes "# vitrine names 1" and what follows, for all locations that have names, and the build-ids of all mappings. */
void kept_names_write(const struct profile *p, FILE *out);

#endif
