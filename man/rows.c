/* rows.c - puts the rows of options.def, counters.def and the command into a man page.
 *
 *   man_rows TEMPLATE OUTPUT [COMMANDS]
 *
 * A line of the template that is just @OPTIONS@ or @COUNTERS@ is replaced by the items of an mdoc list, @ALIASES@ by a
 * section, @PPROF_OPTIONS@ by the rows of cli/pprof.def; all other lines are copied. The rows are included, not parsed, so the pages say what the library was built with.
 * @COMMANDS@ and @COMMAND_OPTIONS@ become lists from the file COMMANDS, which is what `vitrine rows` printed.
 *
 * Climate: cli, at build time; no part of the library.   Exit: 0 fine, 2 usage, 3 could not.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf/options.h"

static const struct option_row {
    enum vt_option_kind kind;
    const char *name;
    uint64_t dflt, low, high;
    const char *help;
} options[] = {
#define OPTION(kind, name, dflt, low, high, help) {VT_KIND_##kind, #name, dflt, low, high, help},
#include "conf/options.def"
};

static const struct alias_row {
    const char *variable, *name;
} aliases[] = {
#define ALIAS(variable, name) {variable, #name},
#include "conf/options.def"
    {NULL, NULL}, /* there may be none */
};

static const struct counter_row {
    const char *name, *unit, *help;
} counters[] = {
#define COUNTER(name, unit, help) {#name, #unit, help},
#include "conf/counters.def"
};

enum whose { BOTH, PPROF, JEPROF, GO };
static const struct old_row {
    const char *section; /* then nothing else is set */
    enum whose whose;
    const char *name, *value, *help; /* no help: not made yet */
} old_rows[] = {
#define SECTION(title) {.section = (title)},
#define ROW(whose, kind, name, field, value, help) {NULL, whose, name, value, help},
#include "cli/pprof.def"
};

#define LINE_BYTES 78 /* mandoc would like its input lines short */

/* The next word of running text; answers the new column. `name` in backquotes becomes a macro line, on which mdoc wants
 * the punctuation apart; a control character at the start of a line is escaped. */
static size_t put_word(FILE *out, const char *word, size_t n_bytes, size_t column) {
    if (word[0] == '`' && memchr(word + 1, '`', n_bytes - 1) != NULL) {
        size_t n_name = strcspn(word + 1, "`");
        fprintf(out, "%s.Cm %.*s", column > 0 ? "\n" : "", (int)n_name, word + 1);
        for (size_t i = n_name + 2; i < n_bytes; i++) fprintf(out, " %c", word[i]);
        fputc('\n', out);
        return 0;
    }
    if (column > 0 && column + 1 + n_bytes > LINE_BYTES) fputc('\n', out), column = 0;
    if (column > 0) fputc(' ', out);
    if (column == 0 && (word[0] == '.' || word[0] == '\'')) fputs("\\&", out);
    fprintf(out, "%.*s", (int)n_bytes, word);
    return column + 1 + n_bytes;
}

/* A help text as a sentence: a capital in front, a full stop behind. */
static void put_sentence(FILE *out, const char *help) {
    char text[512];
    size_t column = 0;
    snprintf(text, sizeof(text), "%s.", help);
    text[0] = (char)toupper((unsigned char)text[0]);
    for (const char *word = text; *word != '\0';) {
        size_t n_bytes = strcspn(word, " ");
        if (n_bytes > 0) column = put_word(out, word, n_bytes, column);
        word += n_bytes + (word[n_bytes] == ' ');
    }
    if (column > 0) fputc('\n', out);
}

static void put_bytes(FILE *out, uint64_t n) {
    static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
    unsigned unit = 0;
    while (n != 0 && n % 1024 == 0 && unit + 1 < vt_countof(units)) n /= 1024, unit++;
    fprintf(out, "%llu%s", (unsigned long long)n, units[unit]);
}

