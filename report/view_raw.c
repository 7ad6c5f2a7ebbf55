/* view_raw.c - the tables of a profile as they are, for those who look for a mistake.
 *
 *   Samples:
 *   inuse_objects/count inuse_space/bytes[dflt]
 *            1       4096: 3 7 12              values, then locations, leaf first
 *   Locations
 *        3: 0x5565187cf572 M=1 app::fill /src/app.cc:7 s=5
 *   Mappings
 *   1: 0x5565187cf000/0x5565187d0000/0x1000 /usr/bin/app 77aa...
 *
 * Climate: cli.
 */
#include "report/views.h"

#include <inttypes.h>

#include "report/text.h"

static void put_samples(const struct profile *p, FILE *out) {
    (void)fputs("Samples:\n", out);
    for (uint32_t t = 0; t < p->n_types; t++)
        (void)fprintf(out, "%s%s/%s%s", t ? " " : "", text_shown(profile_text(p, p->types[t].name)),
                      text_shown(profile_text(p, p->types[t].unit)),
                      t == p->default_type ? "[dflt]" : "");
    (void)fputc('\n', out);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        const struct profile_stack *stack = &p->stacks[s->stack];
        for (uint32_t t = 0; t < p->n_types; t++)
            (void)fprintf(out, " %10" PRId64, whole_value(p->values[(size_t)i * p->n_types + t]));
        (void)fputc(':', out);
        for (uint32_t k = 0; k < stack->n; k++)
            (void)fprintf(out, " %u", p->frames[stack->first + k] + 1);
        (void)fputc('\n', out);
        for (uint32_t k = 0; k < s->n_labels; k++) {
            const struct profile_label *l = &p->labels[s->first_label + k];
            (void)fprintf(out, "                %s:", text_shown(profile_text(p, l->key)));
            if (l->text)
                (void)fprintf(out, "[%s]\n", text_shown(profile_text(p, l->text)));
            else
                (void)fprintf(out, "[%" PRId64 "%s]\n", l->number,
                              text_shown(profile_text(p, l->unit)));
        }
    }
}

static void put_locations(const struct profile *p, FILE *out) {
    (void)fputs("Locations\n", out);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        (void)fprintf(out, "%6u: 0x%" PRIx64, i + 1, l->address);
        if (l->mapping != PROFILE_NONE) (void)fprintf(out, " M=%u", l->mapping + 1);
        for (uint32_t k = 0; k < l->n_lines; k++) {
            const struct profile_line *line = &p->lines[l->first_line + k];
            const struct profile_function *f = &p->functions[line->function];
            (void)fprintf(out, "%s %s %s:%u s=%u", k ? "\n            " : "",
                          text_shown(profile_text(p, f->name)),
                          text_shown(profile_text(p, f->file)), line->line, f->start_line);
        }
        (void)fputc('\n', out);
    }
}

void profile_print_raw(const struct profile *p, FILE *out) {
    if (p->period_type.name)
        (void)fprintf(out, "PeriodType: %s %s\n", text_shown(profile_text(p, p->period_type.name)),
                      text_shown(profile_text(p, p->period_type.unit)));
    (void)fprintf(out, "Period: %" PRId64 "\n", p->period);
    if (p->time_ns) (void)fprintf(out, "Time: %" PRId64 "\n", p->time_ns);
    if (p->duration_ns) (void)fprintf(out, "Duration: %.4g\n", (double)p->duration_ns / 1e9);
    put_samples(p, out);
    put_locations(p, out);
    (void)fputs("Mappings\n", out);
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        (void)fprintf(out, "%u: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " %s %s%s\n", i + 1,
                      m->start, m->limit, m->offset, text_shown(profile_text(p, mapping_name(m))),
                      text_shown(profile_text(p, m->build_id)), m->has_functions ? " [FN]" : "");
    }
}
