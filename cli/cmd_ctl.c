/* cmd_ctl.c - asks a running program for something. The commands are the rows of vitrine-control.h. Climate: cli. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vitrine.h>

#include "cli/command.h"
#include "report/control.h"
#include "report/text.h"

#define DEFAULT_TIMEOUT_S 5
#define SPELLED_BYTES 64 /* a command and what it takes */

enum takes { NOTHING, PATH, ANY_PATH, BYTES, SWITCH };

static const struct row {
    enum vt_control_command command;
    const char *name;
    enum takes takes;
    const char *word; /* for it */
    const char *help;
} rows[] = {
#define ROW(number, name, takes, word, help) {VT_CONTROL_##name, #name, takes, word, help},
    VT_CONTROL_COMMANDS(ROW)
#undef ROW
};
#define N_ROWS (sizeof rows / sizeof *rows)

/* ---- arguments */

/* Names are C's; people write cpu-start, or cpu start. */
static char written(char c) { return c == '_' || c == ' ' ? '-' : c; }

static bool is_named(const struct row *row, const char *name) {
    const char *own = row->name;
    while (*own && written(*own) == written(*name)) own++, name++;
    return *own == '\0' && *name == '\0';
}

/* As people write it. */
static const char *spell_name(const struct row *row, char *out, size_t n_bytes) {
    (void)snprintf(out, n_bytes, "%s", row->name);
    for (char *c = out; *c; c++) *c = written(*c);
    return out;
}

/* With the word for what it takes. */
static const char *spell(const struct row *row, char *out, size_t n_bytes) {
    size_t n = strlen(spell_name(row, out, n_bytes));
    (void)snprintf(out + n, n_bytes - n, "%s%s", *row->word ? " " : "", row->word);
    return out;
}

static const struct row *find_row(const char *name) {
    for (unsigned i = 0; i < N_ROWS; i++)
        if (is_named(&rows[i], name)) return &rows[i];
    return NULL;
}

/* The command, of one word or of two, and the index of its argument; NULL: unknown. */
static const struct row *read_command(const struct settings *s, uint32_t *argument) {
    char both[SPELLED_BYTES];
    const struct row *row = find_row(s->files[1]);
    *argument = 2;
    if (row != NULL || s->n_files < 3) return row;
    *argument = 3;
    int n = snprintf(both, sizeof both, "%s %s", s->files[1], s->files[2]);
    return n < (int)sizeof both ? find_row(both) : NULL;
}

/* Names are ours, and the program has another folder: it gets them in full. */
static bool full_path(const char *word, char *out, size_t n_bytes) {
    char folder[PATH_MAX];
    if (word[0] == '/') return snprintf(out, n_bytes, "%s", word) < (int)n_bytes;
    if (getcwd(folder, sizeof folder) == NULL) return false;
    return snprintf(out, n_bytes, "%s/%s", folder, word) < (int)n_bytes;
}

/* What the argument says; false after a message. */
static bool read_argument(const struct row *row, const char *word, struct control_question *q,
                          char *path, size_t n_bytes) {
    switch (row->takes) {
    case NOTHING: return true;
    case PATH:
    case ANY_PATH:
        if (word == NULL) return true;
        q->text = path;
        if (full_path(word, path, n_bytes)) return true;
        say_error("'%s': name too long", word);
        return false;
    case BYTES:
        if (bytes_read(word, &q->number)) return true;
        say_error("'%s' wants a number of bytes such as 512K, not '%s'", row->name, word);
        return false;
    case SWITCH:
        q->number = strcmp(word, "on") == 0;
        if (q->number == 1 || strcmp(word, "off") == 0) return true;
        say_error("'%s' is on or off, not '%s'", row->name, word);
        return false;
    }
    return false;
}

static bool read_format(const struct settings *s, struct control_question *q) {
    static const char *const names[] = {
        [VT_PROFILE_PROTO] = "proto",
        [VT_GPERFTOOLS_HEAP] = "gperftools",
        [VT_JEMALLOC_HEAP] = "jemalloc",
        [VT_COLLAPSED] = "collapsed",
    };
    if (q->command == VT_CONTROL_stats) q->format = s->json ? VT_JSON_FORMAT : VT_TEXT_FORMAT;
    if (q->command != VT_CONTROL_dump || s->format == NULL) return true;
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], s->format) == 0) q->format = i + 1;
    if (q->format != 0) return true;
    say_error("'--format' is proto, gperftools, jemalloc or collapsed, not '%s'", s->format);
    return false;
}

