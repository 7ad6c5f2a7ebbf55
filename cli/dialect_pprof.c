/* dialect_pprof.c - the command by its old names: pprof, google-pprof (gperftools) and jeprof (jemalloc).
 *
 * Options and columns are the old ones. What is better than it was: an address is never given the nearest name but
 * binary+0xoffset; the line of an allocation is the call's, not the one after it; differences meet by symbol, not by
 * raw address; a file that does not exist is called so. docs/report.md has the list.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vitrine.h>

#include "report/names.h"
#include "report/read.h"
#include "report/symbols.h"
#include "report/text.h"
#include "report/threads.h"

/* ---- what was asked for */

/* Each output option: what it makes, of which picture, shown by whom. */
struct output_row {
    bool is_on;
    enum output mode;
    const char *picture;
    enum viewer viewer;
};

static bool choose_output(struct asked *a, int *status) {
    const struct output_row all[] = {
        {a->text || a->stacks, OUT_TEXT, NULL, VIEWER_NONE},
        {a->collapsed, OUT_COLLAPSED, NULL, VIEWER_NONE},
        {a->raw, OUT_RAW, NULL, VIEWER_NONE},
        {a->tree, OUT_TREE, NULL, VIEWER_NONE},
        {a->peek, OUT_PEEK, NULL, VIEWER_NONE},
        {a->traces, OUT_TRACES, NULL, VIEWER_NONE},
        {a->tags, OUT_TAGS, NULL, VIEWER_NONE},
        {a->comments, OUT_COMMENTS, NULL, VIEWER_NONE},
        {a->proto, OUT_PROTO, NULL, VIEWER_NONE},
        {a->topproto, OUT_TOPPROTO, NULL, VIEWER_NONE},
        {a->symbols, OUT_SYMBOLS, NULL, VIEWER_NONE},
        {a->list, OUT_LIST, NULL, VIEWER_NONE},
        {a->weblist, OUT_LIST, NULL, VIEWER_WEB},
        {a->disasm, OUT_DISASM, NULL, VIEWER_NONE},
        {a->callgrind, OUT_CALLGRIND, NULL, VIEWER_NONE},
        {a->kcachegrind, OUT_CALLGRIND, NULL, VIEWER_KCACHEGRIND},
        {a->dot, OUT_GRAPH, "dot", VIEWER_NONE},
        {a->ps, OUT_GRAPH, "ps2", VIEWER_NONE},
        {a->pdf, OUT_GRAPH, "pdf", VIEWER_NONE},
        {a->svg, OUT_GRAPH, "svg", VIEWER_NONE},
        {a->gif, OUT_GRAPH, "gif", VIEWER_NONE},
        {a->png, OUT_GRAPH, "png", VIEWER_NONE},
        {a->gv, OUT_GRAPH, "ps2", VIEWER_GV},
        {a->evince, OUT_GRAPH, "pdf", VIEWER_EVINCE},
        {a->web, OUT_GRAPH, "svg", VIEWER_WEB},
        {a->eog, OUT_GRAPH, "png", VIEWER_EOG},
        {a->interactive, OUT_PROMPT, NULL, VIEWER_NONE},
    };
    unsigned n = 0;
    a->mode = isatty(1) && !a->output ? OUT_PROMPT : OUT_TEXT;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].is_on) continue;
        a->mode = all[i].mode;
        a->picture = all[i].picture;
        a->viewer = all[i].viewer;
        n++;
    }
    if (a->weblist) a->list = a->weblist;
    if (n <= 1) return true;
    *status = pprof_usage_error(a, "Only specify one output mode");
    return false;
}

