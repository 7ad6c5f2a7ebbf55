/* read_symbols.c - see read_symbols.h. Climate: cli. */
#include "report/read_symbols.h"

#include <stdlib.h>

#include "report/names.h"

#define MAX_INLINED 64 /* as many inlined calls as anybody writes; more are left out */

bool symbol_line_read(struct symbol_lines *s, struct span_text line) {
    uint64_t address;
    if (!span_starts(line, "0x") || !span_hex(&line, &address)) return false;
    span_blanks(&line);
    *REPORT_PUSH(s->all, s->n, s->cap) = (struct symbol_line){address, line};
    return true;
}

static int by_address(const void *a, const void *b) {
    const struct symbol_line *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static uint32_t add_function(struct profile *p, const char *name, size_t n) {
    struct profile_function f = {.name = profile_string_n(p, name, n)};
    char *readable = name_demangle(profile_text(p, f.name));
    if (readable) {
        f.system_name = f.name;
        f.name = profile_string(p, readable);
        free(readable);
    }
    return profile_add_function(p, &f);
}

static void name_location(struct profile *p, uint32_t location, struct span_text names) {
    struct profile_line lines[MAX_INLINED];
    uint32_t n = 0;
    const char *end = names.end; /* backwards: innermost is last */
    while (n < MAX_INLINED && end > names.at) {
        const char *begin = end;
        while (begin > names.at && !(end - begin >= 2 && begin[0] == '-' && begin[1] == '-'))
            begin--;
        const char *name = begin == names.at ? begin : begin + 2;
        lines[n++] = (struct profile_line){.function = add_function(p, name, (size_t)(end - name))};
        end = begin;
    }
    profile_set_lines(p, location, lines, n);
}

static const struct symbol_line *find(const struct symbol_lines *s, uint64_t address) {
    struct symbol_line key = {.address = address};
    return s->n ? bsearch(&key, s->all, s->n, sizeof key, by_address) : NULL;
}

static bool is_name(struct span_text names) {
    return names.at < names.end && !span_starts(names, "0x") && !span_starts(names, "??");
}

void symbol_lines_name(struct profile *p, struct symbol_lines *s, bool takes_one_off) {
    if (s->n > 1) qsort(s->all, s->n, sizeof *s->all, by_address);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        uint64_t address = p->locations[i].address;
        if (p->locations[i].n_lines > 0) continue;
        const struct symbol_line *line = find(s, address);
        if (line == NULL && takes_one_off) line = find(s, address - 1);
        if (line != NULL && is_name(line->names)) name_location(p, i, line->names);
    }
}

void symbol_lines_apply(struct profile *p, const char *text, size_t n) {
    struct input in = {.at = text, .begin = text, .end = text + n};
    struct symbol_lines s = {0};
    while (!input_is_done(&in)) (void)symbol_line_read(&s, input_line(&in));
    symbol_lines_name(p, &s, /* takes one off */ false);
    free(s.all);
}
