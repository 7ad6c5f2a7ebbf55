/* source.h - lines of source files by number; the last file asked for is kept. Climate: cli. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdint.h>

struct source {
    char *path; /* of the file that is held; NULL: none */
    char *text; /* its bytes, lines ended by NUL; NULL: cannot be read */
    char **lines;
    uint32_t n_lines, cap_lines;
};

/* The line without its end; "" when the file or the line is not there. Good until another file is asked for. */
const char *source_line(struct source *s, const char *path, uint32_t line);
void source_close(struct source *s);

#endif