static bool check_conflicts(const struct asked *a, int *status) {
    if (!!a->lines + !!a->addresses + !!a->files + !!a->functions + !!a->filefunctions > 1)
        *status = pprof_usage_error(a, "Only specify one output granularity option");
    else if (!!a->inuse_space + !!a->inuse_objects + !!a->alloc_space + !!a->alloc_objects > 1)
        *status = pprof_usage_error(a, "Only specify one of --inuse_space, --inuse_objects, "
                                       "--alloc_space and --alloc_objects");
    else if (a->n_rest > 0 && (a->lines || a->disasm) && load_is_remote(a->rest[0]))
        *status = pprof_usage_error(a, "--%s cannot be used without a binary",
                                    a->lines ? "lines" : "disasm");
    else if (a->bases[0] && a->diff_bases[0])
        *status = pprof_usage_error(a, "-base and -diff_base flags cannot both be specified");
    else if (a->sort && strcmp(a->sort, "flat") != 0 && strcmp(a->sort, "cum") != 0)
        *status = pprof_usage_error(a, "Option sort is flat or cum, not '%s'", a->sort);
    else
        return true;
    return false;
}

/* The type whose values the old tool would show, once the profile's kind is known. */
const char *pprof_type(const struct asked *a, const struct profile *p) {
    if (a->sample_index) {
        char *end;
        unsigned long i = strtoul(a->sample_index, &end, 10);
        bool is_number = end != a->sample_index && *end == '\0' && i < p->n_types;
        return is_number ? profile_text(p, p->types[i].name) : a->sample_index;
    }
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

/* What the values of a type are counted by, for means; NULL: nothing. */
static const char *count_of(const char *type) {
    static const char *const pairs[][2] = {
        {"inuse_space", "inuse_objects"}, {"alloc_space", "alloc_objects"}, {"space", "objects"},
        {"peak_space", "peak_objects"},   {"delay", "contentions"},         {"cpu", "samples"}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0], type) == 0) return pairs[i][1];
    return NULL;
}

/* ---- reports */

static int put_graph(const struct asked *a, const struct settings *s, const struct view *v,
                     FILE *out) {
    struct old_unit u = pprof_unit(a, v);
    const char *program = s->program                                ? s->program
                          : s->remote_program && *s->remote_program ? s->remote_program
                                                                    : s->files[0];
    struct view_dot_options o = {.title = program,
                                 .unit = {u.divisor, u.decimals, u.name, NULL},
                                 .max_nodes = a->nodecount > 0 ? (uint32_t)a->nodecount
                                              : a->trim        ? 80
                                                               : UINT32_MAX,
                                 .max_degree = a->maxdegree > 0 ? (uint32_t)a->maxdegree : 8,
                                 .node_fraction = a->trim ? a->nodefraction : 0,
                                 .edge_fraction = a->trim ? a->edgefraction : 0,
                                 .for_paper = strcmp(a->picture, "pdf") == 0,
                                 .for_screen = strcmp(a->picture, "svg") == 0,
                                 .is_compact = a->compact_labels,
                                 .marks_leaks = a->heapcheck};
    o.whole = pprof_whole(v);
    double least_node = trunc(o.node_fraction * fabs(o.whole));
    double least_edge = trunc(o.edge_fraction * fabs(o.whole));
    char node[64], edge[64];
    if (least_node > 0 || least_edge > 0)
        (void)fprintf(stderr, "Dropping nodes with <= %s %s; edges with <= %s abs(%s)\n",
                      pprof_number(&u, least_node, node, sizeof node), u.name,
                      pprof_number(&u, least_edge, edge, sizeof edge), u.name);
    return graph_draw(v, &o, a->picture, out) == EXIT_FINE ? 0 : 1;
}

/* A table of means wants the counts beside the values. */
static int put_table(const struct asked *a, const struct view *v, FILE *out,
                     struct report_error *e) {
    if (!a->mean) {
        pprof_put_text(a, v, NULL, out);
        return 0;
    }
    const char *count = count_of(view_type(v));
    struct view_options o = v->options;
    o.type = count ? profile_find_type(v->p, count) : PROFILE_NONE;
    if (o.type == PROFILE_NONE)
        return report_fail(e, EINVAL, "no mean of '%s': nothing counts it", view_type(v));
    struct view *per = view_new(v->p, &o, e);
    if (per == NULL) return -EINVAL;
    pprof_put_text(a, v, per, out);
    view_free(per);
    return 0;
}

