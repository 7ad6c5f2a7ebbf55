/* dialect_pprof.c - the command by its old names: pprof, google-pprof (gperftools) and jeprof (jemalloc).
 *
 * The grammar is perl's Getopt::Long: options and files in any order, one dash or two, any case, any
 * beginning that only one option has, --no in front of switches. Output has the old columns. What is
 * better than it was: an address is never given the nearest name but binary+0xoffset; the line of an
 * allocation is the call's, not the one after it; differences meet by symbol, not by raw address; a file
 * that does not exist is called so.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <vitrine.h>

#include "report/names.h"
#include "report/read.h"
#include "report/symbols.h"

/* ---- options */

enum row_kind { SWITCH, TEXT, INTEGER, REAL };
enum whose { BOTH, PPROF, JEPROF, GO /* the Go tool's: accepted by both */ };

static const struct row {
    const char *name;
    enum row_kind kind;
    enum whose whose;
    size_t offset;
} rows[] = {
#define ROW(field, kind, whose)                                                                    \
    { #field, kind, whose, offsetof(struct asked, field) }
    ROW(help, SWITCH, BOTH),
    ROW(version, SWITCH, BOTH),
    ROW(text, SWITCH, BOTH),
    ROW(callgrind, SWITCH, BOTH),
    ROW(dot, SWITCH, BOTH),
    ROW(ps, SWITCH, BOTH),
    ROW(pdf, SWITCH, BOTH),
    ROW(svg, SWITCH, BOTH),
    ROW(gif, SWITCH, BOTH),
    ROW(raw, SWITCH, BOTH),
    ROW(collapsed, SWITCH, BOTH),
    ROW(gv, SWITCH, BOTH),
    ROW(evince, SWITCH, BOTH),
    ROW(web, SWITCH, BOTH),
    ROW(list, TEXT, BOTH),
    ROW(disasm, TEXT, BOTH),
    ROW(symbols, SWITCH, BOTH),
    ROW(interactive, SWITCH, BOTH),
    ROW(stacks, SWITCH, PPROF),
    ROW(cum, SWITCH, BOTH),
    ROW(base, TEXT, BOTH),
    ROW(functions, SWITCH, BOTH),
    ROW(lines, SWITCH, BOTH),
    ROW(addresses, SWITCH, BOTH),
    ROW(files, SWITCH, BOTH),
    ROW(inuse_space, SWITCH, BOTH),
    ROW(inuse_objects, SWITCH, BOTH),
    ROW(alloc_space, SWITCH, BOTH),
    ROW(alloc_objects, SWITCH, BOTH),
    ROW(show_bytes, SWITCH, BOTH),
    ROW(drop_negative, SWITCH, BOTH),
    ROW(total_delay, SWITCH, BOTH),
    ROW(contentions, SWITCH, BOTH),
    ROW(mean_delay, SWITCH, BOTH),
    ROW(nodecount, INTEGER, BOTH),
    ROW(nodefraction, REAL, BOTH),
    ROW(edgefraction, REAL, BOTH),
    ROW(maxdegree, INTEGER, BOTH),
    ROW(focus, TEXT, BOTH),
    ROW(ignore, TEXT, BOTH),
    ROW(retain, TEXT, JEPROF),
    ROW(exclude, TEXT, JEPROF),
    ROW(thread, TEXT, JEPROF),
    ROW(scale, INTEGER, BOTH),
    ROW(heapcheck, SWITCH, BOTH),
    ROW(seconds, INTEGER, BOTH),
    ROW(add_lib, TEXT, BOTH),
    ROW(lib_prefix, TEXT, BOTH),
    ROW(tools, TEXT, BOTH),
    ROW(no_strip_temp, SWITCH, PPROF),
    ROW(show_addresses, SWITCH, PPROF),
    {"no-auto-signal-frm", SWITCH, PPROF, offsetof(struct asked, no_auto_signal_frm)},
    {"debug-syms-by-id", SWITCH, JEPROF, offsetof(struct asked, debug_syms_by_id)},
    ROW(test, SWITCH, BOTH),
    ROW(debug, SWITCH, BOTH),
    ROW(test_stride, INTEGER, BOTH),
    /* the Go tool's, whole names only, so that they take no beginnings from the old ones */
    {"top", SWITCH, GO, offsetof(struct asked, text)},
    ROW(tree, SWITCH, GO),
    ROW(traces, SWITCH, GO),
    ROW(proto, SWITCH, GO),
    ROW(peek, TEXT, GO),
    ROW(diff_base, TEXT, GO),
#undef ROW
};
#define N_ROWS (sizeof rows / sizeof *rows)

static void usage(const struct asked *a, FILE *out) {
    (void)fprintf(
        out,
        "usage:\n"
        "  %s [options] PROGRAM PROFILE...\n"
        "  %s [options] PROFILE...           a profile with symbols, or binaries where they ran\n\n"
        "output:       --text --collapsed --raw --dot --svg --pdf --ps --gif --tree --traces\n"
        "              --list=RE --peek=RE --proto --callgrind --symbols --interactive\n"
        "granularity:  --functions --lines --files --addresses\n"
        "heap:         --inuse_space --inuse_objects --alloc_space --alloc_objects --show_bytes\n"
        "              --drop_negative%s\n"
        "graph:        --nodecount=80 --nodefraction=.005 --edgefraction=.001 --maxdegree=8\n"
        "contention:   --total_delay --contentions\n"
        "difference:   --base=PROFILE\n"
        "stacks:       --focus=RE --ignore=RE%s\n"
        "              --cum --help --version\n\n"
        "This is Vitrine by its old name; 'vitrine help' has more.\n",
        a->name, a->name, a->is_jeprof ? " --thread=N" : "",
        a->is_jeprof ? " --retain=RE --exclude=RE (frames)" : "");
}

/* Says it as the old tool does, then the usage; the result is the exit status. */
__attribute__((format(printf, 2, 3))) static int usage_error(const struct asked *a,
                                                             const char *format, ...) {
    char line[300];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    (void)fprintf(stderr, "%s\n\n", line);
    usage(a, stderr);
    if (a->is_jeprof) (void)fprintf(stderr, "FATAL ERROR: %s\n", line);
    return 1;
}

static bool is_known(const struct asked *a, const struct row *r) {
    if (r->whose == PPROF) return !a->is_jeprof;
    if (r->whose == JEPROF) return a->is_jeprof;
    return true;
}

/* The option that `name` means; NULL: none. Several: *n_found counts them, `list` names them. */
static const struct row *match(const struct asked *a, const char *name, size_t n, unsigned *n_found,
                               char *list, size_t list_bytes) {
    const struct row *found = NULL;
    size_t used = 0;
    *n_found = 0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        const struct row *r = &rows[i];
        if (!is_known(a, r) || strncasecmp(r->name, name, n) != 0) continue;
        if (strlen(r->name) == n) {
            *n_found = 1;
            return r;
        }
        if (r->whose == GO) continue;
        found = r;
        used += (size_t)snprintf(list + used, used < list_bytes ? list_bytes - used : 0, "%s%s",
                                 (*n_found)++ ? ", " : "", r->name);
        if (used >= list_bytes) used = list_bytes - 1;
    }
    return found;
}

