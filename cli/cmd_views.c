/* cmd_views.c - the commands that print a view of profiles: top, tree, peek, list,
 * disasm, traces, tags, collapsed, raw.
 * They differ in one call, so they share a file.   Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>

#include "report/estimate.h"
#include "report/group.h"
#include "report/text.h"

#define BEHIND_BYTES (ESTIMATE_BYTES + 1)

/* " ±6%", or nothing of what is exact. */
static const char *put_behind(double value, double variance, char out[BEHIND_BYTES]) {
    out[0] = ' ';
    return *estimate_text(value, sqrt(variance), out + 1) ? out : "";
}

/* Prints what `out` is about to show; only for people. */
static void put_summary(const struct view *v, const struct settings *s, FILE *out) {
    char shown[64], total[64], shown_error[BEHIND_BYTES], total_error[BEHIND_BYTES];
    if (s->json || s->csv) return;
    (void)fprintf(out, "%s, %s%s of %s%s shown%s\n", text_shown(view_type(v)),
                  table_amount(view_unit(v), v->shown, shown, sizeof shown),
                  put_behind(v->shown, v->shown_variance, shown_error),
                  table_amount(view_unit(v), v->total, total, sizeof total),
                  put_behind(v->total, v->total_variance, total_error),
                  v->has_errors ? "; ~ may be chance" : "");
}

typedef int print_view(const struct settings *s, const struct view *v, const struct view_print *how,
                       struct report_error *e);

struct showing {
    print_view *print;
    const char *pattern; /* or NULL */
    bool has_summary;
};

/* "thread worker (3): 12.3MB, 41.20%" above its table. */
static void put_group_line(const struct settings *s, const struct view *v,
                           const struct view_print *how) {
    char number[64], share[32];
    if (how->form == TABLE_AS_TEXT)
        (void)fprintf(how->out, "\n%s %s: %s, %s\n", text_shown(s->group), text_shown(how->group),
                      table_amount(view_unit(v), v->shown, number, sizeof number),
                      table_decimal(view_percent(v, v->shown), 2, "%", share, sizeof share));
    else if (how->form == TABLE_AS_JSON)
        (void)fputs(how->is_next_group ? "," : "[\n", how->out);
}

/* -ENOENT: nothing of this group is asked for, and nothing is printed. */
static int print_group(const struct settings *s, const struct view *part,
                       const struct view_print *how, print_view *print, struct report_error *e) {
    struct view_print inner = *how;
    char *text = NULL;
    size_t n = 0;
    inner.out = open_memstream(&text, &n);
    if (inner.out == NULL) report_no_memory();
    int error = print(s, part, &inner, e);
    if (fclose(inner.out) != 0) report_no_memory();
    if (error == 0) {
        put_group_line(s, part, how);
        (void)fwrite(text, 1, n, how->out);
    }
    free(text);
    return error;
}

static int print_groups(const struct settings *s, struct view *v, struct view_print how,
                        print_view *print, struct report_error *e) {
    struct groups g;
    int error = groups_new(&g, v, s->group, e);
    if (error == 0 && g.n == 0 && how.form == TABLE_AS_JSON) (void)fputs("[]\n", how.out);
    for (uint32_t i = 0; i < g.n && (error == 0 || error == -ENOENT); i++) {
        struct view *part = groups_view(&g, i, e);
        if (part == NULL) error = -EINVAL;
        if (part == NULL) break;
        char name[1024]; /* strings move when a view adds some */
        (void)snprintf(name, sizeof name, "%s", profile_text(v->p, g.all[i].name));
        how.group = name;
        error = print_group(s, part, &how, print, e);
        if (error == 0) how.is_next_group = true;
        view_free(part);
    }
    if (error == -ENOENT && how.is_next_group) error = 0; /* other groups have it */
    if (error == 0 && how.is_next_group && how.form == TABLE_AS_JSON) (void)fputs("]\n", how.out);
    groups_free(&g);
    return error;
}

static int write_shown(const struct settings *s, struct view *v, FILE *out, const void *context) {
    const struct showing *showing = context;
    struct report_error e = {.line = ""};
    struct view_print how = print_from(s, out);
    how.pattern = showing->pattern;
    if (showing->has_summary) put_summary(v, s, out);
    int error =
        s->group ? print_groups(s, v, how, showing->print, &e) : showing->print(s, v, &how, &e);
    if (error == 0) return EXIT_FINE;
    say_error("%s", e.line);
    return error == -ENOENT ? EXIT_COULD_NOT : EXIT_USAGE;
}

static int show(struct settings *s, print_view *print, const char *pattern, bool has_summary) {
    if (!output_takes_text(s)) return EXIT_USAGE;
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
    (void)s, (void)e;
    view_tree(v, how);
    return 0;
}
static int print_peek(const struct settings *s, const struct view *v, const struct view_print *how,
                      struct report_error *e) {
    (void)s;
    return view_peek(v, how, e);
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
                                      .unit = table_unit_each(view_unit(v)),
                                      .unit_name = view_type(v),
                                      .width = 8,
                                      .group = how->group,
                                      .is_next_group = how->is_next_group};
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

static int run_peek(struct settings *s) { return show_matching(s, print_peek); }

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

static int run_raw(struct settings *s) {
    return output_takes_text(s) ? write_of_profile(s, write_raw) : EXIT_USAGE;
}

const struct command cmd_top = {
    .name = "top",
    .usage = "top [OPTION...] [PROGRAM] PROFILE...",
    .summary = "the functions that use most, by their own share",
    .example = "vitrine top --type=alloc_space --count=20 app.0001.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_top,
};
const struct command cmd_tree = {
    .name = "tree",
    .usage = "tree [OPTION...] [PROGRAM] PROFILE...",
    .summary = "who called whom, from the root on: the largest calls, indented",
    .example = "vitrine tree --count=200 cpu.prof",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_tree,
};
const struct command cmd_peek = {
    .name = "peek",
    .usage = "peek [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "callers and callees of the functions that match a regexp",
    .example = "vitrine peek 'Cache::.*' app.pb.gz",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_peek,
};
const struct command cmd_list = {
    .name = "list",
    .usage = "list [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "the source of the functions that match a regexp, with what each line costs",
    .example = "vitrine list '^Cache::fill$' app.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_list,
};
const struct command cmd_disasm = {
    .name = "disasm",
    .usage = "disasm [OPTION...] RE [PROGRAM] PROFILE...",
    .summary = "the instructions of the functions that match a regexp, with what each costs",
    .example = "vitrine disasm '^Cache::fill$' cpu.prof",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 2,
    .missing = "a regexp and a profile are needed",
    .run = run_disasm,
};
const struct command cmd_tags = {
    .name = "tags",
    .usage = "tags [OPTION...] [PROGRAM] PROFILE...",
    .summary = "the labels of the samples, and how much each value of each has",
    .example = "vitrine tags --tag-focus=user=^ann$ app.pb.gz",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run_tags,
};
const struct command cmd_traces = {
    .name = "traces",
    .usage = "traces [OPTION...] [PROGRAM] PROFILE...",
    .summary = "whole stacks, largest first",
    .example = "vitrine traces --focus=parse --count=10 app.heap",
    .groups = {GROUPS_OF_VIEWS, options_form, options_group, options_output},
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
