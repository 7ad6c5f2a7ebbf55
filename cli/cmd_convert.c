/* cmd_convert.c - from any kind of profile that is read to a kind that is written. Climate: cli. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* "pprof", "collapsed", "callgrind", or NULL after a message. */
static const char *target_of(const struct settings *s) {
    static const struct {
        const char *end, *kind;
    } rows[] = {
        {".pb.gz", "pprof"},         {".pb", "pprof"},         {".pprof", "pprof"},
        {".collapsed", "collapsed"}, {".folded", "collapsed"}, {".txt", "collapsed"},
        {".callgrind", "callgrind"},
    };
    if (s->to) {
        if (strcmp(s->to, "pprof") == 0 || strcmp(s->to, "collapsed") == 0 ||
            strcmp(s->to, "callgrind") == 0)
            return s->to;
        say_error("'--to' is pprof, collapsed or callgrind, not '%s'", s->to);
        return NULL;
    }
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (ends_in(s->output, rows[i].end)) return rows[i].kind;
    say_error(
        "'%s' does not say what kind it shall be: end it in .pb.gz, .collapsed or .callgrind, or say --to=KIND",
        s->output);
    return NULL;
}

static int write_as(struct settings *s, const char *kind, FILE *out) {
    if (strcmp(kind, "pprof") == 0) {
        struct profile *p = load_profiles(s);
        if (p == NULL) return EXIT_COULD_NOT;
        (void)profile_write_proto(p, out); /* the caller looks at ferror() */
        profile_free(p);
        return EXIT_FINE;
    }
    struct profile *p;
    int status;
    bool is_callgrind = strcmp(kind, "callgrind") == 0;
    s->full_names = true;
    if (is_callgrind) s->by = "lines";
    struct view *v = load_view(s, &p, &status);
    if (v == NULL) return status;
    struct view_print how = print_from(s, out);
    if (is_callgrind)
        view_callgrind(v, out);
    else
        view_collapsed(v, &how);
    view_free(v);
    profile_free(p);
    return EXIT_FINE;
}

static int run(struct settings *s) {
    s->output = s->files[--s->n_files];
    const char *kind = target_of(s);
    if (kind == NULL) return EXIT_USAGE;
    FILE *out = output_open(s);
    if (out == NULL) return EXIT_COULD_NOT;
    int status = write_as(s, kind, out);
    int closed = output_close(s, out);
    if (status != EXIT_FINE && out != stdout) (void)remove(s->output); /* it holds nothing */
    return status != EXIT_FINE ? status : closed;
}

const struct command cmd_convert = {
    .name = "convert",
    .usage = "convert [OPTION...] [PROGRAM] IN... OUT",
    .summary = "write profiles as another kind: pprof (.pb.gz), collapsed or callgrind",
    .example = "vitrine convert app.0001.heap app.pb.gz",
    .groups = {options_data, options_convert},
    .min_files = 2,
    .missing = "an input and an output are needed",
    .run = run,
};
