/* cmd_diff.c - two profiles of a program, in any of the views that show one. Climate: cli. */
#include "cli/command.h"

#include <string.h>

#include "report/read.h"

static bool has_options(const struct command *c, const struct option_row *group) {
    for (unsigned g = 0; c->groups[g]; g++)
        if (c->groups[g] == group) return true;
    return false;
}

/* What takes filters shows a view. */
static bool is_view(const struct command *c) {
    return c != &cmd_diff && has_options(c, options_filter);
}

/* NULL after a message. */
static const struct command *view_named(const char *name) {
    char names[200] = "";
    size_t n = 0;
    for (unsigned i = 0; commands[i]; i++) {
        if (!is_view(commands[i])) continue;
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
        n += (size_t)snprintf(names + n, n < sizeof names ? sizeof names - n : 0, "%s%s",
                              n ? ", " : "", commands[i]->name);
    }
    say_error("'--view' is one of %s, not '%s'", names, name);
    return NULL;
}

/* [RE] [PROGRAM] BEFORE AFTER becomes the view's own [RE] [PROGRAM] AFTER, with BEFORE as the base. */
static int run(struct settings *s) {
    const struct command *view = view_named(s->view ? s->view : "top");
    if (view == NULL) return EXIT_USAGE;
    if ((s->json || s->csv) && !has_options(view, options_form)) {
        say_error("a %s is a picture: no --json, no --csv", view->name);
        return EXIT_USAGE;
    }
    if (s->group && !has_options(view, options_group)) {
        say_error("'--group' is for the views that are tables: top, tree, peek, list, disasm, "
                  "traces, tags");
        return EXIT_USAGE;
    }
    uint32_t n = 0, before = 0,
             n_words = view->min_files - 1; /* words before the files: a regexp */
    for (uint32_t i = n_words; i < s->n_files; i++) {
        if (report_is_program(s->files[i])) continue;
        if (n++ == 0) before = i;
    }
    if (n != 2) {
        say_error("diff compares two profiles, and %u are given%s; usage: vitrine %s", n,
                  n_words ? " behind the regexp" : "", cmd_diff.usage);
        return EXIT_USAGE;
    }
    s->bases[0] = s->files[before];
    s->bases[1] = NULL;
    memmove(s->files + before, s->files + before + 1, (s->n_files - before - 1) * sizeof *s->files);
    s->n_files--;
    return view->run(s);
}

const struct command cmd_diff = {
    .name = "diff",
    .usage = "diff [--view=NAME] [OPTION...] [RE] [PROGRAM] BEFORE AFTER",
    .summary = "what grew and what shrank between two profiles of a program, in any view",
    .example = "vitrine diff --view=flame monday.pb.gz friday.pb.gz -o week.html",
    .groups = {options_data, options_filter, options_shape, options_form, options_diff,
               options_group, options_flame, options_output},
    .min_files = 2,
    .missing = "two profiles are needed",
    .run = run,
};
