/* options.c - the options as rows, their parser and their help. Climate: cli. */
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct settings, field)

/* Rows of two groups. */
#define PROGRAM_ROW                                                                                \
    {                                                                                              \
        "program", 0, OPTION_TEXT, AT(program), "FILE",                                            \
            "where the program is now; an ELF file among the arguments is taken for it"            \
    }
#define PATH_ROW                                                                                   \
    {                                                                                              \
        "path", 0, OPTION_LIST, AT(moves), "OLD=NEW",                                              \
            "look for binaries below NEW instead of OLD; may be repeated"                          \
    }
#define LIMIT_ROW                                                                                         \
    {                                                                                                     \
        "limit", 0, OPTION_LIMIT, AT(limit), "SIZE",                                                      \
            "read so much of a profile, unpacked; 0: all (default: 2G, and 1000 times its size past 64M)" \
    }

const struct option_row options_data[] = {
    PROGRAM_ROW,
    {"type", 't', OPTION_TEXT, AT(type), "NAME",
     "which values: inuse_space, alloc_objects, inuse_waste, cpu ... (default: the file's own)"},
    {"thread", 0, OPTION_TEXT, AT(thread), "N",
     "only this thread of a jemalloc profile (default: all)"},
    PATH_ROW,
    {"no-symbols", 0, OPTION_FLAG, AT(no_symbols), NULL, "do not look up names"},
    {"seconds", 0, OPTION_NUMBER, AT(n_seconds), "N",
     "how long a CPU profile of HOST:PORT shall take (default: 30)"},
    {"timeout", 0, OPTION_NUMBER, AT(timeout_s), "SECONDS",
     "all answers of HOST:PORT must come within (default: 60 for each, and a CPU profile's time)"},
    LIMIT_ROW,
    {0},
};
/* Of all but diff, whose first profile is the base. */
const struct option_row options_base[] = {
    {"base", 0, OPTION_LIST, AT(bases), "FILE", "subtract this profile; may be repeated"},
    {0},
};
const struct option_row options_filter[] = {
    {"focus", 0, OPTION_TEXT, AT(focus), "RE",
     "only stacks with a matching function, file or binary"},
    {"ignore", 0, OPTION_TEXT, AT(ignore), "RE", "no stacks with a matching one"},
    {"show", 0, OPTION_TEXT, AT(show), "RE", "only matching frames"},
    {"hide", 0, OPTION_TEXT, AT(hide), "RE", "no matching frames"},
    {"show-from", 0, OPTION_TEXT, AT(show_from), "RE",
     "no callers of the outermost matching frame; no stacks without one"},
    {"tag-focus", 0, OPTION_TEXT, AT(tag_focus), "LABEL",
     "only samples with that label: [KEY=]RE, or a range of numbers: bytes=4kb:1mb"},
    {"tag-ignore", 0, OPTION_TEXT, AT(tag_ignore), "LABEL", "no samples with one"},
    {"all-frames", 0, OPTION_FLAG, AT(all_frames), NULL,
     "keep the frames of allocators and, in tree, of libraries and of recursion"},
    {"drop-negative", 0, OPTION_FLAG, AT(drop_negative), NULL, "of a difference, only what grew"},
    {0},
};
const struct option_row options_shape[] = {
    {"by", 0, OPTION_TEXT, AT(by), "WHAT",
     "functions, filefunctions, lines, files or addresses (default: functions)"},
    {"of", 0, OPTION_TEXT, AT(of), "WHAT",
     "percentages of all, of the rest that filters leave, or of the base (default: all)"},
    {"cum", 0, OPTION_FLAG, AT(cum), NULL, "sort by cumulative value (default: by flat)"},
    {"count", 'n', OPTION_NUMBER, AT(n_max), "N", "at most so many (default: all; tree: 80)"},
    {"full-names", 0, OPTION_FLAG, AT(full_names), NULL,
     "names with parameters and template arguments"},
    {"no-inlines", 0, OPTION_FLAG, AT(no_inlines), NULL,
     "count inlined calls for the function they are in"},
    {0},
};
const struct option_row options_form[] = {
    {"json", 0, OPTION_FLAG, AT(json), NULL, "JSON, values in the profile's own unit"},
    {"csv", 0, OPTION_FLAG, AT(csv), NULL, "comma separated values"},
    {0},
};
const struct option_row options_group[] = {
    {"group", 0, OPTION_TEXT, AT(group), "KEY",
     "a table for each thread, module, source file, or value of the label KEY"},
    {0},
};
const struct option_row options_output[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE", "write there (default: standard output)"},
    {0},
};
const struct option_row options_convert[] = {
    {"to", 0, OPTION_TEXT, AT(to), "KIND",
     "pprof, collapsed, callgrind, speedscope, firefox or trace (default: by the name of OUT)"},
    {0},
};

