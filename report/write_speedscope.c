/* write_speedscope.c - speedscope's own JSON: frames once, then for each type of value the stacks, root first, and what
 * each weighs.   Climate: cli.
 */
#include "report/text.h"
#include "report/views.h"

#include <string.h>

static void put_frames(const struct view *v, FILE *out) {
    for (uint32_t i = 0; i < v->n_nodes; i++) {
        const struct view_node *n = &v->nodes[i];
        (void)fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
        text_json(out, view_name(v, i));
        if (n->function != PROFILE_NONE && v->p->functions[n->function].file) {
            (void)fputs(",\"file\":", out);
            text_json(out, profile_text(v->p, v->p->functions[n->function].file));
        }
        if (n->line) (void)fprintf(out, ",\"line\":%u", n->line);
        (void)fputc('}', out);
    }
}

/* One of the words that the format knows. */
static const char *unit_of(const struct view *v) {
    static const char *const known[] = {"bytes", "nanoseconds", "microseconds", "milliseconds",
                                        "seconds"};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(view_unit(v), known[i]) == 0) return known[i];
    return "none";
}

static void put_profile(const struct view *v, FILE *out) {
    double sum = 0;
    const char *between = "\n";
    (void)fputs("{\"type\":\"sampled\",\"name\":", out);
    text_json(out, view_type(v));
    (void)fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[", unit_of(v));
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        if (s->value <= 0) continue;
        (void)fputs(between, out);
        between = ",\n";
        for (uint32_t k = s->n; k > 0; k--)
            (void)fprintf(out, "%s%u", k == s->n ? "[" : ",", v->frames[s->first + k - 1]);
        (void)fputs(s->n == 0 ? "[]" : "]", out);
    }
    (void)fputs("],\n\"weights\":[", out);
    between = "";
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        if (v->stacks[i].value <= 0) continue;
        (void)fputs(between, out);
        between = ",";
        json_number(out, v->stacks[i].value);
        sum += v->stacks[i].value;
    }
    (void)fputs("],\"endValue\":", out);
    json_number(out, sum);
    (void)fputc('}', out);
}

void view_speedscope(const struct view *const *views, uint32_t n, uint32_t active,
                     const char *title, FILE *out) {
    (void)fputs(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"vitrine\","
        "\"name\":",
        out);
    text_json(out, title);
    (void)fprintf(out, ",\"activeProfileIndex\":%u,\"shared\":{\"frames\":[", active);
    put_frames(views[0], out);
    (void)fputs("\n]},\"profiles\":[\n", out);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0) (void)fputs(",\n", out);
        put_profile(views[i], out);
    }
    (void)fputs("\n]}\n", out);
}
