/* view_callgrind.c - for KCachegrind: what each line costs itself, and what each call from it costs with all below.
 *
 *   events: inuse_space
 *
 *   fl=(1) /src/work.cc              names in full once, then by number
 *   fn=(1) app::deep(int)
 *   26 771000                        line, own cost
 *   cfl=(1)
 *   cfn=(2) keep(void*)
 *   calls=1 12                       how often is not known; line of the callee
 *   27 900000                        line of the call, cost of all below it
 *
 * Works on a view by lines.   Climate: cli.
 */
#include "report/edges.h"
#include "report/text.h"
#include "report/views.h"

#include <math.h>
#include <stdlib.h>

struct writing {
    const struct view *v;
    FILE *out;
    uint32_t *files, *names; /* by string: its number in the file, 0 when not yet written */
    uint32_t n_files, n_names;
};

static void put_name(const struct writing *w, const char *key, uint32_t text, uint32_t *numbers,
                     uint32_t *n) {
    if (numbers[text] != 0) {
        (void)fprintf(w->out, "%s=(%u)\n", key, numbers[text]);
        return;
    }
    numbers[text] = ++*n;
    const char *name = profile_text(w->v->p, text);
    (void)fprintf(w->out, "%s=(%u) %s\n", key, numbers[text], *name ? text_shown(name) : "??");
}

/* fl and fn, or cfl and cfn, of a node. */
static void put_place(struct writing *w, uint32_t node, bool is_callee) {
    const struct view_node *n = &w->v->nodes[node];
    uint32_t file = 0, name = n->name;
    if (n->function != PROFILE_NONE) {
        file = w->v->p->functions[n->function].file;
        name = w->v->p->functions[n->function].name;
    }
    put_name(w, is_callee ? "cfl" : "fl", file, w->files, &w->n_files);
    put_name(w, is_callee ? "cfn" : "fn", name, w->names, &w->n_names);
}

static int by_caller(const void *a, const void *b) {
    const struct edge *x = a, *y = b;
    if (x->caller != y->caller) return x->caller < y->caller ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

void view_callgrind(const struct view *v, FILE *out) {
    struct writing w = {.v = v, .out = out};
    struct edges edges;
    w.files = report_alloc(v->p->n_strings * sizeof *w.files);
    w.names = report_alloc(v->p->n_strings * sizeof *w.names);
    edges_new(&edges, v, NULL);
    if (edges.n > 1) qsort(edges.all, edges.n, sizeof *edges.all, by_caller);
    (void)fprintf(out,
                  "version: 1\ncreator: vitrine\npositions: line\nevents: %s\nsummary: %lld\n\n",
                  text_shown(view_type(v)), (long long)whole_value(v->shown));
    for (uint32_t node = 0, e = 0; node < v->n_nodes; node++) {
        const struct view_node *n = &v->nodes[node];
        if (n->flat != 0 || n->cum != 0) {
            put_place(&w, node, /* is_callee */ false);
            (void)fprintf(out, "%u %lld\n", n->line, (long long)whole_value(n->flat));
        }
        for (; e < edges.n && edges.all[e].caller == node; e++) {
            if (edges.all[e].value == 0) continue;
            put_place(&w, edges.all[e].callee, /* is_callee */ true);
            (void)fprintf(out, "calls=1 %u\n%u %lld\n", v->nodes[edges.all[e].callee].line, n->line,
                          (long long)whole_value(edges.all[e].value));
        }
        (void)fputc('\n', out);
    }
    edges_free(&edges);
    free(w.files);
    free(w.names);
}
