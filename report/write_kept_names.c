/* write_kept_names.c - see kept_names.h. Climate: cli. */
#include "report/kept_names.h"

#include <inttypes.h>
#include <string.h>

#define HEADING "# vitrine names 1\n"

static void put_name(const char *name, FILE *out) {
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < ' ' || c == 0x7f || c == '\\')
            (void)fprintf(out, "\\x%02x", c);
        else
            (void)fputc(c, out);
    }
}

static void put_function(const struct profile *p, const struct profile_function *f, FILE *out) {
    (void)fprintf(out, "# function %u ", f->start_line);
    put_name(profile_text(p, f->system_name), out);
    (void)fputc('\t', out);
    put_name(profile_text(p, f->name), out);
    (void)fputc('\t', out);
    put_name(profile_text(p, f->file), out);
    (void)fputc('\n', out);
}

static void put_place(const struct profile *p, const struct profile_location *l, FILE *out) {
    (void)fprintf(out, "# place %" PRIx64, l->address);
    for (uint32_t i = 0; i < l->n_lines && i < KEPT_MAX_INLINED; i++) {
        const struct profile_line *line = &p->lines[l->first_line + i];
        (void)fprintf(out, " %u:%u:%u", line->function + 1, line->line, line->column);
    }
    (void)fputc('\n', out);
}

void kept_names_write(const struct profile *p, FILE *out) {
    (void)fputs(HEADING, out);
    for (uint32_t i = 0; i < p->n_mappings; i++)
        if (p->mappings[i].build_id)
            (void)fprintf(out, "# build-id %" PRIx64 " %s\n", p->mappings[i].start,
                          profile_text(p, p->mappings[i].build_id));
    for (uint32_t i = 0; i < p->n_functions; i++) put_function(p, &p->functions[i], out);
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].n_lines > 0 && p->locations[i].address != 0)
            put_place(p, &p->locations[i], out);
}

size_t kept_names_find(const char *bytes, size_t n) {
    size_t n_heading = sizeof HEADING - 1;
    const char *end = bytes + n;
    for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), HEADING, n_heading)); at++)
        if (at == bytes || at[-1] == '\n') return (size_t)(at - bytes);
    return n;
}