static int put_source(const struct asked *a, const struct settings *s, struct view *v, FILE *out,
                      struct report_error *e) {
    struct old_unit u = pprof_unit(a, v);
    bool is_disasm = a->mode == OUT_DISASM;
    struct symbols_options symbols = symbols_from(s);
    struct view_list_options list = {.out = out,
                                     .pattern = is_disasm ? a->disasm : a->list,
                                     .unit = {u.divisor, u.decimals, "", NULL},
                                     .unit_name = u.name,
                                     .width = 6,
                                     .search = s->search,
                                     .is_intel = s->is_intel,
                                     .is_old = true,
                                     .symbols = &symbols};
    if (is_disasm) return view_disasm(v, &list, &symbols, e);
    return view_list(v, &list, e);
}

/* The listing as a page. */
static int put_page(const struct asked *a, const struct settings *s, struct view *v, FILE *out,
                    struct report_error *e) {
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (memory == NULL) return report_fail(e, errno, "cannot make a page: %s", strerror(errno));
    int error = put_source(a, s, v, memory, e);
    (void)fclose(memory);
    if (error == 0) {
        (void)fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", out);
        text_xml(out, a->list);
        (void)fputs("</title></head>\n<body><pre>\n", out);
        for (char *line = text, *next; *line; line = next) {
            next = strchrnul(line, '\n');
            if (*next) *next++ = '\0';
            text_xml(out, line);
            (void)fputc('\n', out);
        }
        (void)fputs("</pre></body></html>\n", out);
    }
    free(text);
    return error;
}

static int put_view(const struct asked *a, const struct settings *s, struct view *v, FILE *out) {
    struct report_error e = {.line = ""};
    struct view_print how = {.out = out, .pattern = a->peek};
    if (a->mode == OUT_TREE && a->nodecount > 0) how.n_max = (uint32_t)a->nodecount;
    int error = 0, status = 0;
    switch (a->mode) {
    case OUT_COLLAPSED: view_collapsed(v, &how); break;
    case OUT_LIST:
        error = a->weblist ? put_page(a, s, v, out, &e) : put_source(a, s, v, out, &e);
        break;
    case OUT_DISASM: error = put_source(a, s, v, out, &e); break;
    case OUT_CALLGRIND: view_callgrind(v, out); break;
    case OUT_GRAPH: status = put_graph(a, s, v, out); break;
    case OUT_TRACES: view_traces(v, &how); break;
    case OUT_TAGS: error = view_tags(v, &how, &e); break;
    case OUT_TOPPROTO: status = profile_write_top(v, out) == 0 ? 0 : 1; break;
    case OUT_TREE:
    case OUT_PEEK: error = view_peek(v, &how, &e); break;
    default: error = put_table(a, v, out, &e); break;
    }
    if (error != 0) say_error("%s", e.line);
    return error != 0 ? 1 : status;
}

/* The filters count in a profile that is written, too; afterwards it is what it was, for the prompt's next line. */
static int put_proto(const struct settings *s, struct profile *p, FILE *out) {
    struct view_options o;
    struct report_error e = {.line = ""};
    int status;
    if (!view_options_from(s, p, &o, &status)) return 1;
    uint32_t n_samples = p->n_samples, n_values = p->n_values;
    struct profile_sample *samples = report_alloc(n_samples * sizeof *samples);
    double *values = report_alloc(n_values * sizeof *values);
    if (n_samples > 0) memcpy(samples, p->samples, n_samples * sizeof *samples);
    if (n_values > 0) memcpy(values, p->values, n_values * sizeof *values);
    bool is_filtered = profile_filter(p, &o, &e) == 0;
    if (!is_filtered) say_error("%s", e.line);
    bool is_written = is_filtered && profile_write_proto(p, out) == 0;
    if (n_samples > 0) memcpy(p->samples, samples, n_samples * sizeof *samples);
    if (n_values > 0) memcpy(p->values, values, n_values * sizeof *values);
    p->n_samples = n_samples;
    p->n_values = n_values;
    free(samples);
    free(values);
    return is_written ? 0 : 1;
}