const struct option_row options_flame[] = {
    {"title", 0, OPTION_TEXT, AT(title), "TEXT", "above the picture (default: the profile's name)"},
    {0},
};

const struct option_row options_names[] = {
    PROGRAM_ROW,
    PATH_ROW,
    LIMIT_ROW,
    {0},
};
const struct option_row options_ps[] = {
    {"json", 0, OPTION_FLAG, AT(json), NULL, "JSON, in bytes"},
    {0},
};
const struct option_row options_control[] = {
    {"timeout", 0, OPTION_NUMBER, AT(timeout_s), "SECONDS",
     "wait so long for the answer (default: 5)"},
    {"format", 0, OPTION_TEXT, AT(format), "NAME",
     "of dump: proto, gperftools, jemalloc or collapsed (default: the program's heap_format)"},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "of stats: JSON"},
    {0},
};

const struct option_row options_diff[] = {
    {"view", 0, OPTION_TEXT, AT(view), "NAME",
     "top, tree, peek, list, traces, flame, graph ... (default: top)"},
    {0},
};

/* ---- finding */

static const struct option_row *find_option(const struct command *c, const char *name, size_t n) {
    for (unsigned g = 0; c->groups[g]; g++)
        for (const struct option_row *o = c->groups[g]; o->name; o++)
            if (strlen(o->name) == n && memcmp(o->name, name, n) == 0) return o;
    return NULL;
}

static const struct option_row *find_letter(const struct command *c, char letter) {
    for (unsigned g = 0; c->groups[g]; g++)
        for (const struct option_row *o = c->groups[g]; o->name; o++)
            if (letter != 0 && o->letter == letter) return o;
    return NULL;
}

