/* pprof_options.c - the options of the old names, read as perl's Getopt::Long reads them.
 *
 * Options and files in any order, one dash or two, any case, any beginning that only one option has, --no in front of
 * switches, -- before files that look like options. The Go tool's flags are whole words, and its switches may have a
 * value: -cum=false.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/text.h"

enum row_kind { SWITCH, TEXT, LIST, INTEGER, REAL, NOTHING, NOTHING_ON, PAGES };
enum whose { BOTH, PPROF, JEPROF, GO };

static const struct row {
    const char *section; /* of the help; then nothing else is set */
    enum whose whose;
    enum row_kind kind;
    const char *name;
    size_t offset;
    const char *value, *help;
} rows[] = {
#define SECTION(title) {.section = (title)},
#define ROW(whose, kind, name, field, value, help)                                                 \
    {NULL, whose, kind, name, offsetof(struct asked, field), value, help},
#include "cli/pprof.def"
};
#define N_ROWS (sizeof rows / sizeof *rows)

static bool is_known(const struct asked *a, const struct row *r) {
    if (r->section) return false;
    if (r->whose == PPROF) return !a->is_jeprof;
    if (r->whose == JEPROF) return a->is_jeprof;
    return true;
}

static bool is_switch(const struct row *r) { return r->kind == SWITCH || r->kind == NOTHING_ON; }

/* ---- help */

static void put_usage(const struct asked *a, FILE *out) {
    (void)fprintf(
        out,
        "Usage:\n"
        "%s [options] PROGRAM PROFILE...\n"
        "%s [options] PROFILE...              with names in it, or binaries where they ran\n"
        "%s [options] HOST:PORT[/pprof/heap]  of a running process, named by /pprof/symbol\n"
        "%s --symbols PROGRAM                 maps and addresses on standard input\n",
        a->name, a->name, a->name, a->name);
}

void pprof_help(const struct asked *a, FILE *out) {
    put_usage(a, out);
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        char left[40];
        if (r->section) (void)fprintf(out, "\n%s:\n", r->section);
        if (!is_known(a, r) || r->help == NULL) continue;
        (void)snprintf(left, sizeof left, "--%s%s%s", r->name, *r->value ? "=" : "", r->value);
        (void)fprintf(out, "  %-22s %s\n", left, r->help);
    }
    (void)fprintf(
        out,
        "\nEnvironment:\n"
        "  %s_TMPDIR          where fetched profiles are kept (~/%s)\n"
        "  PPROF_BINARY_PATH     folders of binaries, by name or by build-id (~/pprof/binaries)\n"
        "  DEBUGINFOD_URLS       servers of debug files\n"
        "\nExamples:\n"
        "  %s --text ./app app.0001.heap\n"
        "  %s --svg --base=app.0001.heap ./app app.0009.heap > grown.svg\n"
        "\nThis is Vitrine by its old name; 'vitrine help' has more.\n",
        a->is_jeprof ? "JEPROF" : "PPROF", a->is_jeprof ? "jeprof" : "pprof", a->name, a->name);
}

int pprof_usage_error(const struct asked *a, const char *format, ...) {
    char raw[600], line[600];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(raw, sizeof raw, format, ap);
    va_end(ap);
    text_shown_to(raw, line, sizeof line);
    if (a->is_prompt) { /* the next line is to come */
        (void)fprintf(stderr, "%s\n", line);
        return 1;
    }
    (void)fprintf(stderr, "%s\n\n", line);
    put_usage(a, stderr);
    (void)fprintf(stderr, "'%s --help' lists the options.\n", a->name);
    if (a->is_jeprof) (void)fprintf(stderr, "FATAL ERROR: %s\n", line);
    return 1;
}

/* ---- finding */

struct found {
    const struct row *row; /* NULL: none */
    unsigned n;            /* so many begin like that */
    char names[400];       /* theirs */
};

static struct found match(const struct asked *a, const char *name, size_t n) {
    struct found f = {.names = ""};
    size_t used = 0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        if (!is_known(a, r) || strncasecmp(r->name, name, n) != 0) continue;
        if (strlen(r->name) == n) return (struct found){.row = r, .n = 1};
        if (r->whose == GO) continue;
        f.row = r;
        used += (size_t)snprintf(f.names + used, sizeof f.names - used, "%s%s", f.n++ ? ", " : "",
                                 r->name);
        if (used >= sizeof f.names) used = sizeof f.names - 1;
    }
    return f;
}

static const char *nearest(const struct asked *a, const char *name, size_t n) {
    const char *near = NULL;
    unsigned least = 3;
    for (unsigned i = 0; i < N_ROWS; i++) {
        if (!is_known(a, &rows[i]) || word_distance(name, n, rows[i].name) >= least) continue;
        near = rows[i].name;
        least = word_distance(name, n, near);
    }
    return near;
}

/* ---- setting */

static bool set_number(const struct asked *a, const struct row *r, const char *value, void *field,
                       int *status) {
    char *end = NULL;
    if (r->kind == REAL)
        *(double *)field = strtod(value, &end);
    else
        *(int *)field = (int)strtol(value, &end, 10);
    if (end != value && *end == '\0') return true;
    *status = pprof_usage_error(a, "Value \"%s\" invalid for option %s (%snumber expected)", value,
                                r->name, r->kind == REAL ? "real " : "");
    return false;
}