/* Is it no text? */
static bool is_binary(const struct asked *a, const struct profile *p) {
    switch (a->mode) {
    case OUT_RAW: return p->kind != PROFILE_HEAP && p->kind != PROFILE_GROWTH;
    case OUT_PROTO:
    case OUT_TOPPROTO: return true;
    case OUT_GRAPH: return strcmp(a->picture, "dot") != 0 && strcmp(a->picture, "svg") != 0;
    default: return false;
    }
}

static int put_report(const struct asked *a, struct settings *s, struct profile *p, FILE *out) {
    struct view_options o;
    struct report_error e = {.line = ""};
    int status;
    if (is_binary(a, p) && !output_takes_bytes(out)) return 1;
    switch (a->mode) {
    case OUT_RAW:
        profile_write_symbolized(p, out,
                                 s->program                                ? s->program
                                 : s->remote_program && *s->remote_program ? s->remote_program
                                                                           : "unknown");
        return 0;
    case OUT_PROTO: return put_proto(s, p, out);
    case OUT_COMMENTS:
        for (uint32_t i = 0; i < p->n_comments; i++)
            (void)fprintf(out, "%s\n", text_shown(profile_text(p, p->comments[i])));
        return 0;
    case OUT_LIST:
    case OUT_CALLGRIND: s->by = "lines"; break;
    case OUT_DISASM:
        s->by = "addresses";
        s->no_inlines = true;
        break;
    default: break;
    }
    s->type = pprof_type(a, p);
    if (!view_options_from(s, p, &o, &status)) return 1;
    o.marks_inlined = a->mode == OUT_TEXT || a->mode == OUT_GRAPH;
    o.by_path = s->by_path && a->mode == OUT_GRAPH;
    struct view *v = view_new(p, &o, &e);
    if (v == NULL) {
        say_error("%s", e.line);
        return 1;
    }
    if (a->is_prompt) pprof_tell_filters(a, s, v, stdout);
    status = put_view(a, s, v, out);
    view_free(v);
    return status;
}

/* To a file, and the file to a viewer. Where the program is missing and the output goes to a file, as in
 * `pprof --gv app x.heap > x.ps`, it goes there. */
static int show_report(const struct asked *a, struct settings *s, struct profile *p) {
    char path[4096];
    if (!a->no_browser && !isatty(1) && !a->is_prompt && !viewer_is_there(a->viewer)) {
        say_warning("there is no viewer for it here; it goes to standard output");
        return output_finish(s, stdout, put_report(a, s, p, stdout)) == EXIT_FINE ? 0 : 1;
    }
    FILE *out = viewer_file(a, path, sizeof path);
    if (out == NULL) return 1;
    int status = put_report(a, s, p, out);
    if (fclose(out) != 0) {
        say_error("cannot write '%s': %s", path, strerror(errno));
        status = 1;
    }
    if (status == 0) return viewer_show(a, path);
    (void)unlink(path);
    return status;
}

int pprof_report(const struct asked *a, struct settings *s, struct profile *p) {
    if (a->viewer != VIEWER_NONE) return show_report(a, s, p);
    FILE *out = output_open(s);
    if (out == NULL) return 1;
    return output_finish(s, out, put_report(a, s, p, out)) == EXIT_FINE ? 0 : 1;
}

/* A heap checker's way to have its addresses named: maps and addresses on stdin, a name per address on
 * stdout, in their order. */
static int put_symbols(const struct settings *s, FILE *out) {
    struct report_error e;
    struct profile *p;
    char name[4096];
    if (report_read_addresses("-", s->limit, &p, &e) != 0) {
        say_error("%s", e.line);
        return 1;
    }
    struct symbols_options o = symbols_from(s);
    o.program = s->files[0];
    symbols_resolve(p, &o);
    const struct profile_stack *stack = &p->stacks[p->samples[0].stack];
    for (uint32_t i = 0; i < stack->n; i++) {
        const struct profile_location *l = &p->locations[p->frames[stack->first + i]];
        const char *function = "??";
        if (l->n_lines > 0) { /* the function that code belongs to, not what is inlined there */
            const struct profile_line *line = &p->lines[l->first_line + l->n_lines - 1];
            function = profile_text(p, p->functions[line->function].name);
        }
        (void)fprintf(out, "%s\n", text_shown(name_shorten(function, name, sizeof name)));
    }
    profile_free(p);
    return output_close(s, out) == EXIT_FINE ? 0 : 1;
}

