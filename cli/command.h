/* command.h - what a subcommand is: a row of data and a function. Help, the man page and completion
 * are made from the rows (cli/rows.c).
 *
 * Exit: 0 fine, 1 found something, 2 usage, 3 could not. Data on stdout, talk on stderr.
 *
 * Climate: cli.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <limits.h>
#include <stddef.h>

#include "report/fetch.h"
#include "report/read.h"
#include "report/views.h"

enum { EXIT_FINE = 0, EXIT_FOUND = 1, EXIT_USAGE = 2, EXIT_COULD_NOT = 3 };

#define MAX_LIST 16 /* of an option that may be repeated */

/* Everything the options can say; a command has those of the groups in its row. */
struct settings {
    /* which data */
    const char *program, *type, *thread;
    bool is_by_thread;                                     /* report_options.is_by_thread */
    const char *bases[MAX_LIST + 1], *moves[MAX_LIST + 1]; /* ended by NULL */
    bool no_symbols;
    bool may_be_empty; /* no option: `run` knows that its profiles are profiles */
    uint64_t limit;    /* bytes of a profile: report_options.max_bytes */
    /* which part of it */
    const char *focus, *ignore, *show, *hide, *show_from, *tag_focus, *tag_ignore;
    bool all_frames, drop_negative;
    /* of the old names, which have them from Go's pprof: view.h, label_frames.h, source.h */
    const char *prune_from, *tag_show, *tag_hide, *tag_root, *tag_leaf;
    bool shows_address, shows_columns, mangled_names, by_path, is_intel;
    struct source_search search;
    /* how it is shown */
    const char *by, *of; /* a row of a table; what percentages are of */
    const char *group;   /* a table for each thread, module, file or value of a label */
    bool full_names, no_inlines, cum, json, csv;
    uint32_t n_max;
    /* where it goes */
    const char *output, *to, *title, *view;
    /* of a running program or a server */
    const char *format;
    uint32_t timeout_s; /* 0: the command's own */
    /* what `run` records */
    bool heap, cpu, contention, exact, lifetimes, mmap, wall;
    const char *rate, *every;
    /* what `check` allows */
    const char *max_peak, *max_live, *max_growth;
    bool junit;
    /* what is no option */
    const char **files;
    uint32_t n_files;
    bool help; /* is all that is wanted */
    /* of profiles that a server sends */
    uint32_t n_seconds; /* how long a CPU profile takes; 0: 30 */
    struct fetch_tls tls;
    const char *save_folder;          /* the old names keep what they fetched; NULL: not kept */
    const char *symbol_query;         /* jeprof's ?retain=...; or NULL */
    const char *lib_prefix, *add_lib; /* of the old names: where libraries are, and one more */
    const char *build_id; /* of the program, where the profile does not have it; or NULL */
    bool is_old_name;     /* called as pprof, google-pprof or jeprof: names as these have them */
    bool normalizes;      /* the profile is scaled to the base's total first */
    bool has_told_gaps;   /* what is missing in the profiles was said before */
    bool keeps_handler;   /* the signal handler's frames in CPU profiles stay */
    char *saved;          /* the last one kept, malloc'ed */
    char *remote_program; /* what the server runs, malloc'ed */
};

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_LIMIT, OPTION_LIST };

struct option_row {
    const char *name; /* without dashes */
    char letter;      /* or 0 */
    enum option_kind kind;
    size_t offset;     /* in struct settings */
    const char *value; /* what the help calls it: RE, FILE, N */
    const char *help;  /* with default and unit */
};

/* Values of options, in the order of what they stand for: enum view_by. */
#define WORDS_OF_BY "functions filefunctions lines files addresses"
#define WORDS_OF_OF "all rest base"
/* Which of the words it is, from 0 on; -1: none. */
int word_find(const char *words, const char *word);

/* Groups end in a row without a name. */
extern const struct option_row options_data[], options_base[], options_filter[], options_shape[],
    options_output[], options_convert[], options_flame[], options_form[], options_diff[],
    options_control[], options_ps[], options_group[], options_names[];

/* What every command takes that shows a view of profiles. */
#define GROUPS_OF_VIEWS options_data, options_base, options_filter, options_shape
#define NO_PROFILE "no profile is given"

struct command {
    const char *name, *usage, *summary; /* the summary is also the man page's NAME line */
    const char *example;
    const struct option_row *groups[10]; /* ended by NULL */
    uint32_t min_files;
    const char *missing;          /* what to say when there are fewer */
    void (*more_help)(FILE *out); /* behind the options; may be NULL */
    void (*put_words)(FILE *out); /* NAME<tab>HELP of words it takes behind a number; may be NULL */
    bool
        has_arguments; /* the first word that is no option ends the options: a program's own follow */
    int (*run)(struct settings *s);
};

