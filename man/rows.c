/* rows.c - puts the rows of options.def and counters.def into a man page.
 *
 *   man_rows TEMPLATE OUTPUT
 *
 * A line of the template that is just @OPTIONS@ or @COUNTERS@ is replaced by the items of an mdoc list, @ALIASES@ by a
 * section; all other lines are copied. The rows are included, not parsed, so the pages say what the library was built with.
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

static void put_line(FILE *out, const char *line) {
    if (strcmp(line, "@OPTIONS@\n") == 0)
        put_options(out);
    else if (strcmp(line, "@ALIASES@\n") == 0)
        put_aliases(out);
    else if (strcmp(line, "@COUNTERS@\n") == 0)
        put_counters(out);
    else
        fputs(line, out);
}

static int cannot(const char *verb, const char *path) {
    fprintf(stderr, "man_rows: error: cannot %s '%s'\n", verb, path);
    return 3;
}

static int fill_in(FILE *in, const char *path) {
    char line[1024];
    FILE *out = fopen(path, "w");
    if (out == NULL) return cannot("write", path);
    while (fgets(line, sizeof(line), in) != NULL) put_line(out, line);
    bool is_bad = ferror(in) != 0 || ferror(out) != 0;
    return fclose(out) != 0 || is_bad ? cannot("write", path) : 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: man_rows TEMPLATE OUTPUT\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[1], "r");
    if (in == NULL) return cannot("read", argv[1]);
    int status = fill_in(in, argv[2]);
    fclose(in);
    return status;
}