/* ---- the whole */

static void tell_sampling(const struct profile *p) {
    if (p->heap_version == 0) return;
    if (p->period == 128 * 1024) /* also what is assumed when the file does not say */
        (void)fputs("Adjusting heap profiles for 1-in-128KB sampling rate\n", stderr);
    else
        (void)fprintf(stderr, "Adjusting heap profiles for 1-in-%lld sampling rate\n",
                      (long long)p->period);
    if (p->heap_version == 2) (void)fputs("Heap version 2\n", stderr);
}

/* ---- each thread by itself */

struct each_thread {
    const struct asked *asked;
    const struct settings *settings;
    bool is_any;
};

static int report_thread(struct profile *part, int64_t thread, void *context) {
    struct each_thread *each = context;
    struct asked a = *each->asked;
    struct settings s = *each->settings;
    char number[24];
    (void)snprintf(number, sizeof number, "%" PRId64, thread);
    a.thread = s.thread = number;
    each->is_any = true;
    return pprof_report(&a, &s, part);
}

static int report_threads(const struct asked *a, struct settings *s, struct profile *p) {
    struct each_thread each = {.asked = a, .settings = s};
    int status = threads_each(p, report_thread, &each);
    if (!each.is_any) say_warning("no thread is counted in '%s'", s->files[s->n_files - 1]);
    return status;
}

static int load_and_report(const struct asked *a, struct settings *s) {
    struct profile *p = load_profiles(s);
    if (p == NULL) return 1;
    if (a->add_comment)
        *REPORT_PUSH(p->comments, p->n_comments, p->cap_comments) =
            profile_string(p, a->add_comment);
    tell_sampling(p);
    int status = s->is_by_thread         ? report_threads(a, s, p)
                 : a->mode == OUT_PROMPT ? pprof_prompt(a, s, p)
                                         : pprof_report(a, s, p);
    profile_free(p);
    return status;
}

static int run(struct asked *a, struct settings *s) {
    uint32_t n_remote = 0;
    if (a->mode == OUT_SYMBOLS) return put_symbols(s, stdout);
    for (uint32_t i = 0; i < s->n_files; i++) {
        bool is_remote = load_is_remote(s->files[i]);
        n_remote += is_remote;
        if (!is_remote)
            (void)fprintf(stderr, "Using local file %s.\n", text_shown(s->files[i]));
        else if (!a->is_jeprof)
            (void)fprintf(stderr, "Using remote profile at %s.\n", text_shown(s->files[i]));
    }
    if (n_remote > 1) (void)fprintf(stderr, "Fetching %u profiles, Be patient...\n", n_remote);
    s->is_by_thread = a->thread && strcmp(a->thread, "*") == 0 && a->mode != OUT_PROMPT;
    int status = load_and_report(a, s);
    if (s->saved && status == 0)
        (void)fprintf(stderr,
                      "Dynamically gathered profile is in %s\n"
                      "If you want to investigate this profile further, you can do:\n\n"
                      "  %s \\\n    %s \\\n    %s\n\n",
                      text_shown(s->saved), a->name,
                      s->program                                ? text_shown(s->program)
                      : s->remote_program && *s->remote_program ? text_shown(s->remote_program)
                                                                : "PROGRAM",
                      text_shown(s->saved));
    return status;
}

/* Where fetched profiles are kept: $PPROF_TMPDIR or ~/pprof, $JEPROF_TMPDIR or ~/jeprof. Malloc'ed. */
static char *save_folder(const struct asked *a) {
    const char *folder = getenv(a->is_jeprof ? "JEPROF_TMPDIR" : "PPROF_TMPDIR"),
               *home = getenv("HOME");
    char *path = NULL;
    if (folder && *folder) return report_copy(folder, strlen(folder));
    if (asprintf(&path, "%s/%s", home && *home ? home : "/tmp", a->is_jeprof ? "jeprof" : "pprof") <
        0)
        report_no_memory();
    return path;
}

