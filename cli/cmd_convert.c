/* cmd_convert.c - from any kind of profile that is read to a kind that is written. Climate: cli. */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TYPES 16 /* of one speedscope file */

/* ---- kinds */

typedef int write_view(struct view *v, const struct settings *s, const char *title, FILE *out);

static int write_collapsed(struct view *v, const struct settings *s, const char *title, FILE *out) {
    struct view_print how = print_from(s, out);
    (void)title;
    view_collapsed(v, &how);
    return EXIT_FINE;
}

static int write_callgrind(struct view *v, const struct settings *s, const char *title, FILE *out) {
    (void)s, (void)title;
    view_callgrind(v, out);
    return EXIT_FINE;
}

/* All types of the profile unless one was asked for; the view at hand is the one that is shown first. */
static int write_speedscope(struct view *v, const struct settings *s, const char *title,
                            FILE *out) {
    const struct view *views[MAX_TYPES] = {v};
    struct report_error e;
    uint32_t n = s->type ? 1 : v->p->n_types < MAX_TYPES ? v->p->n_types : MAX_TYPES, active = 0;
    for (uint32_t t = 0; n > 1 && t < n; t++) {
        struct view_options o = v->options;
        o.type = t;
        if (t == v->options.type) active = t;
        views[t] = t == v->options.type ? v : view_new(v->p, &o, &e);
        if (views[t] == NULL) n = 0; /* what gave one view gives all */
    }
    if (n > 0) view_speedscope(views, n, active, title, out);
    for (uint32_t t = 0; t < MAX_TYPES; t++)
        if (views[t] != v) view_free((struct view *)views[t]);
    return n > 0 ? EXIT_FINE : EXIT_COULD_NOT;
}

static int write_firefox(struct view *v, const struct settings *s, const char *title, FILE *out) {
    (void)s;
    view_firefox(v, title, out);
    return EXIT_FINE;
}

static int write_trace(struct view *v, const struct settings *s, const char *title, FILE *out) {
    (void)s;
    if (view_trace(v, title, out)) return EXIT_FINE;
    say_error("a trace is about time, and '%s' is %s; speedscope and firefox take it", view_type(v),
              view_unit(v));
    return EXIT_USAGE;
}

static const struct kind {
    const char *name;
    const char *ends[4]; /* of file names */
    const char *by;      /* of the view; NULL: functions */
    write_view *write;   /* NULL: the profile itself */
} kinds[] = {
    {"pprof", {".pb.gz", ".pb", ".pprof"}, NULL, NULL},
    {"collapsed", {".collapsed", ".folded", ".txt"}, NULL, write_collapsed},
    {"callgrind", {".callgrind"}, "lines", write_callgrind},
    {"speedscope", {".speedscope.json"}, NULL, write_speedscope},
    {"firefox", {".firefox.json"}, NULL, write_firefox},
    {"trace", {".trace.json", ".perfetto.json"}, NULL, write_trace},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* NULL after a message. */
static const struct kind *kind_of(const struct settings *s) {
    char names[200] = "";
    size_t n = 0;
    for (unsigned i = 0; i < N_KINDS; i++) {
        if (s->to && strcmp(s->to, kinds[i].name) == 0) return &kinds[i];
        for (unsigned k = 0; !s->to && kinds[i].ends[k]; k++)
            if (ends_in(s->output, kinds[i].ends[k])) return &kinds[i];
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                              i == 0            ? ""
                              : i + 1 < N_KINDS ? ", "
                                                : " or ",
                              s->to ? kinds[i].name : kinds[i].ends[0]);
    }
    if (s->to)
        say_error("'--to' is %s, not '%s'", names, s->to);
    else
        say_error("'%s' does not say what kind it shall be: end it in %s, or say --to=KIND",
                  s->output, names);
    return NULL;
}

/* ---- converting */

static int write_pprof(const struct settings *s, struct profile *p, FILE *out) {
    (void)s;
    if (!output_takes_bytes(out)) return EXIT_USAGE;
    (void)profile_write_proto(p, out); /* who closes it looks at ferror() */
    return EXIT_FINE;
}

/* context: the kind */
static int write_kind(const struct settings *s, struct view *v, FILE *out, const void *context) {
    const struct kind *kind = context;
    return kind->write(v, s, title_from(s), out);
}

static int run(struct settings *s) {
    s->output = s->files[--s->n_files];
    const struct kind *kind = kind_of(s);
    if (kind == NULL) return EXIT_USAGE;
    if (kind->write == NULL) return write_of_profile(s, write_pprof);
    s->full_names = true;
    s->by = kind->by;
    return write_of_view(s, write_kind, kind);
}

const struct command cmd_convert = {
    .name = "convert",
    .usage = "convert [OPTION...] [PROGRAM] IN... OUT",
    .summary =
        "write profiles as another kind: pprof, collapsed, callgrind, speedscope, firefox, trace",
    .example = "vitrine convert app.0001.heap app.speedscope.json",
    .groups = {options_data, options_base, options_convert},
    .min_files = 2,
    .missing = "an input and an output are needed",
    .run = run,
};
