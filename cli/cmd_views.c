/* cmd_views.c - the commands that print a view of profiles: top, tree, peek, traces, collapsed, raw, diff.
 * They differ in one call, so they share a file.   Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>

#include "report/read.h"

/* Prints what `out` is about to show; only for people. */
static void put_summary(const struct view *v, const struct settings *s, FILE *out) {
    char shown[64], total[64];
    if (s->json || s->csv) return;
    struct table_unit u = table_unit_for(view_unit(v), v->weight);
    (void)fprintf(out, "%s, %s of %s shown\n", view_type(v),
                  table_number(u, v->shown, shown, sizeof shown),
                  table_number(u, v->total, total, sizeof total));
}

typedef int print_view(const struct view *v, const struct view_print *how, struct report_error *e);

static int show(struct settings *s, print_view *print, const char *pattern, bool has_summary) {
    struct profile *p;
    struct report_error e = {""};
    int status;
    struct view *v = load_view(s, &p, &status);
    if (v == NULL) return status;
    FILE *out = output_open(s);
    if (out == NULL) {
        status = EXIT_COULD_NOT;
    } else {
        struct view_print how = print_from(s, out);
        how.pattern = pattern;
        if (has_summary) put_summary(v, s, out);
        int error = print(v, &how, &e);
        if (error != 0) say_error("%s", e.line);
        status = output_close(s, out);
        if (error != 0) status = error == -ENOENT ? EXIT_COULD_NOT : EXIT_USAGE;
    }
    view_free(v);
    profile_free(p);
    return status;
}

static int print_top(const struct view *v, const struct view_print *how, struct report_error *e) {
    (void)e;
    view_top(v, how);
    return 0;
}
static int print_traces(const struct view *v, const struct view_print *how,
                        struct report_error *e) {
    (void)e;
    view_traces(v, how);
    return 0;
}
static int print_collapsed(const struct view *v, const struct view_print *how,
                           struct report_error *e) {
    (void)e;
    view_collapsed(v, how);
    return 0;
}

static int run_top(struct settings *s) { return show(s, print_top, NULL, true); }
static int run_tree(struct settings *s) { return show(s, view_tree, NULL, true); }
static int run_traces(struct settings *s) { return show(s, print_traces, NULL, true); }
static int run_collapsed(struct settings *s) { return show(s, print_collapsed, NULL, false); }

static int run_peek(struct settings *s) {
    const char *pattern = s->files[0];
    s->files++;
    s->n_files--;
    int status = show(s, view_tree, pattern, false);
    s->files--;
    return status;
}

static int print_list(const struct view *v, const struct view_print *how, struct report_error *e) {
    struct view_list_options o = {.out = how->out,
                                  .form = how->form,
                                  .pattern = how->pattern,
                                  .unit = table_unit_for(view_unit(v), v->weight),
                                  .unit_name = view_type(v),
                                  .width = 8};
    return view_list((struct view *)v, &o, e);
}

static int run_list(struct settings *s) {
    const char *pattern = s->files[0];
    s->by = "lines";
    s->files++;
    s->n_files--;
    int status = show(s, print_list, pattern, false);
    s->files--;
    return status;
}

static int run_raw(struct settings *s) {
    struct profile *p = load_profiles(s);
    if (p == NULL) return EXIT_COULD_NOT;
    FILE *out = output_open(s);
    int status = EXIT_COULD_NOT;
    if (out) {
        profile_print_raw(p, out);
        status = output_close(s, out);
    }
    profile_free(p);
    return status;
}

/* BEFORE AFTER, and perhaps the program before them */
static int run_diff(struct settings *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_files; i++) n += !report_is_program(s->files[i]);
    if (n != 2) {
        say_error("diff compares two profiles, and %u are given; usage: vitrine %s", n,
                  cmd_diff.usage);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < s->n_files; i++) {
        if (report_is_program(s->files[i])) continue;
        s->base = s->files[i];
        for (; i + 1 < s->n_files; i++) s->files[i] = s->files[i + 1];
        s->n_files--;
    }
    return show(s, print_top, NULL, true);
}

#define NO_PROFILE "no profile is given"

const struct command cmd_top = {
    .name = "top",
    .usage = "top [OPTION...] [PROGRAM] PROFILE...",
    .summary = "the functions that use most, by their own share",
    .example = "vitrine top --type=alloc_space --count=20 app.0001.heap",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_top,
};
const struct command cmd_tree = {
    .name = "tree",
    .usage = "tree [OPTION...] [PROGRAM] PROFILE...",
    .summary = "each function between its callers and its callees",
    .example = "vitrine tree --cum cpu.prof",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_tree,
};
const struct command cmd_peek = {
    .name = "peek",
    .usage = "peek [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "callers and callees of the functions that match a regexp",
    .example = "vitrine peek 'Cache::.*' app.pb.gz",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_peek,
};
const struct command cmd_list = {
    .name = "list",
    .usage = "list [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "the source of the functions that match a regexp, with what each line costs",
    .example = "vitrine list '^Cache::fill$' app.heap",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_list,
};
const struct command cmd_traces = {
    .name = "traces",
    .usage = "traces [OPTION...] [PROGRAM] PROFILE...",
    .summary = "whole stacks, largest first",
    .example = "vitrine traces --focus=parse --count=10 app.heap",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_traces,
};
const struct command cmd_collapsed = {
    .name = "collapsed",
    .usage = "collapsed [OPTION...] [PROGRAM] PROFILE...",
    .summary = "stacks as lines 'root;...;leaf value', for flame graph tools",
    .example = "vitrine collapsed app.heap | flamegraph.pl > app.svg",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_collapsed,
};
const struct command cmd_raw = {
    .name = "raw",
    .usage = "raw [OPTION...] [PROGRAM] PROFILE...",
    .summary = "all that was read: samples, locations, mappings",
    .example = "vitrine raw --no-symbols app.heap",
    .groups = {options_data, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_raw,
};
const struct command cmd_diff = {
    .name = "diff",
    .usage = "diff [OPTION...] [PROGRAM] BEFORE AFTER",
    .summary = "what grew and what shrank between two profiles of a program",
    .example = "vitrine diff monday.pb.gz friday.pb.gz",
    .groups = {options_data, options_filter, options_shape, options_output},
    .min_files = 2,
    .missing = "two profiles are needed",
    .run = run_diff,
};