/* "name@3/path" is 0.name/path 1.name/path 2.name/path. *text holds what the new names are made of. */
static void expand_farms(struct asked *a, char ***made, uint32_t *n_made) {
    uint32_t cap = 0, cap_made = 0, n = 0;
    const char **files = NULL;
    REPORT_ROOM(files, 0, cap, a->n_rest + 1);
    for (uint32_t i = 0; i < a->n_rest; i++) {
        const char *at = strrchr(a->rest[i], '@');
        char *end = NULL;
        unsigned long count = at ? strtoul(at + 1, &end, 10) : 0;
        bool is_farm = at && end != at + 1 && (*end == '/' || *end == '\0') && count > 0 &&
                       count <= 1000 && access(a->rest[i], F_OK) != 0;
        for (unsigned long k = 0; is_farm && k < count; k++) {
            char *name = NULL;
            if (asprintf(&name, "%lu.%.*s%s", k, (int)(at - a->rest[i]), a->rest[i], end) < 0)
                report_no_memory();
            *REPORT_PUSH(*made, *n_made, cap_made) = name;
            *REPORT_PUSH(files, n, cap) = name;
        }
        if (!is_farm) *REPORT_PUSH(files, n, cap) = a->rest[i];
    }
    free(a->rest);
    a->rest = files;
    a->n_rest = n;
}

