/* dialect_pprof.h - what the old names' options say, and what their prompt shares with them.
 * Climate: cli.   Callers: cli/dialect_pprof.c, cli/pprof_prompt.c.
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
    OUT_PROTO,
    OUT_SYMBOLS,
    OUT_LIST,
    OUT_CALLGRIND,
    OUT_PROMPT,
    OUT_GRAPH, /* dot, ps, pdf, svg, gif */
    OUT_LATER, /* known, and not made yet */
};

struct asked {
    /* switches and values, by their old names */
    int text, collapsed, raw, tree, traces, proto;
    const char *peek;
    int callgrind, dot, ps, pdf, svg, gif, gv, evince, web, symbols, interactive;
    const char *list, *disasm;
    int help, version, stacks, cum;
    const char *base, *diff_base;
    int functions, lines, addresses, files;
    int inuse_space, inuse_objects, alloc_space, alloc_objects, show_bytes, drop_negative;
    int total_delay, contentions, mean_delay;
    int nodecount, maxdegree, scale, seconds, test_stride;
    double nodefraction, edgefraction;
    const char *focus, *ignore, *retain, *exclude, *thread, *add_lib, *lib_prefix, *tools;
    int heapcheck, no_strip_temp, show_addresses, no_auto_signal_frm, debug_syms_by_id, test, debug;
    /* what is no option */
    const char **rest;
    uint32_t n_rest;
    bool is_jeprof;
    const char *name;
    /* of the prompt: rows at most, 0 for all; and a total is told even when it is 0 */
    uint32_t n_max;
    bool tells_zero;
};

/* One report on `out` with the old tool's columns; 0, or 1 after a message. */
int pprof_report(const struct asked *a, enum output mode, struct settings *s, struct profile *p,
                 FILE *out);

/* Reads commands from stdin until it ends or says quit. */
int pprof_prompt(struct asked *a, struct settings *s, struct profile *p);

#endif
