/* cmd_flame.c - the flame graph as a file. Climate: cli. */
#include "cli/command.h"

#include <string.h>
#include <unistd.h>

static const char *title_of(const struct settings *s, char *out, size_t n_bytes) {
    const char *name = title_from(s);
    if (s->title) return s->title;
    if (s->bases[0])
        (void)snprintf(out, n_bytes, "%s less %s%s", name, s->bases[0],
                       s->bases[1] ? " and more" : "");
    else if (s->n_files > 1)
        (void)snprintf(out, n_bytes, "%s and %u more", name, s->n_files - 1);
    else
        (void)snprintf(out, n_bytes, "%s", strcmp(name, "-") == 0 ? "standard input" : name);
    return out;
}

static bool wants_page(const struct settings *s) {
    const char *dot = s->output ? strrchr(s->output, '.') : NULL;
    return dot && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0);
}

static int write_flame(const struct settings *s, struct view *v, FILE *out, const void *context) {
    char title[300];
    (void)context;
    if (wants_page(s))
        view_flame_page(v, out, title_of(s, title, sizeof title));
    else
        view_flame(v, out, title_of(s, title, sizeof title));
    return EXIT_FINE;
}

static int run(struct settings *s) {
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
