/* write_firefox.c - the Firefox Profiler's processed profile, version 46: one thread whose tables are columns.
 *
 *   samples.stack ---> stackTable (a tree: prefix is the caller) ---> frameTable ---> funcTable ---> stringArray
 *
 * Our call tree is its stackTable, a node is a frame and a function. A profile has no times of its samples, so the timeline
 * is made up: one sample after another, each as long as the interval.   Climate: cli.
 */
#include "report/call_tree.h"
#include "report/text.h"
#include "report/views.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 1000

struct writing {
    const struct view *v;
    struct call_tree tree;
    FILE *out;
};

/* ---- columns */

/* "name":[x,x,x] of n times the same */
static void put_same(const struct writing *w, const char *name, const char *value, uint32_t n) {
    (void)fprintf(w->out, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++) (void)fprintf(w->out, "%s%s", i ? "," : "", value);
    (void)fputs("],", w->out);
}

static void put_count(const struct writing *w, const char *name, uint32_t n) {
    (void)fprintf(w->out, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++) (void)fprintf(w->out, "%s%u", i ? "," : "", i);
    (void)fputs("],", w->out);
}

/* ---- tables */

/* What the weights are, and by what ours are divided. */
static const char *weight_type(const struct view *v, double *divisor) {
    static const struct {
        const char *unit, *type;
        double divisor;
    } rows[] = {{"bytes", "bytes", 1},
                {"nanoseconds", "tracing-ms", 1e6},
                {"microseconds", "tracing-ms", 1e3},
                {"milliseconds", "tracing-ms", 1}};
    *divisor = 1;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].unit, view_unit(v)) == 0) {
            *divisor = rows[i].divisor;
            return rows[i].type;
        }
    return "samples";
}

static void put_samples(const struct writing *w) {
    double divisor;
    const char *type = weight_type(w->v, &divisor), *between = "";
    uint32_t n = 0;
    (void)fprintf(w->out, "\"samples\":{\"weightType\":\"%s\",\"stack\":[", type);
    for (uint32_t i = 1; i < w->tree.n; i++) {
        if (w->tree.all[i].self == 0) continue;
        (void)fprintf(w->out, "%s%u", n++ ? "," : "", i - 1);
    }
    (void)fputs("],\"weight\":[", w->out);
    for (uint32_t i = 1; i < w->tree.n; i++) {
        if (w->tree.all[i].self == 0) continue;
        (void)fputs(between, w->out);
        between = ",";
        json_number(w->out, w->tree.all[i].self / divisor);
    }
    (void)fputs("],", w->out);
    put_count(w, "time", n);
    (void)fprintf(w->out, "\"length\":%u},\n", n);
}

static void put_stacks(const struct writing *w) {
    uint32_t n = w->tree.n - 1;
    (void)fputs("\"stackTable\":{\"frame\":[", w->out);
    for (uint32_t i = 0; i < n; i++)
        (void)fprintf(w->out, "%s%u", i ? "," : "", w->tree.all[i + 1].node);
    (void)fputs("],\"prefix\":[", w->out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = w->tree.all[i + 1].parent;
        if (i > 0) (void)fputc(',', w->out);
        if (parent == 0)
            (void)fputs("null", w->out);
        else
            (void)fprintf(w->out, "%u", parent - 1);
    }
    (void)fputs("],", w->out);
    put_same(w, "category", "0", n);
    put_same(w, "subcategory", "0", n);
    (void)fprintf(w->out, "\"length\":%u},\n", n);
}

static void put_frames(const struct writing *w) {
    uint32_t n = w->v->n_nodes;
    (void)fputs("\"frameTable\":{", w->out);
    put_same(w, "address", "-1", n);
    put_same(w, "inlineDepth", "0", n);
    put_same(w, "category", "0", n);
    put_same(w, "subcategory", "0", n);
    put_count(w, "func", n);
    put_same(w, "nativeSymbol", "null", n);
    put_same(w, "innerWindowID", "null", n);
    put_same(w, "implementation", "null", n);
    (void)fputs("\"line\":[", w->out);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) (void)fputc(',', w->out);
        if (w->v->nodes[i].line)
            (void)fprintf(w->out, "%u", w->v->nodes[i].line);
        else
            (void)fputs("null", w->out);
    }
    (void)fputs("],", w->out);
    put_same(w, "column", "null", n);
    (void)fprintf(w->out, "\"length\":%u},\n", n);
}

/* The source file of a node as a string of the profile; 0: unknown. */
static uint32_t file_of(const struct view *v, uint32_t node) {
    uint32_t function = v->nodes[node].function;
    return function == PROFILE_NONE ? 0 : v->p->functions[function].file;
}

/* Each string is there once: the names of the nodes, then their files. */
static void put_functions(const struct writing *w) {
    uint32_t n = w->v->n_nodes, n_strings = n;
    uint32_t *number = report_alloc(w->v->p->n_strings * sizeof *number); /* plus one; 0: not yet */
    for (uint32_t i = 0; i < n; i++) number[w->v->nodes[i].name] = i + 1;
    (void)fputs("\"funcTable\":{", w->out);
    put_count(w, "name", n);
    put_same(w, "isJS", "false", n);
    put_same(w, "relevantForJS", "false", n);
    put_same(w, "resource", "-1", n);
    (void)fputs("\"fileName\":[", w->out);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t file = file_of(w->v, i);
        if (file != 0 && number[file] == 0) number[file] = ++n_strings;
        if (i > 0) (void)fputc(',', w->out);
        if (file != 0)
            (void)fprintf(w->out, "%u", number[file] - 1);
        else
            (void)fputs("null", w->out);
    }
    (void)fputs("],", w->out);
    put_same(w, "lineNumber", "null", n);
    put_same(w, "columnNumber", "null", n);
    (void)fprintf(w->out, "\"length\":%u},\n\"stringArray\":[", n);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) (void)fputs(",\n", w->out);
        text_json(w->out, view_name(w->v, i));
    }
    for (uint32_t i = 0; i < n; i++) { /* in the order in which they were numbered */
        uint32_t file = file_of(w->v, i);
        if (file == 0 || number[file] <= n) continue;
        (void)fputs(",\n", w->out);
        text_json(w->out, profile_text(w->v->p, file));
        number[file] = 1; /* written */
    }
    (void)fputs("]", w->out);
    free(number);
}

void view_firefox(const struct view *v, const char *title, FILE *out) {
    struct writing w = {.v = v, .out = out};
    call_tree_new(&w.tree, v, MAX_DEPTH);
    (void)fputs(
        "{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":46,\"interval\":1,\"processType\":0,"
        "\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,\"markerSchema\":[],"
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],"
        "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
        "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
        "\"importedFrom\":\"vitrine\",\"startTime\":",
        out);
    json_number(out, (double)v->p->time_ns / 1e6);
    (void)fputs(",\"product\":", out);
    text_json(out, title);
    (void)fputs(
        "},\n\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":[{\"processType\":\"default\",\"name\":",
        out);
    text_json(out, view_type(v));
    (void)fputs(
        ",\"isMainThread\":true,\"pid\":\"1\",\"tid\":1,\"processStartupTime\":0,\"processShutdownTime\":null,"
        "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
        out);
    put_samples(&w);
    (void)fputs(
        "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],"
        "\"length\":0},\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},\n"
        "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0},\n",
        out);
    put_stacks(&w);
    put_frames(&w);
    put_functions(&w);
    (void)fputs("}]}\n", out);
    call_tree_free(&w.tree);
}