static bool set(const struct asked *a, const struct row *r, const char *value, bool is_on,
                int *status) {
    void *field = (char *)a + r->offset;
    char *end = NULL;
    switch (r->kind) {
    case SWITCH: *(int *)field = is_on; return true;
    case TEXT: *(const char **)field = value; return true;
    case INTEGER: *(int *)field = (int)strtol(value, &end, 10); break;
    case REAL: *(double *)field = strtod(value, &end); break;
    }
    if (end != value && *end == '\0') return true;
    *status = usage_error(a, "Value \"%s\" invalid for option %s (%s number expected)", value,
                          r->name, r->kind == REAL ? "real" : "");
    return false;
}

/* argv[*i] is an option; false after a message. */
static bool read_option(struct asked *a, int argc, char **argv, int *i, int *status) {
    const char *word = argv[*i] + (argv[*i][1] == '-' ? 2 : 1);
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    char list[300] = "";
    unsigned n_found;
    bool is_on = true;
    const struct row *r = match(a, word, n, &n_found, list, sizeof list);
    if (r == NULL && n > 2 && strncasecmp(word, "no", 2) == 0) { /* --nocum, --no-cum */
        size_t skip = word[2] == '-' || word[2] == '_' ? 3 : 2;
        is_on = false;
        if (n > skip) r = match(a, word + skip, n - skip, &n_found, list, sizeof list);
        if (r && r->kind != SWITCH) r = NULL;
    }
    if (n_found > 1) {
        *status = usage_error(a, "Option %.*s is ambiguous (%s)", (int)n, word, list);
        return false;
    }
    if (r == NULL) {
        *status = usage_error(a, "Unknown option: %.*s", (int)n, word);
        return false;
    }
    const char *value = equals ? equals + 1 : NULL;
    if (r->kind != SWITCH && value == NULL) {
        if (*i + 1 >= argc) {
            *status = usage_error(a, "Option %s requires an argument", r->name);
            return false;
        }
        value = argv[++*i];
    }
    return set(a, r, value, is_on, status);
}

