/* cmd_symbolize.c - gives profiles that a process wrote the names of their functions, in place. Climate: cli. */
#include "cli/symbolize.h"

static int run(struct settings *s) {
    int status = EXIT_FINE;
    struct symbolizing y;
    if (!load_program(s)) return EXIT_COULD_NOT;
    symbolize_begin(&y, s);
    for (uint32_t i = 0; i < s->n_files; i++)
        if (!symbolize_file(&y, s->files[i])) status = EXIT_COULD_NOT;
    symbolize_end(&y);
    return status;
}

const struct command cmd_symbolize = {
    .name = "symbolize",
    .usage = "symbolize [OPTION...] [PROGRAM] PROFILE...",
    .summary = "put the names of functions, files and lines into profiles, in place",
    .example = "vitrine symbolize --path=/srv/app=build app.*.heap",
    .groups = {options_names},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run,
};