unsigned word_distance(const char *a, size_t n, const char *b) {
    unsigned row[64];
    size_t m = strlen(b);
    if (m >= 63 || n >= 63) return 99;
    for (size_t j = 0; j <= m; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned before = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            unsigned least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[m];
}

static void say_unknown(const struct command *c, const char *name, size_t n) {
    const struct option_row *near = NULL;
    unsigned nearest = NO_SLIP;
    for (unsigned g = 0; c->groups[g]; g++)
        for (const struct option_row *o = c->groups[g]; o->name; o++)
            if (word_distance(name, n, o->name) < nearest) {
                near = o;
                nearest = word_distance(name, n, o->name);
            }
    if (near)
        say_error("unknown option '--%.*s'; did you mean '--%s'?", (int)n, name, near->name);
    else
        say_error("unknown option '--%.*s'; 'vitrine %s --help' lists them", (int)n, name, c->name);
}

int word_find(const char *words, const char *word) {
    size_t n = strlen(word);
    for (int i = 0; *words; i++) {
        size_t length = strcspn(words, " ");
        if (length == n && memcmp(words, word, n) == 0) return i;
        words += length + strspn(words + length, " ");
    }
    return -1;
}

/* ---- setting */

bool bytes_read(const char *word, uint64_t *out) {
    static const char units[] = "KMGT";
    char *end;
    if (*word < '0' || *word > '9') return false;
    errno = 0;
    unsigned long long n = strtoull(word, &end, 10);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (errno != 0 || (*end && (unit == NULL || strlen(end) > 1))) return false;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    *out = (uint64_t)n << shift;
    return *out >> shift == n;
}

bool limit_read(const char *word, uint64_t *out) {
    if (!bytes_read(word, out)) return false;
    if (*out == 0) *out = INTAKE_ANY;
    return true;
}

static bool set_value(const struct option_row *o, const char *value, struct settings *s) {
    void *field = (char *)s + o->offset;
    char *end;
    switch (o->kind) {
    case OPTION_FLAG: *(bool *)field = true; return true;
    case OPTION_TEXT: *(const char **)field = value; return true;
    case OPTION_NUMBER: {
        unsigned long n = strtoul(value, &end, 10);
        if (*value < '0' || *value > '9' || *end != '\0' || n >= UINT32_MAX) {
            say_error("'--%s' wants a number, not '%s'", o->name, value);
            return false;
        }
        *(uint32_t *)field = (uint32_t)n;
        return true;
    }
    case OPTION_LIMIT:
        if (limit_read(value, field)) return true;
        say_error("'--%s' wants a number of bytes such as 512M, not '%s'", o->name, value);
        return false;
    case OPTION_LIST: {
        const char **list = field;
        unsigned n = 0;
        while (n < MAX_LIST && list[n]) n++;
        if (n == MAX_LIST) {
            say_error("too many '--%s'", o->name);
            return false;
        }
        if (strchr(o->value, '=') && strchr(value, '=') == NULL) {
            say_error("'--%s' wants %s", o->name, o->value);
            return false;
        }
        list[n] = value;
        return true;
    }
    }
    return false;
}

/* One option at argv[*i]; goes on to its value. */
static bool read_option(const struct command *c, int argc, char **argv, int *i,
                        struct settings *s) {
    const char *word = argv[*i], *value = NULL;
    const struct option_row *o;
    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        size_t n = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
        o = find_option(c, word + 2, n);
        if (o == NULL) {
            say_unknown(c, word + 2, n);
            return false;
        }
        if (equals) value = equals + 1;
    } else {
        o = find_letter(c, word[1]);
        if (o == NULL) {
            say_error("unknown option '%s'; 'vitrine %s --help' lists them", word, c->name);
            return false;
        }
        if (word[2] != '\0') value = word + 2;
    }
    if (o->kind == OPTION_FLAG && value) {
        say_error("'--%s' takes no value", o->name);
        return false;
    }
    if (o->kind != OPTION_FLAG && value == NULL) {
        if (*i + 1 >= argc) {
            say_error("'--%s' wants a value: %s", o->name, o->value);
            return false;
        }
        value = argv[++*i];
    }
    return set_value(o, value, s);
}

int options_read(const struct command *c, int argc, char **argv, struct settings *s) {
    bool only_files = false;
    s->files = report_alloc((size_t)argc * sizeof *s->files + 1);
    for (int i = 0; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || argv[i][1] == '\0') {
            s->files[s->n_files++] = argv[i]; /* "-" is standard input */
            only_files = only_files || c->has_arguments;
        } else if (strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            s->help = true;
            return EXIT_FINE;
        } else if (!read_option(c, argc, argv, &i, s)) {
            return EXIT_USAGE;
        }
    }
    if (s->json && s->csv) {
        say_error("'--json' and '--csv' at once");
        return EXIT_USAGE;
    }
    if (s->n_files >= c->min_files) return EXIT_FINE;
    say_error("%s; usage: vitrine %s", c->missing, c->usage);
    return EXIT_USAGE;
}

/* ---- help */

void command_help(const struct command *c, FILE *out) {
    (void)fprintf(out, "usage: vitrine %s\n\n%s.\n", c->usage, c->summary);
    for (unsigned g = 0; c->groups[g]; g++) {
        bool is_one = c->groups[g][1].name == NULL,
             was_one = g > 0 && c->groups[g - 1][1].name == NULL;
        if (!is_one || !was_one) (void)fputc('\n', out);
        for (const struct option_row *o = c->groups[g]; o->name; o++) {
            char left[64];
            (void)snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? "=" : "",
                           o->value ? o->value : "");
            if (o->letter)
                (void)fprintf(out, "  -%c, --%-18s %s\n", o->letter, left, o->help);
            else
                (void)fprintf(out, "      --%-18s %s\n", left, o->help);
        }
    }
    if (c->more_help) c->more_help(out);
    (void)fprintf(out, "\nexample:\n  %s\n", c->example);
}