static bool read_options(struct asked *a, int argc, char **argv, int *status) {
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

/* ---- what was asked for, as settings of ours */

static bool choose_output(const struct asked *a, enum output *out, int *status) {
    const struct {
        bool is_on;
        enum output out;
    } all[] = {
        {a->text, OUT_TEXT},       {a->collapsed, OUT_COLLAPSED},
        {a->raw, OUT_RAW},         {a->tree, OUT_TREE},
        {a->peek, OUT_PEEK},       {a->traces, OUT_TRACES},
        {a->proto, OUT_PROTO},     {a->callgrind, OUT_CALLGRIND},
        {a->dot, OUT_GRAPH},       {a->ps, OUT_GRAPH},
        {a->pdf, OUT_GRAPH},       {a->svg, OUT_GRAPH},
        {a->gif, OUT_GRAPH},       {a->gv, OUT_LATER},
        {a->evince, OUT_LATER},    {a->web, OUT_LATER},
        {a->list, OUT_LIST},       {a->disasm, OUT_LATER},
        {a->symbols, OUT_SYMBOLS}, {a->interactive, OUT_PROMPT},
    };
    unsigned n = 0;
    *out = isatty(1) ? OUT_PROMPT : OUT_TEXT;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is_on) {
            *out = all[i].out;
            n++;
        }
    if (n > 1) {
        *status = usage_error(a, "Only specify one output mode");
        return false;
    }
    if (*out == OUT_LATER || a->stacks || a->mean_delay) {
        say_error(
            "this output is not made yet; there are --text, --collapsed, --raw, --tree, --traces, "
            "--peek and --proto");
        *status = 1;
        return false;
    }
    return true;
}

static bool choose_by(const struct asked *a, struct settings *s, int *status) {
    s->by = a->lines ? "lines" : a->addresses ? "addresses" : a->files ? "files" : "functions";
    if (!!a->lines + !!a->addresses + !!a->files + !!a->functions <= 1) return true;
    *status = usage_error(a, "Only specify one output granularity option");
    return false;
}

/* The type whose values the old tool would show, once the profile's kind is known. */
static const char *type_for(const struct asked *a, const struct profile *p) {
    switch (p->kind) {
    case PROFILE_HEAP:
    case PROFILE_GROWTH:
        return a->alloc_space     ? "alloc_space"
               : a->alloc_objects ? "alloc_objects"
               : a->inuse_objects ? "inuse_objects"
                                  : "inuse_space";
    case PROFILE_CONTENTION: return a->contentions ? "contentions" : "delay";
    case PROFILE_CPU: return "samples";
    case PROFILE_OTHER: break;
    }
    return profile_text(p, p->types[p->default_type].name);
}

/* ---- the old table */

struct old_unit {
    double divisor;
    int decimals;
    const char *name;
};

static struct old_unit unit_for(const struct asked *a, const struct view *v) {
    if (strcmp(view_unit(v), "bytes") == 0)
        return a->show_bytes ? (struct old_unit){1, 0, "B"} : (struct old_unit){1048576, 1, "MB"};
    if (v->p->kind == PROFILE_CONTENTION && strcmp(view_unit(v), "nanoseconds") == 0)
        return (struct old_unit){1e9, 3, "seconds"};
    if (strstr(view_type(v), "objects")) return (struct old_unit){1, 0, "objects"};
    return (struct old_unit){1, 0, "samples"};
}

static const char *old_number(const struct old_unit *u, double value, char *out, size_t n_bytes) {
    if (u->decimals == 0)
        (void)snprintf(out, n_bytes, "%.0f", trunc(value) == 0 ? 0 : trunc(value));
    else
        (void)snprintf(out, n_bytes, "%.*f", u->decimals, value / u->divisor);
    return out;
}

static const char *old_percent(double value, double total, char *out, size_t n_bytes) {
    if (total != 0)
        (void)snprintf(out, n_bytes, "%.1f%%", 100 * value / total);
    else
        (void)snprintf(out, n_bytes, "%s", value == 0 ? "nan" : value > 0 ? "+inf" : "-inf");
    return out;
}

