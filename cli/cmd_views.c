/* cmd_views.c - the commands that print a view of profiles: top, tree, peek, list,
 * disasm, traces, tags, collapsed, raw.
 * They differ in one call, so they share a file.   Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>

/* Prints what `out` is about to show; only for people. */
static void put_summary(const struct view *v, const struct settings *s, FILE *out) {
    char shown[64], total[64];
    if (s->json || s->csv) return;
    struct table_unit u = table_unit_for(view_unit(v), v->weight);
    (void)fprintf(out, "%s, %s of %s shown\n", view_type(v),
                  table_number(u, v->shown, shown, sizeof shown),
                  table_number(u, v->total, total, sizeof total));
}

typedef int print_view(const struct settings *s, const struct view *v, const struct view_print *how,
                       struct report_error *e);

struct showing {
    print_view *print;
    const char *pattern; /* or NULL */
    bool has_summary;
};

static int write_shown(const struct settings *s, struct view *v, FILE *out, const void *context) {
    const struct showing *showing = context;
    struct report_error e = {""};
    struct view_print how = print_from(s, out);
    how.pattern = showing->pattern;
    if (showing->has_summary) put_summary(v, s, out);
    int error = showing->print(s, v, &how, &e);
    if (error == 0) return EXIT_FINE;
    say_error("%s", e.line);
    return error == -ENOENT ? EXIT_COULD_NOT : EXIT_USAGE;
}

static int show(struct settings *s, print_view *print, const char *pattern, bool has_summary) {
    return write_of_view(s, write_shown, &(struct showing){print, pattern, has_summary});
}

static int print_top(const struct settings *s, const struct view *v, const struct view_print *how,
                     struct report_error *e) {
    (void)s, (void)e;
    view_top(v, how);
    return 0;
}
static int print_tree(const struct settings *s, const struct view *v, const struct view_print *how,
                      struct report_error *e) {
    (void)s;
    return view_tree(v, how, e);
}
static int print_traces(const struct settings *s, const struct view *v,
                        const struct view_print *how, struct report_error *e) {
    (void)s, (void)e;
    view_traces(v, how);
    return 0;
}
static int print_tags(const struct settings *s, const struct view *v, const struct view_print *how,
                      struct report_error *e) {
    (void)s;
    return view_tags(v, how, e);
}
static int print_collapsed(const struct settings *s, const struct view *v,
                           const struct view_print *how, struct report_error *e) {
    (void)s, (void)e;
    view_collapsed(v, how);
    return 0;
}

static struct view_list_options list_options(const struct view *v, const struct view_print *how) {
    return (struct view_list_options){.out = how->out,
                                      .form = how->form,
                                      .pattern = how->pattern,
                                      .unit = table_unit_for(view_unit(v), v->weight),
                                      .unit_name = view_type(v),
                                      .width = 8};
}
static int print_list(const struct settings *s, const struct view *v, const struct view_print *how,
                      struct report_error *e) {
    struct view_list_options o = list_options(v, how);
    struct symbols_options symbols = symbols_from(s);
    o.symbols = &symbols;
    return view_list((struct view *)v, &o, e);
}
static int print_disasm(const struct settings *s, const struct view *v,
                        const struct view_print *how, struct report_error *e) {
    struct view_list_options o = list_options(v, how);
    struct symbols_options symbols = symbols_from(s);
    return view_disasm((struct view *)v, &o, &symbols, e);
}

static int run_top(struct settings *s) { return show(s, print_top, NULL, true); }
static int run_tree(struct settings *s) { return show(s, print_tree, NULL, true); }
static int run_traces(struct settings *s) { return show(s, print_traces, NULL, true); }
static int run_tags(struct settings *s) { return show(s, print_tags, NULL, true); }
static int run_collapsed(struct settings *s) { return show(s, print_collapsed, NULL, false); }

/* The first argument is a regexp. */
static int show_matching(struct settings *s, print_view *print) {
    const char *pattern = s->files[0];
    s->files++;
    s->n_files--;
    int status = show(s, print, pattern, false);
    s->files--;
    return status;
}

static int run_peek(struct settings *s) { return show_matching(s, print_tree); }

static int run_list(struct settings *s) {
    s->by = "lines";
    return show_matching(s, print_list);
}

static int run_disasm(struct settings *s) {
    s->by = "addresses";
    s->no_inlines = true;
    return show_matching(s, print_disasm);
}

static int write_raw(const struct settings *s, struct profile *p, FILE *out) {
    if (s->json)
        profile_write_json(p, out);
    else if (s->csv)
        profile_write_csv(p, out);
    else
        profile_print_raw(p, out);
    return EXIT_FINE;
}

static int run_raw(struct settings *s) { return write_of_profile(s, write_raw); }

const struct command cmd_top = {
    .name = "top",
    .usage = "top [OPTION...] [PROGRAM] PROFILE...",
    .summary = "the functions that use most, by their own share",
    .example = "vitrine top --type=alloc_space --count=20 app.0001.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_top,
};
const struct command cmd_tree = {
    .name = "tree",
    .usage = "tree [OPTION...] [PROGRAM] PROFILE...",
    .summary = "each function between its callers and its callees",
    .example = "vitrine tree --cum cpu.prof",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_tree,
};
const struct command cmd_peek = {
    .name = "peek",
    .usage = "peek [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "callers and callees of the functions that match a regexp",
    .example = "vitrine peek 'Cache::.*' app.pb.gz",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_peek,
};
const struct command cmd_list = {
    .name = "list",
    .usage = "list [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "the source of the functions that match a regexp, with what each line costs",
    .example = "vitrine list '^Cache::fill$' app.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_list,
};
const struct command cmd_disasm = {
    .name = "disasm",
    .usage = "disasm [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "the instructions of the functions that match a regexp, with what each costs",
    .example = "vitrine disasm '^Cache::fill$' cpu.prof",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_disasm,
};
const struct command cmd_tags = {
    .name = "tags",
    .usage = "tags [OPTION...] [PROGRAM] PROFILE...",
    .summary = "the labels of the samples, and how much each value of each has",
    .example = "vitrine tags --tag-focus=user=^ann$ app.pb.gz",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_tags,
};
const struct command cmd_traces = {
    .name = "traces",
    .usage = "traces [OPTION...] [PROGRAM] PROFILE...",
    .summary = "whole stacks, largest first",
    .example = "vitrine traces --focus=parse --count=10 app.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_traces,
};
const struct command cmd_collapsed = {
    .name = "collapsed",
    .usage = "collapsed [OPTION...] [PROGRAM] PROFILE...",
    .summary = "stacks as lines 'root;...;leaf value', for flame graph tools",
    .example = "vitrine collapsed app.heap | flamegraph.pl > app.svg",
    .groups = {GROUPS_OF_VIEWS, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_collapsed,
};
const struct command cmd_raw = {
    .name = "raw",
    .usage = "raw [OPTION...] [PROGRAM] PROFILE...",
    .summary = "all that was read: samples, locations, mappings",
    .example = "vitrine raw --no-symbols app.heap",
    .groups = {options_data, options_base, options_form, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_raw,
};