static void put_value(FILE *out, enum vt_option_kind kind, uint64_t value) {
    static const char *const words[] = {"off", "on", "auto"};
    switch (kind) {
    case VT_KIND_BOOL:
    case VT_KIND_TRI: fputs(words[vt_min(value, 2)], out); break;
    case VT_KIND_BYTES: put_bytes(out, value); break;
    case VT_KIND_MSEC: fprintf(out, "%llu ms", (unsigned long long)value); break;
    case VT_KIND_COUNT: fprintf(out, "%llu", (unsigned long long)value); break;
    case VT_KIND_TEXT: fputs("none", out); break;
    }
}

static void put_option(FILE *out, const struct option_row *o) {
    static const char *const takes[] = {
        [VT_KIND_BOOL] = "on | off", [VT_KIND_TRI] = "on | off | auto",
        [VT_KIND_BYTES] = "bytes",   [VT_KIND_MSEC] = "milliseconds",
        [VT_KIND_COUNT] = "number",  [VT_KIND_TEXT] = "text",
    };
    bool is_word = o->kind == VT_KIND_BOOL || o->kind == VT_KIND_TRI;
    fprintf(out, ".It Cm %s Ns = Ns %s %s\n", o->name, is_word ? "Cm" : "Ar", takes[o->kind]);
    put_sentence(out, o->help);
    fputs("The default is ", out);
    put_value(out, o->kind, o->dflt);
    if (!is_word && o->kind != VT_KIND_TEXT) {
        fputs("; from ", out);
        put_value(out, o->kind, o->low);
        fputs(" to ", out);
        put_value(out, o->kind, o->high);
    }
    fputs(".\n", out);
}

static void put_options(FILE *out) {
    for (size_t i = 0; i < vt_countof(options); i++) put_option(out, &options[i]);
}

/* A section of its own, when there are any. */
static void put_aliases(FILE *out) {
    if (aliases[0].variable == NULL) return;
    fputs(".Sh OTHER NAMES\nThese variables set the same options:\n.Bl -tag -width Ds\n", out);
    for (const struct alias_row *a = aliases; a->variable != NULL; a++)
        fprintf(out, ".It Ev %s\n.Cm %s\n", a->variable, a->name);
    fputs(".El\n", out);
}

static void put_counters(FILE *out) {
    for (size_t i = 0; i < vt_countof(counters); i++) {
        const struct counter_row *c = &counters[i];
        fprintf(out, ".It Va %s Pq %s\n", c->name,
                strcmp(c->unit, "BYTES") == 0 ? "bytes" : "count");
        put_sentence(out, c->help);
    }
}

/* ---- the rows of the command ---- */

#define N_FIELDS 5
struct row {
    char text[1024];
    const char *field[N_FIELDS]; /* those that are missing are "" */
};

static bool next_row(FILE *in, struct row *r) {
    if (fgets(r->text, sizeof(r->text), in) == NULL) return false;
    r->text[strcspn(r->text, "\n")] = '\0';
    char *rest = r->text;
    for (unsigned i = 0; i < N_FIELDS; i++) {
        const char *field = strsep(&rest, "\t");
        r->field[i] = field != NULL ? field : "";
    }
    return true;
}

/* What a user types: a dash is a dash, never typeset. */
static void put_typed(FILE *out, const char *text) {
    for (; *text != '\0'; text++) fprintf(out, *text == '-' ? "\\-" : "%c", *text);
    fputc('\n', out);
}

static void put_commands(FILE *out, FILE *in) {
    struct row r;
    rewind(in);
    while (next_row(in, &r)) {
        if (strcmp(r.field[0], "command") != 0) continue;
        fprintf(out, ".It Cm \"%s\"\n", r.field[2]);
        put_sentence(out, r.field[3]);
        fputs(".Pp\n.Dl ", out);
        put_typed(out, r.field[4]);
    }
}

