/* pprof_prompt.c - the old tools' prompt: the profile is read once, then commands are.
 *
 *   (pprof) top5 --cum -std::
 *   (pprof) list Cache::fill
 *   (pprof) quit
 *
 * The greeting and the prompt go to stderr, reports to stdout. Words without a dash are what to focus on (list: what to
 * list), words with one dash what to ignore; several are joined by '|'. Beyond the old ones, most from the Go tool's prompt:
 * tree, peek, traces, tags, collapsed, svg and other pictures, raw, proto, comments; a number as a word of its own, >FILE at
 * the end; and settings that last: pprof_settings.c.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/text.h"

#define DEFAULT_ROWS 10
#define HISTORY_LINES 200
#define MAX_WORDS 1000 /* characters of joined words */

static const struct command_row {
    const char *name;
    enum output mode;
    enum viewer viewer;
    const char *picture, *help;
} rows[] = {
    {"top", OUT_TEXT, VIEWER_NONE, NULL,
     "top[N] [--cum] [--lines] [focus...] [-ignore...]   the N largest (10)"},
    {"text", OUT_TEXT, VIEWER_NONE, NULL, "text[N] ...            the same"},
    {"list", OUT_LIST, VIEWER_NONE, NULL,
     "list RE... [-ignore...]   source with what each line costs"},
    {"weblist", OUT_LIST, VIEWER_WEB, NULL, "weblist RE...          the same in a browser"},
    {"disasm", OUT_DISASM, VIEWER_NONE, NULL,
     "disasm RE... [-ignore...] instructions with what each costs"},
    {"gv", OUT_GRAPH, VIEWER_GV, "ps2", "gv [focus...] [-ignore...]   the call graph in gv"},
    {"evince", OUT_GRAPH, VIEWER_EVINCE, "pdf", "evince ...             in evince"},
    {"web", OUT_GRAPH, VIEWER_WEB, "svg", "web ...                in a browser"},
    {"callgrind", OUT_CALLGRIND, VIEWER_KCACHEGRIND, NULL,
     "callgrind [FILE]       for KCachegrind, which is started when there is no FILE"},
    {"tree", OUT_TREE, VIEWER_NONE, NULL, "tree, traces, tags, collapsed [focus...] [-ignore...]"},
    {"peek", OUT_PEEK, VIEWER_NONE, NULL, "peek RE...             callers and callees"},
    {"comments", OUT_COMMENTS, VIEWER_NONE, NULL, "comments               those in the profile"},
    {"proto", OUT_PROTO, VIEWER_NONE, NULL, "proto, topproto, raw >FILE"},
    {"topproto", OUT_TOPPROTO, VIEWER_NONE, NULL, NULL},
    {"raw", OUT_RAW, VIEWER_NONE, NULL, NULL},
    {"eog", OUT_GRAPH, VIEWER_EOG, "png", "eog ...                the call graph in eog"},
    {"kcachegrind", OUT_CALLGRIND, VIEWER_KCACHEGRIND, NULL, NULL},
    {"traces", OUT_TRACES, VIEWER_NONE, NULL, NULL},
    {"tags", OUT_TAGS, VIEWER_NONE, NULL, NULL},
    {"collapsed", OUT_COLLAPSED, VIEWER_NONE, NULL, NULL},
    {"dot", OUT_GRAPH, VIEWER_NONE, "dot", "dot, svg, pdf, ps, png, gif >FILE"},
    {"svg", OUT_GRAPH, VIEWER_NONE, "svg", NULL},
    {"pdf", OUT_GRAPH, VIEWER_NONE, "pdf", NULL},
    {"ps", OUT_GRAPH, VIEWER_NONE, "ps2", NULL},
    {"png", OUT_GRAPH, VIEWER_NONE, "png", NULL},
    {"gif", OUT_GRAPH, VIEWER_NONE, "gif", NULL},
};
#define N_ROWS (sizeof rows / sizeof *rows)

struct line {
    char command[32];
    uint32_t n; /* rows: the digits that were glued to it, or a word */
    bool has_n, cum, lines;
    char focus[MAX_WORDS], ignore[MAX_WORDS];
    const char *file; /* behind '>' */
};

static void join(char *words, const char *word) {
    size_t n = strlen(words);
    (void)snprintf(words + n, MAX_WORDS - n, "%s%s", n ? "|" : "", word);
}

static void set_rows(struct line *l, const char *digits) {
    unsigned long count = strtoul(digits, NULL, 10);
    l->has_n = true;
    l->n = count < INT32_MAX ? (uint32_t)count : INT32_MAX;
}

/* "top20" is top and 20. */
static void split_digits(struct line *l, const char *word) {
    size_t n = strcspn(word, "0123456789");
    (void)snprintf(l->command, sizeof l->command, "%.*s", (int)n, word);
    if (word[n] != '\0') set_rows(l, word + n);
}

