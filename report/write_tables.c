/* write_tables.c - the whole profile for programs: all its tables as one JSON document, or its samples as CSV.
 *
 *   {"types": [{"name", "unit"}], "default_type", "period", "time_ns", "duration_ns",
 *    "samples": [{"values": [...], "stack": [location ids, leaf first], "labels": {...}}],
 *    "locations": [{"id", "address", "mapping", "lines": [{"function", "file", "line", "column", "start_line"}]}],
 *    "mappings": [{"id", "start", "limit", "offset", "file", "build_id"}]}
 *
 * Addresses are text, "0x...": JSON's numbers cannot hold them.   Climate: cli.
 */
#include "report/text.h"
#include "report/views.h"

#include <inttypes.h>

static void put_key(FILE *out, const char *key, const char *text) {
    (void)fprintf(out, "\"%s\":", key);
    text_json(out, text);
}

static void put_labels(const struct profile *p, const struct profile_sample *s, FILE *out) {
    (void)fputs(",\"labels\":[", out);
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        (void)fputs(i ? ",{" : "{", out);
        put_key(out, "key", profile_text(p, l->key));
        (void)fputc(',', out);
        if (l->text) {
            put_key(out, "text", profile_text(p, l->text));
        } else {
            (void)fprintf(out, "\"number\":%" PRId64 ",", l->number);
            put_key(out, "unit", profile_text(p, l->unit));
        }
        (void)fputc('}', out);
    }
    (void)fputc(']', out);
}

static void put_samples(const struct profile *p, FILE *out) {
    (void)fputs(",\n\"samples\":[", out);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        const struct profile_stack *stack = &p->stacks[s->stack];
        (void)fputs(i ? ",\n{\"values\":[" : "\n{\"values\":[", out);
        for (uint32_t t = 0; t < p->n_types; t++) {
            if (t > 0) (void)fputc(',', out);
            json_number(out, p->values[(size_t)i * p->n_types + t]);
        }
        (void)fputs("],\"stack\":[", out);
        for (uint32_t k = 0; k < stack->n; k++)
            (void)fprintf(out, "%s%u", k ? "," : "", p->frames[stack->first + k] + 1);
        (void)fputc(']', out);
        if (s->n_labels > 0) put_labels(p, s, out);
        (void)fputc('}', out);
    }
    (void)fputs("\n]", out);
}

static void put_locations(const struct profile *p, FILE *out) {
    (void)fputs(",\n\"locations\":[", out);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        (void)fprintf(out, "%s{\"id\":%u,\"address\":\"0x%" PRIx64 "\"", i ? ",\n" : "\n", i + 1,
                      l->address);
        if (l->mapping != PROFILE_NONE) (void)fprintf(out, ",\"mapping\":%u", l->mapping + 1);
        (void)fputs(",\"lines\":[", out);
        for (uint32_t k = 0; k < l->n_lines; k++) {
            const struct profile_line *line = &p->lines[l->first_line + k];
            const struct profile_function *f = &p->functions[line->function];
            (void)fputs(k ? ",{" : "{", out);
            put_key(out, "function", profile_text(p, f->name));
            (void)fputc(',', out);
            put_key(out, "file", profile_text(p, f->file));
            (void)fprintf(out, ",\"line\":%u,\"column\":%u,\"start_line\":%u}", line->line,
                          line->column, f->start_line);
        }
        (void)fputs("]}", out);
    }
    (void)fputs("\n]", out);
}

static void put_mappings(const struct profile *p, FILE *out) {
    (void)fputs(",\n\"mappings\":[", out);
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        (void)fprintf(out,
                      "%s{\"id\":%u,\"start\":\"0x%" PRIx64 "\",\"limit\":\"0x%" PRIx64
                      "\",\"offset\":\"0x%" PRIx64 "\",",
                      i ? ",\n" : "\n", i + 1, m->start, m->limit, m->offset);
        put_key(out, "file", profile_text(p, mapping_name(m)));
        (void)fputc(',', out);
        put_key(out, "build_id", profile_text(p, m->build_id));
        (void)fputc('}', out);
    }
    (void)fputs("\n]", out);
}

void profile_write_json(const struct profile *p, FILE *out) {
    (void)fputs("{\"types\":[", out);
    for (uint32_t t = 0; t < p->n_types; t++) {
        (void)fputs(t ? ",{" : "{", out);
        put_key(out, "name", profile_text(p, p->types[t].name));
        (void)fputc(',', out);
        put_key(out, "unit", profile_text(p, p->types[t].unit));
        (void)fputc('}', out);
    }
    (void)fprintf(out,
                  "],\"default_type\":%u,\"period\":%" PRId64 ",\"time_ns\":%" PRId64
                  ",\"duration_ns\":%" PRId64,
                  p->default_type, p->period, p->time_ns, p->duration_ns);
    put_samples(p, out);
    put_locations(p, out);
    put_mappings(p, out);
    (void)fputs("}\n", out);
}

void profile_write_csv(const struct profile *p, FILE *out) {
    for (uint32_t t = 0; t < p->n_types; t++) {
        text_csv(out, profile_text(p, p->types[t].name));
        (void)fputc(',', out);
    }
    (void)fputs("stack\n", out);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_stack *stack = &p->stacks[p->samples[i].stack];
        for (uint32_t t = 0; t < p->n_types; t++) {
            json_number(out, p->values[(size_t)i * p->n_types + t]);
            (void)fputc(',', out);
        }
        for (uint32_t k = 0; k < stack->n; k++)
            (void)fprintf(out, "%s0x%" PRIx64, k ? ";" : "",
                          p->locations[p->frames[stack->first + k]].address);
        (void)fputc('\n', out);
    }
}