/* "top tree peek" as mdoc: one macro line, with commas */
static void put_group(FILE *out, const char *names, bool is_first) {
    fprintf(out, "%sOptions of\n.Cm ", is_first ? "" : ".El\n.Pp\n");
    for (; *names != '\0'; names++)
        if (*names == ' ')
            fputs(" , ", out);
        else
            fputc(*names, out);
    fputs(" :\n.Bl -tag -width Ds\n", out);
}

static void put_flag(FILE *out, const char *name, const char *value) {
    fprintf(out, "Fl -%s%s%s\n", name, value[0] ? " Ns = Ns Ar " : "", value);
}

static void put_command_option(FILE *out, const struct row *r) {
    const char *letter = r->field[1], *value = r->field[3];
    fputs(".It ", out);
    if (letter[0] != '-') fprintf(out, "Fl %s%s%s , ", letter, value[0] ? " Ar " : "", value);
    put_flag(out, r->field[2], value);
    put_sentence(out, r->field[4]);
}

static void put_command_options(FILE *out, FILE *in) {
    struct row r;
    bool is_first = true;
    rewind(in);
    while (next_row(in, &r)) {
        if (strcmp(r.field[0], "group") == 0) {
            put_group(out, r.field[1], is_first);
            is_first = false;
        }
        if (strcmp(r.field[0], "option") == 0) put_command_option(out, &r);
    }
    if (!is_first) fputs(".El\n", out);
}

static void put_old_options(FILE *out) {
    static const char *const only[] = {[PPROF] = "Not of\n.Nm jeprof .\n",
                                       [JEPROF] = "Of\n.Nm jeprof\nonly.\n"};
    for (size_t i = 0; i < vt_countof(old_rows); i++) {
        const struct old_row *r = &old_rows[i];
        if (r->section != NULL)
            fprintf(out, "%s.Ss %s\n.Bl -tag -width Ds\n", i > 0 ? ".El\n" : "", r->section);
        if (r->help == NULL) continue;
        fputs(".It ", out);
        put_flag(out, r->name, r->value);
        put_sentence(out, r->help);
        if (r->whose == PPROF || r->whose == JEPROF) fputs(only[r->whose], out);
    }
    fputs(".El\n", out);
}

static void put_line(FILE *out, const char *line, FILE *commands) {
    if (strcmp(line, "@OPTIONS@\n") == 0)
        put_options(out);
    else if (strcmp(line, "@ALIASES@\n") == 0)
        put_aliases(out);
    else if (strcmp(line, "@COUNTERS@\n") == 0)
        put_counters(out);
    else if (strcmp(line, "@PPROF_OPTIONS@\n") == 0)
        put_old_options(out);
    else if (commands != NULL && strcmp(line, "@COMMANDS@\n") == 0)
        put_commands(out, commands);
    else if (commands != NULL && strcmp(line, "@COMMAND_OPTIONS@\n") == 0)
        put_command_options(out, commands);
    else
        fputs(line, out);
}

static int cannot(const char *verb, const char *path) {
    fprintf(stderr, "man_rows: error: cannot %s '%s'\n", verb, path);
    return 3;
}

static int fill_in(FILE *in, const char *path, FILE *commands) {
    char line[1024];
    FILE *out = fopen(path, "w");
    if (out == NULL) return cannot("write", path);
    while (fgets(line, sizeof(line), in) != NULL) put_line(out, line, commands);
    bool is_bad = ferror(in) != 0 || ferror(out) != 0;
    return fclose(out) != 0 || is_bad ? cannot("write", path) : 0;
}

int main(int argc, char **argv) {
    FILE *commands = NULL;
    if (argc != 3 && argc != 4) {
        fputs("usage: man_rows TEMPLATE OUTPUT [COMMANDS]\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[1], "r");
    if (in == NULL) return cannot("read", argv[1]);
    if (argc == 4 && (commands = fopen(argv[3], "r")) == NULL) return cannot("read", argv[3]);
    int status = fill_in(in, argv[2], commands);
    if (commands != NULL) fclose(commands);
    fclose(in);
    return status;
}
