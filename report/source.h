/* source.h - lines of source files by number; the last file asked for is kept. Climate: cli. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Where source files are that are not where the profile says, as Go's pprof has it: the beginning `trim` is taken off
 * the path, and what is left is looked for in each folder of `folders` and in those above it. Without `trim`, all up to
 * the name of such a folder is taken off: /build/app/src/a.c is src/a.c in /home/me/app. */
struct source_search {
    const char *folders; /* "dir:dir"; NULL: the current one */
    const char *trim;    /* "dir:dir", or NULL */
};

struct source {
    struct source_search search;
    char *path; /* of the file that is held; NULL: none */
    char *text; /* its bytes, lines ended by NUL; NULL: cannot be read */
    char **lines;
    uint32_t n_lines, cap_lines;
};

/* False: it cannot be read, errno says why. */
bool source_open(struct source *s, const char *path);
/* The line without its end; "" when the file or the line is not there. Good until another file is asked for. */
const char *source_line(struct source *s, const char *path, uint32_t line);
void source_close(struct source *s);

#endif