static void split(char *text, struct line *l) {
    *l = (struct line){.command = ""};
    char *rest = NULL;
    bool is_file = false;
    for (char *word = strtok_r(text, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        if (l->command[0] == '\0')
            split_digits(l, word);
        else if (is_file)
            l->file = word;
        else if (word[0] == '>' && word[1] == '\0')
            is_file = true;
        else if (word[0] == '>')
            l->file = word + 1;
        else if (strcmp(word, "--cum") == 0 || strcmp(word, "-cum") == 0)
            l->cum = true;
        else if (strcmp(word, "--lines") == 0)
            l->lines = true;
        else if (word[strspn(word, "0123456789")] == '\0')
            set_rows(l, word);
        else if (word[0] == '-' && word[1] != '-')
            join(l->ignore, word + 1);
        else
            join(l->focus, word);
    }
}

/* Of all commands, or of those that begin like the word. */
static void help(const struct prompt_settings *now, const char *word) {
    bool is_known = *word == '\0';
    for (unsigned i = 0; i < N_ROWS; i++) {
        if (strncmp(rows[i].name, word, strlen(word)) != 0) continue;
        if (rows[i].help) (void)printf("  %s\n", rows[i].help);
        is_known = true;
    }
    if (!is_known) (void)fprintf(stderr, "Unknown command: %s\n", text_shown(word));
    if (*word != '\0') return;
    (void)puts("  help [NAME], quit\n\n  FILE: '>name' at the end of a command writes there.");
    prompt_settings_help(now);
}

static void report(const struct asked *a, const struct settings *s, struct profile *p,
                   struct line *l, const struct command_row *r) {
    struct asked once = *a; /* what a line says lasts for that line */
    struct settings settings = *s;
    pprof_apply(a, &settings);
    bool is_pattern = r->mode == OUT_LIST || r->mode == OUT_DISASM || r->mode == OUT_PEEK;
    if (l->has_n) once.nodecount = (int)l->n;
    once.mode = r->mode;
    once.viewer = r->viewer;
    once.picture = r->picture;
    once.n_max = l->has_n ? l->n : a->nodecount > 0 ? (uint32_t)a->nodecount : DEFAULT_ROWS;
    once.list = once.disasm = once.peek = l->focus;
    once.weblist = r->mode == OUT_LIST && r->viewer == VIEWER_WEB ? l->focus : NULL;
    if (r->mode == OUT_CALLGRIND && l->focus[0]) { /* the word is the file */
        l->file = l->focus;
        is_pattern = true;
    }
    if (l->file) {
        settings.output = l->file;
        once.viewer = VIEWER_NONE;
    }
    if (!is_pattern && l->focus[0]) settings.focus = l->focus;
    if (l->ignore[0]) {
        settings.ignore = l->ignore;
        (void)fprintf(stderr, "Ignoring samples in call stacks that match '%s'\n",
                      text_shown(l->ignore));
    }
    settings.cum |= l->cum;
    settings.full_names = s->full_names || r->mode == OUT_COLLAPSED;
    if (l->lines) settings.by = "lines";
    (void)pprof_report(&once, &settings, p); /* said already what went wrong */
}

/* False: quit. */
static bool obey(struct prompt_settings *now, const struct settings *s, struct profile *p,
                 char *text) {
    struct line l;
    if (strncmp(text, "quit", 4) == 0) return false;
    if (prompt_settings_obey(now, p, text)) return true;
    split(text, &l);
    if (l.command[0] == '\0' && !l.has_n) return true;
    if (strcmp(l.command, "exit") == 0 || strcmp(l.command, "q") == 0) return false;
    if (strcmp(l.command, "help") == 0) {
        help(now, l.focus);
        return true;
    }
    for (unsigned i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, l.command) == 0) {
            report(&now->asked, s, p, &l, &rows[i]);
            return true;
        }
    (void)fputs("Unknown command: try 'help'.\n", stderr);
    return true;
}

/* ---- lines: from a terminal with libedit's keys and history, else as they come */

struct lines {
    char prompt[16];
    EditLine *editor; /* NULL: no terminal */
    History *history;
    char *text;
    size_t room;
};

static char *prompt_of(EditLine *editor) {
    struct lines *l = NULL;
    (void)el_get(editor, EL_CLIENTDATA, &l);
    return l->prompt;
}

static void lines_begin(struct lines *l, const char *name) {
    HistEvent event;
    *l = (struct lines){.prompt = ""};
    (void)snprintf(l->prompt, sizeof l->prompt, "(%s) ", name);
    if (!isatty(0) || !isatty(2)) return;
    l->editor = el_init(name, stdin, stderr, stderr);
    l->history = history_init();
    if (l->editor == NULL || l->history == NULL) return;
    (void)history(l->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)el_set(l->editor, EL_CLIENTDATA, l);
    (void)el_set(l->editor, EL_PROMPT, prompt_of);
    (void)el_set(l->editor, EL_EDITOR, "emacs");
    (void)el_set(l->editor, EL_SIGNAL, 1);
    (void)el_set(l->editor, EL_HIST, history, l->history);
}

/* NULL: no more. Good until the next. */
static char *lines_next(struct lines *l) {
    HistEvent event;
    int n;
    (void)fflush(stdout);
    if (l->editor == NULL || l->history == NULL) {
        (void)fputs(l->prompt, stderr);
        return getline(&l->text, &l->room, stdin) < 0 ? NULL : l->text;
    }
    const char *line = el_gets(l->editor, &n);
    if (line == NULL || n <= 0) return NULL;
    if (n > 1) (void)history(l->history, &event, H_ENTER, line);
    free(l->text);
    l->text = report_copy(line, strlen(line));
    return l->text;
}

static void lines_end(struct lines *l) {
    if (l->editor) el_end(l->editor);
    if (l->history) history_end(l->history);
    free(l->text);
}

int pprof_prompt(const struct asked *a, const struct settings *s, struct profile *p) {
    const char *name = a->is_jeprof ? "jeprof" : "pprof";
    struct lines lines;
    struct prompt_settings now;
    char *text;
    prompt_settings_begin(&now, a);
    (void)fprintf(stderr, "Welcome to %s!  For help, type 'help'.\n", name);
    lines_begin(&lines, name);
    while ((text = lines_next(&lines)) != NULL && obey(&now, s, p, text)) {}
    lines_end(&lines);
    prompt_settings_end(&now);
    return output_close(s, stdout) == EXIT_FINE ? 0 : 1;
}
