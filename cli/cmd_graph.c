/* cmd_graph.c - the call graph. Climate: cli. */
#include "cli/command.h"

#include <string.h>

#define MAX_NODES 80 /* more cannot be read */

/* The format that the name of the output asks for; NULL after a message. */
static const char *format_of(const struct settings *s) {
    static const char *const formats[] = {"dot", "svg", "pdf", "png", "ps", "gif", NULL};
    const char *dot = s->output ? strrchr(s->output, '.') : ".dot";
    for (unsigned i = 0; dot && formats[i]; i++)
        if (strcmp(dot + 1, formats[i]) == 0) return formats[i];
    say_error(
        "'%s' does not say what kind it shall be: end it in .dot, .svg, .pdf, .png, .ps or .gif",
        s->output);
    return NULL;
}

/* context: the format */
static int write_graph(const struct settings *s, struct view *v, FILE *out, const void *context) {
    char title[PICTURE_TITLE];
    struct view_dot_options o = {.title = picture_title(s, title, sizeof title),
                                 .unit = table_unit_each(view_unit(v)),
                                 .max_nodes = s->n_max ? s->n_max : MAX_NODES,
                                 .max_degree = 8,
                                 .node_fraction = 0.005,
                                 .edge_fraction = 0.001,
                                 .whole = v->p->is_difference ? v->whole : 0,
                                 .for_screen = true};
    o.unit.suffix = view_type(v); /* "Total samples: 43" */
    return graph_draw(v, &o, context, out);
}

static int run(struct settings *s) {
    const char *format = format_of(s);
    return format ? write_of_view(s, write_graph, format) : EXIT_USAGE;
}

const struct command cmd_graph = {
    .name = "graph",
    .usage = "graph [OPTION...] [PROGRAM] PROFILE... [-o OUT.dot|svg|pdf|png|ps|gif]",
    .summary =
        "the call graph, drawn by graphviz where it is installed, else by ourselves; or its text",
    .example = "vitrine graph app.0001.heap -o app.svg",
    .groups = {GROUPS_OF_VIEWS, options_flame, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run,
};