/* By value with its sign, then by name. */
static int by_old_order(const void *a, const void *b, void *context) {
    const struct view *v = context;
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    bool by_cum = v->options.sorts_by_cum;
    double x = by_cum ? v->nodes[m].cum : v->nodes[m].flat,
           y = by_cum ? v->nodes[n].cum : v->nodes[n].flat;
    if (x != y) return x > y ? -1 : 1;
    return strcmp(view_name(v, m), view_name(v, n));
}

static void put_text(const struct asked *a, const struct view *v, FILE *out) {
    struct old_unit u = unit_for(a, v);
    char flat[64], flat_share[32], sum_share[32], cum[64], cum_share[32];
    double sum = 0;
    if (v->total != 0 || a->tells_zero) {
        (void)fputs("Total", out);
        if (a->thread) (void)fprintf(out, " (t%s)", a->thread);
        (void)fprintf(out, ": %s %s\n", old_number(&u, v->total, flat, sizeof flat), u.name);
    }
    if (v->n_nodes > 1) qsort_r(v->order, v->n_nodes, sizeof *v->order, by_old_order, (void *)v);
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct view_node *n = &v->nodes[v->order[i]];
        if (a->n_max > 0 && i >= a->n_max) break;
        if (n->flat == 0 && n->cum == 0) continue;
        sum += n->flat;
        (void)fprintf(out, "%8s %6s %6s %8s %6s %s\n", old_number(&u, n->flat, flat, sizeof flat),
                      old_percent(n->flat, v->shown, flat_share, sizeof flat_share),
                      old_percent(sum, v->shown, sum_share, sizeof sum_share),
                      old_number(&u, n->cum, cum, sizeof cum),
                      old_percent(n->cum, v->shown, cum_share, sizeof cum_share),
                      view_name(v, v->order[i]));
    }
}

static int put_graph(const struct asked *a, const struct settings *s, const struct view *v,
                     FILE *out) {
    struct old_unit u = unit_for(a, v);
    const char *program = s->program ? s->program : s->files[0];
    struct view_dot_options o = {.title = program,
                                 .unit = {u.divisor, u.decimals, u.name},
                                 .max_nodes = a->nodecount > 0 ? (uint32_t)a->nodecount : 80,
                                 .max_degree = a->maxdegree > 0 ? (uint32_t)a->maxdegree : 8,
                                 .node_fraction = a->nodefraction,
                                 .edge_fraction = a->edgefraction,
                                 .for_paper = a->pdf,
                                 .for_screen = a->svg,
                                 .marks_leaks = a->heapcheck};
    double least_node = trunc(o.node_fraction * fabs(v->shown));
    double least_edge = trunc(o.edge_fraction * fabs(v->shown));
    char node[64], edge[64];
    if (least_node > 0 || least_edge > 0)
        (void)fprintf(stderr, "Dropping nodes with <= %s %s; edges with <= %s abs(%s)\n",
                      old_number(&u, least_node, node, sizeof node), u.name,
                      old_number(&u, least_edge, edge, sizeof edge), u.name);
    const char *format = a->svg ? "svg" : a->pdf ? "pdf" : a->ps ? "ps2" : a->gif ? "gif" : "dot";
    return graph_draw(v, &o, format, out) == EXIT_FINE ? 0 : 1;
}

/* At the prompt: "After focusing on 'X': 1.9 MB of 3.8 (50.0%)". */
static void tell_filters(const struct asked *a, const struct settings *s, const struct view *v,
                         FILE *out) {
    struct old_unit u = unit_for(a, v);
    char shown[64], total[64], share[32];
    (void)old_number(&u, v->shown, shown, sizeof shown);
    (void)old_number(&u, v->total, total, sizeof total);
    (void)old_percent(v->shown, v->total, share, sizeof share);
    if (s->focus)
        (void)fprintf(out, "After focusing on '%s': %s %s of %s (%s)\n", s->focus, shown, u.name,
                      total, share);
    if (s->ignore)
        (void)fprintf(out, "After ignoring '%s': %s %s of %s (%s)\n", s->ignore, shown, u.name,
                      total, share);
}