extern const struct command cmd_top, cmd_tree, cmd_peek, cmd_traces, cmd_collapsed, cmd_raw,
    cmd_convert, cmd_diff, cmd_flame, cmd_graph, cmd_list, cmd_disasm, cmd_tags, cmd_run, cmd_ps,
    cmd_ctl, cmd_check, cmd_symbolize, cmd_read, cmd_core;
extern const struct command *const commands[]; /* ended by NULL; in the order of the help */

const struct command *command_find(const char *name); /* NULL: none */

/* Fills the settings; EXIT_FINE, or EXIT_USAGE after a message. s->files is malloc'ed. */
int options_read(const struct command *c, int argc, char **argv, struct settings *s);
void command_help(const struct command *c, FILE *out);
/* How many letters of the n of `a` must change to be `b`; below NO_SLIP it may be what was meant. */
#define NO_SLIP 3
unsigned word_distance(const char *a, size_t n, const char *b);

/* "512K" as bytes; false: it is no such number. */
bool bytes_read(const char *word, uint64_t *out);
/* The same for a limit, where 0 means that there is none. */
bool limit_read(const char *word, uint64_t *out);

/* ---- shared by commands */

/* "vitrine: error: line" on stderr. */
__attribute__((format(printf, 1, 2))) void say_error(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say_warning(const char *format, ...);
void say_gaps(const struct profile *p, const char *path); /* what is missing in it */
extern const char *said_by; /* "vitrine", or the old name we were called by */

/* Reads, merges and symbolizes what s->files names, less s->bases; programs among the files are taken
 * out. NULL after a message: the caller gives EXIT_COULD_NOT. */
struct profile *load_profiles(struct settings *s);
/* Takes the program out of the files; false after a message. */
bool load_program(struct settings *s);
struct report_options report_options_from(const struct settings *s);
bool load_is_remote(const char *name); /* a URL, and no file of that name */
/* One profile from a server (report/remote.h), with its names unless s->program is there to give them. */
struct profile *load_remote(struct settings *s, const char *url, struct report_error *e);
/* Where the binaries are. */
struct symbols_options symbols_from(const struct settings *s);
/* The same, then the view; NULL after a message, *status is the exit. */
struct view *load_view(struct settings *s, struct profile **p, int *status);
bool view_options_from(const struct settings *s, const struct profile *p, struct view_options *o,
                       int *status);
struct view_print print_from(const struct settings *s, FILE *out);
/* The first profile without its folder: what pictures are called. */
const char *title_from(const struct settings *s);
/* Above a picture: what was asked for, or of which files it is, in `out`. */
#define PICTURE_TITLE 300
const char *picture_title(const struct settings *s, char *out, size_t n_bytes);

/* output.c: files that are complete or absent, and never what another user planted. One at a time. NULL: `e` says why. */
FILE *file_create(const char *path, struct report_error *e);
/* Closes it and gives it its name; unless it is wanted, nothing is left of it. 0, or `e` says why. */
int file_finish(FILE *out, bool is_wanted, struct report_error *e);
/* Makes a folder, if it is not there; and its path without links. False: `e` says why. */
bool folder_make(const char *folder, struct report_error *e);
bool folder_path(const char *folder, char out[PATH_MAX], struct report_error *e);
/* Opens a folder where what we make keeps its name, whoever else writes there; `path` gets its path without links. -1: it is not one. */
int folder_open_safe(const char *folder, char path[PATH_MAX]);

/* s->output or stdout; NULL after a message. */
FILE *output_open(const struct settings *s);
/* What s->output ends in: ".svg"; or "". */
const char *output_ending(const struct settings *s);
/* May text be called what s->output is? False after a message: a picture is expected there. */
bool output_takes_text(const struct settings *s);
/* Will bytes that are no text go to a file? False after a message: a terminal would obey them. */
bool output_takes_bytes(FILE *out);
/* Flushes; EXIT_COULD_NOT after a message when something could not be written. */
int output_close(const struct settings *s, FILE *out);
/* The same for a command whose exit status is so far `status`; gives the new one. A file that does not hold all is not made,
 * and the one that was there stays. */
int output_finish(const struct settings *s, FILE *out, int status);

/* From files to a file: reads, makes the view, opens the output only then, has it written, closes it. A writer gives an
 * exit status, after a message when it is not EXIT_FINE; so do these. */
typedef int view_writer(const struct settings *s, struct view *v, FILE *out, const void *context);
typedef int profile_writer(const struct settings *s, struct profile *p, FILE *out);
int write_of_view(struct settings *s, view_writer *write, const void *context);
int write_of_profile(struct settings *s, profile_writer *write);

/* The call graph as "dot", or as what `dot -T` calls svg, pdf, ps, ps2, png, gif. Gives an exit status,
 * after a message when it is not EXIT_FINE. */
int graph_draw(const struct view *v, const struct view_dot_options *o, const char *format,
               FILE *out);

/* The rows as text; the exit status. */
int rows_print(int argc, char **argv);

/* argv[0] is pprof, google-pprof or jeprof. */
int dialect_pprof(const char *name, int argc, char **argv);

#endif
