/* cmd_flame.c - the flame graph as a file. Climate: cli. */
#include "cli/command.h"

#include <string.h>
#include <unistd.h>

static bool wants_page(const struct settings *s) {
    const char *end = output_ending(s);
    return strcmp(end, ".html") == 0 || strcmp(end, ".htm") == 0;
}

/* A name without an end, such as that of a pipe, gets the picture. */
static bool is_kind_known(const struct settings *s) {
    const char *end = output_ending(s);
    if (*end == '\0' || strcmp(end, ".svg") == 0 || wants_page(s)) return true;
    say_error("a flame graph is .svg or .html, and '%s' is neither", s->output);
    return false;
}

static int write_flame(const struct settings *s, struct view *v, FILE *out, const void *context) {
    char title[PICTURE_TITLE];
    (void)context;
    if (wants_page(s))
        view_flame_page(v, out, picture_title(s, title, sizeof title), NULL);
    else
        view_flame(v, out, picture_title(s, title, sizeof title));
    return EXIT_FINE;
}

static int run(struct settings *s) {
    if (!is_kind_known(s)) return EXIT_USAGE;
    if (s->output || !isatty(1)) return write_of_view(s, write_flame, NULL);
    say_error("a picture on a terminal: redirect it, or say -o FILE.svg or FILE.html");
    return EXIT_USAGE;
}

const struct command cmd_flame = {
    .name = "flame",
    .usage = "flame [OPTION...] [PROGRAM] PROFILE... -o OUT.svg|html",
    .summary = "the flame graph: one SVG or HTML file, to be searched and zoomed in any browser",
    .example = "vitrine flame app.0001.heap -o app.svg",
    .groups = {GROUPS_OF_VIEWS, options_flame, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run,
};
