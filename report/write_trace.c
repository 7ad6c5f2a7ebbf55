/* write_trace.c - Chrome's trace events, which Perfetto reads too: each call of the tree one slice, callees within their
 * caller, one after another. A profile knows how long, not when: the order is made up, the lengths are not.
 *
 * Climate: cli.
 */
#include "report/call_tree.h"
#include "report/text.h"
#include "report/views.h"

#include <string.h>

#define MAX_DEPTH 1000

/* Microseconds of one of the profile's units; a count is one. 0: makes no sense here. */
static double microseconds(const char *unit) {
    static const struct {
        const char *unit;
        double us;
    } rows[] = {{"nanoseconds", 1e-3}, {"microseconds", 1}, {"milliseconds", 1e3},
                {"seconds", 1e6},      {"count", 1},        {"", 1}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].unit, unit) == 0) return rows[i].us;
    return 0;
}

bool view_trace(const struct view *v, const char *title, FILE *out) {
    struct call_tree t;
    double us = microseconds(view_unit(v));
    if (us == 0) return false;
    call_tree_new(&t, v, MAX_DEPTH);
    (void)fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"creator\":\"vitrine\",\"type\":",
                out);
    text_json(out, view_type(v));
    (void)fputs(
        "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":",
        out);
    text_json(out, title);
    (void)fputs("}}", out);
    /* x is where a call begins, and then where its next callee does */
    for (uint32_t i = 1; i < t.n; i++) {
        struct call *c = &t.all[i], *parent = &t.all[c->parent];
        if (c->weight == 0) continue;
        c->x = parent->x;
        double begin = c->x;
        parent->x += c->weight * us;
        (void)fputs(",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":", out);
        text_json(out, view_name(v, c->node));
        (void)fputs(",\"ts\":", out);
        json_number(out, begin);
        (void)fputs(",\"dur\":", out);
        json_number(out, c->weight * us);
        (void)fputc('}', out);
    }
    (void)fputs("\n]}\n", out);
    call_tree_free(&t);
    return true;
}