static bool read_pid(const char *word, int *pid) {
    char *end;
    long n = strtol(word, &end, 10);
    *pid = (int)n;
    if (*word >= '0' && *word <= '9' && *end == '\0' && n > 0 && n <= INT_MAX) return true;
    say_error("'%s' is no process number", word);
    return false;
}

/* ---- the answer */

static int show(const struct settings *s, const struct control_question *q,
                const struct control_reply *reply) {
    FILE *out = output_open(s);
    if (out == NULL) return EXIT_COULD_NOT;
    if (reply->data) text_shown_lines(out, reply->data);
    if (q->command == VT_CONTROL_purge)
        (void)fprintf(out, "%" PRIu64 " bytes given back\n", reply->answer.number);
    if (reply->answer.text[0]) (void)fprintf(out, "%s\n", text_shown(reply->answer.text));
    return output_close(s, out);
}

static int ask(const struct settings *s, int pid, const struct control_question *q) {
    struct symbol_cache cache = {0};
    struct report_error e;
    struct control *c = NULL;
    struct control_reply reply = {.data = NULL};
    unsigned timeout_s = s->timeout_s ? s->timeout_s : DEFAULT_TIMEOUT_S;
    int err = control_open(&cache, pid, CONTROL_ASK, &c, &e);
    if (err == 0) err = control_ask(c, q, timeout_s * 1000, &reply, &e);
    if (c != NULL) control_close(c);
    symbol_cache_free(&cache);
    if (err != 0) say_error("%s", e.line);
    int status = err != 0 ? EXIT_COULD_NOT : show(s, q, &reply);
    free(reply.data);
    return status;
}

static int ctl_run(struct settings *s) {
    char path[VT_CONTROL_TEXT_BYTES];
    int pid;
    uint32_t argument;
    const struct row *row = read_command(s, &argument);
    const char *word = s->n_files > argument ? s->files[argument] : NULL;
    if (!read_pid(s->files[0], &pid)) return EXIT_USAGE;
    if (row == NULL) {
        say_error("unknown command '%s'; 'vitrine ctl --help' lists them", s->files[1]);
        return EXIT_USAGE;
    }
    bool is_wanted = row->takes != NOTHING && row->takes != ANY_PATH;
    if ((is_wanted && word == NULL) || (row->takes == NOTHING && word != NULL) ||
        s->n_files > argument + 1) {
        char usage[SPELLED_BYTES];
        say_error("usage: vitrine ctl PID %s", spell(row, usage, sizeof usage));
        return EXIT_USAGE;
    }
    struct control_question q = {.command = row->command};
    if (!read_argument(row, word, &q, path, sizeof path) || !read_format(s, &q)) return EXIT_USAGE;
    return ask(s, pid, &q);
}

static void ctl_more_help(FILE *out) {
    (void)fputs("\ncommands:\n", out);
    for (unsigned i = 0; i < N_ROWS; i++) {
        char left[SPELLED_BYTES];
        (void)fprintf(out, "  %-23s %s\n", spell(&rows[i], left, sizeof left), rows[i].help);
    }
}

static void ctl_words(FILE *out) {
    for (unsigned i = 0; i < N_ROWS; i++) {
        char name[SPELLED_BYTES];
        (void)fprintf(out, "%s\t%s\n", spell_name(&rows[i], name, sizeof name), rows[i].help);
    }
}

const struct command cmd_ctl = {
    .name = "ctl",
    .usage = "ctl [OPTION...] PID COMMAND [ARGUMENT]",
    .summary = "ask a running program for heap, CPU and contention profiles, statistics and more",
    .example = "vitrine ctl 1234 dump /tmp/now.heap",
    .groups = {options_control},
    .min_files = 2,
    .missing = "a process and a command are needed",
    .more_help = ctl_more_help,
    .put_words = ctl_words,
    .run = ctl_run,
};
