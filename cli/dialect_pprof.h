/* dialect_pprof.h - what the old names' options say, and what their files share.
 *
 *   pprof.def, pprof_options.c   the options        dialect_pprof.c   what to do
 *   pprof_text.c                 table and stacks   pprof_prompt.c    the prompt
 *   pprof_settings.c             the prompt's settings
 *   viewer.c                     gv, evince, browsers
 *
 * Climate: cli.   Callers: these files only.
 */
#ifndef CLI_DIALECT_PPROF_H
#define CLI_DIALECT_PPROF_H

#include "cli/command.h"

enum output {
    OUT_NONE,
    OUT_TEXT,
    OUT_COLLAPSED,
    OUT_RAW,
    OUT_TREE,
    OUT_PEEK,
    OUT_TRACES,
    OUT_TAGS,
    OUT_COMMENTS,
    OUT_PROTO,
    OUT_TOPPROTO,
    OUT_SYMBOLS,
    OUT_LIST,
    OUT_DISASM,
    OUT_CALLGRIND,
    OUT_GRAPH, /* dot, ps, pdf, svg, gif, png: asked.picture says which */
    OUT_PROMPT,
};

/* What is made is shown by a program: its kind, where it is put, how it is shown. */
enum viewer { VIEWER_NONE, VIEWER_GV, VIEWER_EVINCE, VIEWER_WEB, VIEWER_EOG, VIEWER_KCACHEGRIND };

struct asked {
    /* switches and values: pprof.def */
    int text, collapsed, raw, tree, traces, tags, comments, proto, callgrind, dot, ps, pdf, svg,
        gif, png, gv, evince, web, eog, kcachegrind, symbols, interactive, stacks;
    const char *peek, *list, *disasm, *weblist;
    int help, version, cum, flat, functions, filefunctions, lines, addresses, files;
    int inuse_space, inuse_objects, alloc_space, alloc_objects, show_bytes, drop_negative;
    int total_delay, contentions, mean;
    int nodecount, maxdegree, scale, seconds;
    double nodefraction, edgefraction, divide_by;
    const char *focus, *ignore, *show, *hide, *show_from, *prune_from, *thread;
    const char *tag_focus, *tag_ignore, *tag_show, *tag_hide, *tag_root, *tag_leaf;
    const char *bases[MAX_LIST + 1], *diff_bases[MAX_LIST + 1]; /* ended by NULL */
    const char *add_lib, *lib_prefix, *output, *sample_index, *unit, *sort, *granularity,
        *symbolize, *source_path, *trim_path, *limit, *buildid, *add_comment, *tls_cert, *tls_key,
        *tls_ca;
    int heapcheck, no_strip_temp, show_addresses, keeps_handler, normalize, noinlines, all_frames,
        no_browser, call_tree, showcolumns, intel_syntax, topproto, timeout, trim, relative,
        compact_labels;
    const char *ignored;
    /* what is no option */
    const char **rest;
    uint32_t n_rest;
    bool is_jeprof;
    const char *name;
    /* what follows from them */
    enum output mode;
    enum viewer viewer;
    const char *picture; /* as `dot -T` calls it */
    /* of the prompt: rows at most, 0 for all; a total is told even when it is 0; viewers in the background */
    uint32_t n_max;
    bool is_prompt;
};

/* ---- pprof_options.c */
/* False after a message; *status is then the exit. */
bool pprof_read_options(struct asked *a, int argc, char **argv, int *status);
void pprof_help(const struct asked *a, FILE *out);
/* Says it as the old tools do; the result is the exit status. */
__attribute__((format(printf, 2, 3))) int pprof_usage_error(const struct asked *a,
                                                            const char *format, ...);

/* One option by its whole name, for the prompt. Setting it: false after a message; the text must live as long as it. */
bool pprof_option_set(struct asked *a, const char *name, const char *value);
bool pprof_option_is_switch(const struct asked *a, const char *name);
void pprof_option_value(const struct asked *a, const char *name, char *out, size_t n_bytes);
const char *pprof_option_help(const struct asked *a, const char *name); /* NULL: none */

/* ---- pprof_text.c */
struct old_unit {
    double divisor;
    int decimals;
    const char *name;
};
struct old_unit pprof_unit(const struct asked *a, const struct view *v);
/* What percentages are of: what is shown, as ever; with -diff_base the base's total. */
static inline double pprof_whole(const struct view *v) {
    return v->p->base_totals ? v->whole : v->shown;
}
const char *pprof_number(const struct old_unit *u, double value, char *out, size_t n_bytes);
/* `per`: a view of the same nodes whose values are divided by; or NULL. */
void pprof_put_text(const struct asked *a, const struct view *v, const struct view *per, FILE *out);
void pprof_put_stacks(const struct view *v, FILE *out);
/* At the prompt: "After focusing on 'X': 1.9 MB of 3.8 (50.0%)". */
void pprof_tell_filters(const struct asked *a, const struct settings *s, const struct view *v,
                        FILE *out);

/* ---- dialect_pprof.c */
/* One report, where the options say; 0, or 1 after a message. */
int pprof_report(const struct asked *a, struct settings *s, struct profile *p);

/* The type whose values are shown. */
const char *pprof_type(const struct asked *a, const struct profile *p);
/* What the options say about what is shown, not about what is read. */
void pprof_apply(const struct asked *a, struct settings *s);

/* ---- pprof_settings.c */
/* What the prompt has changed, and the texts of it. */
struct prompt_settings {
    struct asked asked;
    char **texts;
    uint32_t n_texts, cap_texts;
};
void prompt_settings_begin(struct prompt_settings *s, const struct asked *a);
/* A line that changes a setting or asks for them: name=value, options, help NAME, inuse_space, ":" ... False: it is none. */
bool prompt_settings_obey(struct prompt_settings *s, const struct profile *p, const char *line);
void prompt_settings_help(const struct prompt_settings *s);
void prompt_settings_end(struct prompt_settings *s);

/* ---- viewer.c */
/* A new file for a viewer, open for writing; its name in `path`. NULL after a message. */
FILE *viewer_file(const struct asked *a, char *path, size_t n_bytes);
/* Starts the program that shows it, waits unless at the prompt. Without one: a message that says where the file is. */
int viewer_show(const struct asked *a, const char *path);
bool viewer_is_there(enum viewer viewer);

/* ---- pprof_prompt.c */
/* Reads commands from stdin until it ends or says quit. */
int pprof_prompt(const struct asked *a, const struct settings *s, struct profile *p);

#endif
