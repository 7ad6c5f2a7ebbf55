/* write_symbolized.c - a profile with its names in front, as `pprof --raw` writes it; read_symbolized.c
 * has the layout.
 *
 * Heaps follow as text that is marked exact, because they have been un-sampled; CPU profiles as words. The
 * marker names the kind, so that jeprof reads both back; google-pprof reads back CPU profiles only, its
 * own writer has the same limit.
 *
 * Climate: cli.
 */
#include "report/text.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_symbols(const struct profile *p, FILE *out, const char *program) {
    (void)fprintf(out, "--- symbol\nbinary=%s\n", text_shown(program));
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        if (l->n_lines == 0 || l->address == 0) continue;
        (void)fprintf(out, "0x%016" PRIx64 " ", l->address);
        for (uint32_t k = l->n_lines; k > 0; k--) {
            const struct profile_line *line = &p->lines[l->first_line + k - 1];
            const char *name = profile_text(p, p->functions[line->function].name);
            (void)fprintf(out, "%s%s", text_shown(name), k > 1 ? "--" : "\n");
        }
    }
    (void)fputs("---\n", out);
}

static int64_t value_of(const struct profile *p, uint32_t sample, const char *type) {
    uint32_t t = profile_find_type(p, type);
    return t == PROFILE_NONE ? 0 : whole_value(p->values[(size_t)sample * p->n_types + t]);
}

static int64_t total_of(const struct profile *p, const char *type) {
    double sum = 0; /* of what is written: rounded numbers */
    for (uint32_t i = 0; i < p->n_samples; i++) sum += (double)value_of(p, i, type);
    return whole_value(sum);
}

#define NUMBERS "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @"

static void put_heap(const struct profile *p, FILE *out) {
    bool is_growth = p->kind == PROFILE_GROWTH;
    (void)fprintf(out, "--- %s\nheap profile: " NUMBERS " %s\n", is_growth ? "growth" : "heap",
                  total_of(p, "inuse_objects"), total_of(p, "inuse_space"),
                  total_of(p, "alloc_objects"), total_of(p, "alloc_space"),
                  is_growth ? "growth" : "heapprofile");
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_stack *s = &p->stacks[p->samples[i].stack];
        (void)fprintf(out, NUMBERS, value_of(p, i, "inuse_objects"), value_of(p, i, "inuse_space"),
                      value_of(p, i, "alloc_objects"), value_of(p, i, "alloc_space"));
        for (uint32_t k = 0; k < s->n; k++)
            (void)fprintf(out, " 0x%016" PRIx64, p->locations[p->frames[s->first + k]].address);
        (void)fputc('\n', out);
    }
}

static void put_word(FILE *out, uint64_t word) { (void)fwrite(&word, sizeof word, 1, out); }

static void put_words(const struct profile *p, FILE *out) {
    (void)fputs("--- profile\n", out);
    const uint64_t header[] = {0, 3, 0, (uint64_t)p->period / 1000, 0}, end[] = {0, 1, 0};
    (void)fwrite(header, sizeof *header, 5, out);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_stack *s = &p->stacks[p->samples[i].stack];
        int64_t count = whole_value(p->values[(size_t)i * p->n_types]);
        if (count <= 0 || s->n == 0) continue;
        put_word(out, (uint64_t)count);
        put_word(out, s->n);
        for (uint32_t k = 0; k < s->n; k++) {
            uint64_t address = p->locations[p->frames[s->first + k]].address;
            if (k == 0 && address == 0) address = 1; /* pprof would take 0 for the end */
            put_word(out, address);
        }
    }
    (void)fwrite(end, sizeof *end, 3, out);
}

static void put_maps(const struct profile *p, FILE *out) {
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        (void)fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n", m->start,
                      m->limit, m->offset, text_shown(profile_text(p, mapping_name(m))));
    }
}

void profile_write_symbolized(const struct profile *p, FILE *out, const char *program) {
    put_symbols(p, out, program);
    if (p->kind == PROFILE_HEAP || p->kind == PROFILE_GROWTH) {
        put_heap(p, out);
        (void)fputs("\nMAPPED_LIBRARIES:\n", out);
    } else {
        put_words(p, out);
    }
    put_maps(p, out);
}