int pprof_report(const struct asked *a, enum output mode, struct settings *s, struct profile *p,
                 FILE *out) {
    struct view_options o;
    struct report_error e = {""};
    int status;
    s->type = type_for(a, p);
    if (mode == OUT_LIST || mode == OUT_CALLGRIND) s->by = "lines";
    if (!view_options_from(s, p, &o, &status)) return 1;
    o.marks_inlined = mode == OUT_TEXT || mode == OUT_GRAPH;
    struct view *v = view_new(p, &o, &e);
    if (v == NULL) {
        say_error("%s", e.line);
        return 1;
    }
    if (a->tells_zero) tell_filters(a, s, v, out);
    struct view_print how = {.out = out, .pattern = a->peek};
    status = 0;
    switch (mode) {
    case OUT_COLLAPSED: view_collapsed(v, &how); break;
    case OUT_LIST: {
        struct old_unit u = unit_for(a, v);
        struct view_list_options list = {.out = out,
                                         .pattern = a->list,
                                         .unit = {u.divisor, u.decimals, ""},
                                         .unit_name = u.name,
                                         .width = 6};
        status = view_list(v, &list, &e) == 0 ? 0 : 1;
        break;
    }
    case OUT_CALLGRIND: view_callgrind(v, out); break;
    case OUT_GRAPH: status = put_graph(a, s, v, out); break;
    case OUT_TRACES: view_traces(v, &how); break;
    case OUT_TREE:
    case OUT_PEEK: status = view_tree(v, &how, &e) == 0 ? 0 : 1; break;
    default: put_text(a, v, out); break;
    }
    if (status != 0 && e.line[0]) say_error("%s", e.line);
    view_free(v);
    return status;
}

/* A heap checker's way to have its addresses named: maps and addresses on stdin, a name per address on
 * stdout, in their order. */
static int put_symbols(const struct settings *s, FILE *out) {
    struct report_error e;
    struct profile *p;
    char name[4096];
    if (report_read_addresses("-", &p, &e) != 0) {
        say_error("%s", e.line);
        return 1;
    }
    struct symbols_options o = {.program = s->files[0]};
    symbols_resolve(p, &o);
    const struct profile_stack *stack = &p->stacks[p->samples[0].stack];
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct profile_location *l = &p->locations[p->frames[stack->first + i]];
        const char *function = "??";
        if (l->n_lines > 0) { /* the function that code belongs to, not what is inlined there */
            const struct profile_line *line = &p->lines[l->first_line + l->n_lines - 1];
            function = profile_text(p, p->functions[line->function].name);
        }
        (void)fprintf(out, "%s\n", name_shorten(function, name, sizeof name));
    }
    profile_free(p);
    return output_close(s, out) == EXIT_FINE ? 0 : 1;
}

static int run(struct asked *a, enum output mode, struct settings *s) {
    if (mode == OUT_SYMBOLS) return put_symbols(s, stdout);
    for (uint32_t i = 0; i < s->n_files; i++)
        (void)fprintf(stderr, "Using local file %s.\n", s->files[i]);
    struct profile *p = load_profiles(s);
    if (p == NULL) return 1;
    int status = 0;
    if (mode == OUT_PROMPT)
        status = pprof_prompt(a, s, p);
    else if (mode == OUT_RAW)
        profile_write_symbolized(p, stdout, s->program ? s->program : "unknown");
    else if (mode == OUT_PROTO)
        (void)profile_write_proto(p, stdout);
    else
        status = pprof_report(a, mode, s, p, stdout);
    profile_free(p);
    return output_close(s, stdout) != EXIT_FINE ? 1 : status;
}

int dialect_pprof(const char *name, int argc, char **argv) {
    struct asked a = {.name = name,
                      .is_jeprof = strcmp(name, "jeprof") == 0,
                      .nodefraction = .005,
                      .edgefraction = .001};
    struct settings s = {0};
    enum output mode;
    int status = 1;
    said_by = name;
    if (!read_options(&a, argc, argv, &status)) goto out;
    status = 0;
    if (a.help) {
        usage(&a, stdout);
    } else if (a.version) {
        (void)printf("%s (part of vitrine %s)\n", name, VITRINE_VERSION);
    } else if (a.n_rest == 0) {
        status = usage_error(&a, "Did not specify program");
    } else if (choose_output(&a, &mode, &status) && choose_by(&a, &s, &status)) {
        s.files = a.rest;
        s.n_files = a.n_rest;
        s.base = a.base ? a.base : a.diff_base;
        s.thread = a.thread;
        s.focus = a.focus;
        s.ignore = a.ignore;
        s.show = a.retain;
        s.hide = a.exclude;
        s.drop_negative = a.drop_negative;
        s.cum = a.cum;
        s.full_names = a.no_strip_temp || mode == OUT_COLLAPSED;
        status = run(&a, mode, &s);
    }
out:
    free(a.rest);
    return status;
}