static bool add(const struct asked *a, const struct row *r, const char *value, const char **list,
                int *status) {
    unsigned n = 0;
    while (n < MAX_LIST && list[n]) n++;
    if (n < MAX_LIST) {
        list[n] = value;
        return true;
    }
    *status = pprof_usage_error(a, "Option %s may be given %d times", r->name, MAX_LIST);
    return false;
}

static bool set(struct asked *a, const struct row *r, const char *value, bool is_on, int *status) {
    void *field = (char *)a + r->offset;
    switch (r->kind) {
    case SWITCH: *(int *)field = is_on; return true;
    case TEXT: *(const char **)field = value; return true;
    case LIST: return add(a, r, value, field, status);
    case INTEGER:
    case REAL: return set_number(a, r, value, field, status);
    case NOTHING:
    case NOTHING_ON: return true;
    case PAGES: break;
    }
    say_error("-%s: no pages are served here; --web shows the call graph in a browser, and "
              "'vitrine flame PROFILE -o x.html' makes a page",
              r->name);
    *status = EXIT_USAGE;
    return false;
}

static bool is_word(const char *value, const char *const *words) {
    while (*words && strcasecmp(value, *words) != 0) words++;
    return *words != NULL;
}

/* A switch with a value: only the Go tool's way, true or false. */
static bool switch_value(const struct asked *a, const struct row *r, const char *value, bool *is_on,
                         int *status) {
    static const char *const yes[] = {"true", "t", "yes", "y", "1", NULL}, *const no[] = {
                                                                               "false", "f", "no",
                                                                               "n",     "0", NULL};
    if (is_word(value, no)) {
        *is_on = false;
    } else if (!is_word(value, yes)) {
        *status = pprof_usage_error(a, "Option %s does not take an argument", r->name);
        return false;
    }
    return true;
}

static bool unknown(const struct asked *a, const struct found *f, const char *word, size_t n,
                    int *status) {
    const char *near = nearest(a, word, n);
    if (f->n > 1)
        *status = pprof_usage_error(a, "Option %.*s is ambiguous (%s)", (int)n, word, f->names);
    else if (near)
        *status =
            pprof_usage_error(a, "Unknown option: %.*s; did you mean --%s?", (int)n, word, near);
    else
        *status = pprof_usage_error(a, "Unknown option: %.*s", (int)n, word);
    return false;
}

/* argv[*i] is an option; false after a message. */
static bool read_option(struct asked *a, int argc, char **argv, int *i, int *status) {
    const char *word = argv[*i] + (argv[*i][1] == '-' ? 2 : 1), *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const char *value = equals ? equals + 1 : NULL;
    bool is_on = true;
    struct found f = match(a, word, n);
    if (f.row == NULL && n > 2 && strncasecmp(word, "no", 2) == 0) { /* --nocum, --no-cum */
        size_t skip = word[2] == '-' || word[2] == '_' ? 3 : 2;
        is_on = false;
        if (n > skip) f = match(a, word + skip, n - skip);
        if (f.row && !is_switch(f.row)) f.row = NULL;
    }
    if (f.row == NULL || f.n > 1) return unknown(a, &f, word, n, status);
    if (is_switch(f.row)) {
        if (value && !switch_value(a, f.row, value, &is_on, status)) return false;
    } else if (value == NULL && f.row->kind != PAGES) {
        if (*i + 1 >= argc) {
            *status = pprof_usage_error(a, "Option %s requires an argument", f.row->name);
            return false;
        }
        value = argv[++*i];
    }
    return set(a, f.row, value, is_on, status);
}

bool pprof_read_options(struct asked *a, int argc, char **argv, int *status) {
    bool only_files = false;
    a->rest = report_alloc((size_t)argc * sizeof *a->rest + 1);
    for (int i = 0; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || argv[i][1] == '\0')
            a->rest[a->n_rest++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            only_files = true;
        else if (!read_option(a, argc, argv, &i, status))
            return false;
    }
    return true;
}

/* ---- one option by its whole name, for the prompt */

static const struct row *row_named(const struct asked *a, const char *name) {
    for (unsigned i = 0; i < N_ROWS; i++)
        if (is_known(a, &rows[i]) && strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

bool pprof_option_set(struct asked *a, const char *name, const char *value) {
    const struct row *r = row_named(a, name);
    int status;
    bool is_on = true;
    if (r == NULL) return false;
    if (r->kind == TEXT && *value == '\0') value = NULL; /* none */
    if (is_switch(r) && *value != '\0' && !switch_value(a, r, value, &is_on, &status)) return false;
    return set(a, r, value, is_on, &status);
}

bool pprof_option_is_switch(const struct asked *a, const char *name) {
    const struct row *r = row_named(a, name);
    return r && is_switch(r);
}

void pprof_option_value(const struct asked *a, const char *name, char *out, size_t n_bytes) {
    const struct row *r = row_named(a, name);
    const void *field = r ? (const char *)a + r->offset : NULL;
    const char *text = r && r->kind == TEXT ? *(const char *const *)field : NULL;
    if (r && r->kind == SWITCH)
        (void)snprintf(out, n_bytes, "%s", *(const int *)field ? "true" : "false");
    else if (r && r->kind == INTEGER)
        (void)snprintf(out, n_bytes, "%d", *(const int *)field);
    else if (r && r->kind == REAL)
        (void)snprintf(out, n_bytes, "%g", *(const double *)field);
    else
        (void)snprintf(out, n_bytes, "%s", text ? text : "\"\"");
}

const char *pprof_option_help(const struct asked *a, const char *name) {
    const struct row *r = row_named(a, name);
    return r ? r->help : NULL;
}
