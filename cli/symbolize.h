/* symbolize.h - names put into profiles' own files: cli/symbolize.c. Climate: cli. */
#ifndef CLI_SYMBOLIZE_H
#define CLI_SYMBOLIZE_H

#include "cli/command.h"
#include "report/symbols.h"

struct symbolizing {
    struct symbols_options options;
    uint64_t max_bytes;   /* of a file: report_options.max_bytes */
    bool is_quiet;        /* says nothing but errors */
    bool is_lenient;      /* a kind of file that has no place for names is no error */
    struct profile *said; /* its strings are what was said already */
};

/* Begins with the files of s->program, s->moves ... */
void symbolize_begin(struct symbolizing *y, const struct settings *s);
/* Looks up the functions, files and lines of a profile and puts them, with build-ids, into its file: the old file stays until
 * all is written, and the new one has its owner and mode. A file that has all its names, or of which none is found, is left
 * alone. False after a message. */
bool symbolize_file(struct symbolizing *y, const char *path);
void symbolize_end(struct symbolizing *y);

#endif
