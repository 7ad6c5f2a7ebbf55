/* pprof_prompt.c - the old tools' prompt: the profile is read once, then commands are.
 *
 *   (pprof) top5 --cum -std::
 *   (pprof) list Cache::fill
 *   (pprof) quit
 *
 * The greeting and the prompt go to stderr, reports to stdout. Words without a dash are what to focus on (list: what to
 * list), words with one dash what to ignore; several are joined by '|'.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_ROWS 10
#define MAX_WORDS 1000 /* characters of joined words */

struct line {
    char command[32];
    uint32_t n; /* the digits that were glued to it */
    bool has_n, cum, lines;
    char focus[MAX_WORDS], ignore[MAX_WORDS];
};

static void join(char *words, const char *word) {
    size_t n = strlen(words);
    (void)snprintf(words + n, MAX_WORDS - n, "%s%s", n ? "|" : "", word);
}

/* "top20" is top and 20. */
static void split_digits(struct line *l, const char *word) {
    size_t n = strcspn(word, "0123456789");
    (void)snprintf(l->command, sizeof l->command, "%.*s", (int)n, word);
    l->has_n = word[n] != '\0';
    unsigned long rows = strtoul(word + n, NULL, 10);
    l->n = rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
}

static void split(char *text, struct line *l) {
    *l = (struct line){.command = ""};
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (l->command[0] == '\0')
            split_digits(l, word);
        else if (strcmp(word, "--cum") == 0)
            l->cum = true;
        else if (strcmp(word, "--lines") == 0)
            l->lines = true;
        else if (word[0] == '-' && word[1] != '-')
            join(l->ignore, word + 1);
        else
            join(l->focus, word);
    }
}

static void help(void) {
    (void)fputs(
        "  top[N] [--cum] [--lines] [focus...] [-ignore...]   the N largest (10)\n"
        "  text[N] ...                                        the same\n"
        "  list RE... [-ignore...]                            source with what each line costs\n"
        "  tree, traces, collapsed [focus...] [-ignore...]\n"
        "  help, quit\n",
        stdout);
}

static void report(const struct asked *a, const struct settings *s, struct profile *p,
                   const struct line *l, enum output mode) {
    struct asked once = *a; /* what a line says lasts for that line */
    struct settings settings = *s;
    once.tells_zero = true;
    once.n_max = l->has_n ? l->n : DEFAULT_ROWS;
    once.list = l->focus;
    if (mode != OUT_LIST && l->focus[0]) settings.focus = l->focus;
    if (l->ignore[0]) {
        settings.ignore = l->ignore;
        (void)fprintf(stderr, "Ignoring samples in call stacks that match '%s'\n", l->ignore);
    }
    settings.cum = s->cum || l->cum;
    if (l->lines) settings.by = "lines";
    (void)pprof_report(&once, mode, &settings, p, stdout); /* said already what went wrong */
}

/* False: quit. */
static bool obey(const struct asked *a, const struct settings *s, struct profile *p, char *text) {
    static const struct {
        const char *name;
        enum output mode;
    } rows[] = {{"top", OUT_TEXT},  {"text", OUT_TEXT},     {"list", OUT_LIST},
                {"tree", OUT_TREE}, {"traces", OUT_TRACES}, {"collapsed", OUT_COLLAPSED}};
    struct line l;
    if (strncmp(text, "quit", 4) == 0) return false;
    split(text, &l);
    if (l.command[0] == '\0' && !l.has_n) return true;
    if (strcmp(l.command, "help") == 0) {
        help();
        return true;
    }
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, l.command) == 0) {
            report(a, s, p, &l, rows[i].mode);
            return true;
        }
    (void)fputs("Unknown command: try 'help'.\n", stderr);
    return true;
}

int pprof_prompt(struct asked *a, struct settings *s, struct profile *p) {
    char *text = NULL;
    size_t room = 0;
    const char *name = a->is_jeprof ? "jeprof" : "pprof";
    (void)fprintf(stderr, "Welcome to %s!  For help, type 'help'.\n", name);
    for (;;) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "(%s) ", name);
        if (getline(&text, &room, stdin) < 0 || !obey(a, s, p, text)) break;
    }
    free(text);
    return 0;
}