static bool is_plain(char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t put_query(char *out, size_t n_bytes, const char *key, const char *value) {
    size_t n = (size_t)snprintf(out, n_bytes, "%s=", key);
    for (; *value && n + 4 < n_bytes; value++)
        n += (size_t)snprintf(out + n, n_bytes - n, is_plain(*value) ? "%c" : "%%%02X",
                              (unsigned char)*value);
    return n;
}

/* jeprof sends its frame filters to the server: ?retain=RE&exclude=RE */
static const char *symbol_query(const struct asked *a, char *out, size_t n_bytes) {
    size_t n = 1;
    if (!a->is_jeprof || (!a->show && !a->hide)) return NULL;
    out[0] = '?';
    out[1] = '\0';
    if (a->show) n += put_query(out + n, n_bytes - n, "retain", a->show);
    if (a->show && a->hide && n + 1 < n_bytes) out[n++] = '&';
    if (a->hide) (void)put_query(out + n, n_bytes - n, "exclude", a->hide);
    return out;
}

void pprof_apply(const struct asked *a, struct settings *s) {
    const char *by = a->lines           ? "lines"
                     : a->addresses     ? "addresses"
                     : a->files         ? "files"
                     : a->filefunctions ? "filefunctions"
                                        : "functions";
    s->focus = a->focus;
    s->ignore = a->ignore;
    s->show = a->show;
    s->hide = a->hide;
    s->show_from = a->show_from;
    s->prune_from = a->prune_from;
    s->tag_focus = a->tag_focus;
    s->tag_ignore = a->tag_ignore;
    s->tag_show = a->tag_show;
    s->tag_hide = a->tag_hide;
    s->by = a->granularity ? a->granularity : by;
    s->by_path = a->call_tree;
    s->cum = (a->cum && !a->flat) || (a->sort && strcmp(a->sort, "cum") == 0);
    s->no_inlines = a->noinlines;
    s->all_frames = a->all_frames;
    s->drop_negative = a->drop_negative;
    s->of = a->relative ? "rest" : a->diff_bases[0] ? "base" : NULL;
    s->shows_address = a->show_addresses;
    s->shows_columns = a->showcolumns;
    s->is_intel = a->intel_syntax;
    s->search = (struct source_search){.folders = a->source_path, .trim = a->trim_path};
    s->output = a->output;
}

static struct settings settings_from(const struct asked *a) {
    struct settings s = {
        .files = a->rest,
        .n_files = a->n_rest,
        .thread = a->thread,
        .tag_root = a->tag_root,
        .tag_leaf = a->tag_leaf,
        .build_id = a->buildid,
        .timeout_s = a->timeout > 0 ? (uint32_t)a->timeout : 0,
        .tls = {.certificate = a->tls_cert, .key = a->tls_key, .authority = a->tls_ca},
        .is_old_name = true,
        .full_names = a->no_strip_temp || a->mode == OUT_COLLAPSED,
        .n_seconds = a->seconds > 0 ? (uint32_t)a->seconds : 0,
        .lib_prefix = a->lib_prefix,
        .add_lib = a->add_lib,
        .normalizes = a->normalize,
        .keeps_handler = a->keeps_handler,
    };
    memcpy(s.bases, a->diff_bases[0] ? a->diff_bases : a->bases, sizeof s.bases);
    pprof_apply(a, &s);
    return s;
}

/* Words with colons between, as Go's pprof takes them; false after a message. */
static bool read_symbolize(const struct asked *a, struct settings *s, int *status) {
    static const struct {
        const char *word;
        size_t field; /* of the settings, that becomes true; 0: it is so anyway */
    } rows[] = {{"none", offsetof(struct settings, no_symbols)},
                {"local", 0},
                {"fastlocal", 0},
                {"remote", 0},
                {"force", 0},
                {"demangle=default", 0},
                {"demangle=templates", offsetof(struct settings, full_names)},
                {"demangle=full", offsetof(struct settings, full_names)},
                {"demangle=none", offsetof(struct settings, mangled_names)}};
    for (const char *at = a->symbolize ? a->symbolize : ""; *at; at += strspn(at, ":")) {
        size_t n = strcspn(at, ":"), i = 0;
        while (i < sizeof rows / sizeof *rows &&
               (strlen(rows[i].word) != n || strncmp(rows[i].word, at, n) != 0))
            i++;
        if (i == sizeof rows / sizeof *rows) {
            *status = pprof_usage_error(a,
                                        "Option symbolize is none, local, fastlocal, remote, force "
                                        "or demangle=full, templates, default, none; not '%.*s'",
                                        (int)n, at);
            return false;
        }
        if (rows[i].field) *(bool *)((char *)s + rows[i].field) = true;
        at += n;
    }
    return true;
}

static bool read_limit(const struct asked *a, struct settings *s, int *status) {
    if (a->limit == NULL || limit_read(a->limit, &s->limit)) return true;
    *status =
        pprof_usage_error(a, "Option limit is a number of bytes such as 512M, not '%s'", a->limit);
    return false;
}

int dialect_pprof(const char *name, int argc, char **argv) {
    struct asked a = {.name = name,
                      .is_jeprof = strcmp(name, "jeprof") == 0,
                      .nodefraction = .005,
                      .trim = true,
                      .edgefraction = .001};
    char **made = NULL, query[2000], *folder = NULL;
    uint32_t n_made = 0;
    int status = 1;
    said_by = name;
    if (!pprof_read_options(&a, argc, argv, &status)) goto out;
    status = 0;
    if (a.help) {
        pprof_help(&a, stdout);
    } else if (a.version) {
        (void)printf("%s (part of vitrine %s)\n", name, VITRINE_VERSION);
    } else if (a.n_rest == 0) {
        status = pprof_usage_error(&a, "Did not specify program");
    } else if (choose_output(&a, &status) && check_conflicts(&a, &status)) {
        expand_farms(&a, &made, &n_made);
        struct settings s = settings_from(&a);
        s.symbol_query = symbol_query(&a, query, sizeof query);
        s.save_folder = folder = save_folder(&a);
        if (read_limit(&a, &s, &status) && read_symbolize(&a, &s, &status)) status = run(&a, &s);
        free(s.saved);
        free(s.remote_program);
    }
out:
    for (uint32_t i = 0; i < n_made; i++) free(made[i]);
    free(made);
    free(folder);
    free(a.rest);
    return status;
}
