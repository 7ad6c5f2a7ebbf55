/* read_symbolized.c - a profile with its names in front: what `pprof --raw` writes.
 *
 *   --- symbol
 *   binary=/usr/bin/app
 *   0x00000000004006dd main--inlined_into_main      outermost first
 *   ---
 *   --- heap            or profile, growth, contention; pprof writes `profile` for all of them
 *   the profile itself
 *
 * The addresses in front have one taken off already. Those of the profile have too when pprof wrote
 * it, and have not when it was copied as it came from a server: then the name is found one below.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <stdlib.h>

struct symbol {
    uint64_t address;
    struct span_text names;
};

struct symbols {
    struct symbol *all;
    uint32_t n, cap;
    uint32_t binary; /* string */
};

static bool knows(const struct input *in) { return span_starts(input_peek_line(in), "--- symbol"); }

static int by_address(const void *a, const void *b) {
    const struct symbol *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int read_symbols(struct input *in, struct symbols *s) {
    (void)input_line(in);
    while (!input_is_done(in)) {
        struct span_text line = input_line(in), t = line;
        uint64_t address;
        if (span_starts(line, "---")) {
            if (s->n > 0) qsort(s->all, s->n, sizeof *s->all, by_address);
            return 0;
        }
        if (span_take(&t, "binary=")) {
            s->binary = profile_string_n(in->profile, t.at, (size_t)(t.end - t.at));
        } else if (span_starts(t, "0x") && span_hex(&t, &address)) {
            span_blanks(&t);
            *REPORT_PUSH(s->all, s->n, s->cap) = (struct symbol){address, t};
        } else if (line.at != line.end &&
                   memchr(line.at, '=', (size_t)(line.end - line.at)) == NULL) {
            return input_fail_line(in, "expected '0xADDRESS name', found '%.*s'", span_shown(line),
                                   line.at);
        }
    }
    return input_fail(in, "is cut: its symbols have no end mark '---'");
}

static void name_location(struct profile *p, uint32_t location, struct span_text names) {
    struct profile_line lines[64]; /* as many inlined calls as anybody writes; more are left out */
    uint32_t n = 0;
    const char *end = names.end; /* backwards: innermost is last */
    while (n < 64 && end > names.at) {
        const char *begin = end;
        while (begin > names.at && !(end - begin >= 2 && begin[0] == '-' && begin[1] == '-'))
            begin--;
        const char *name = begin == names.at ? begin : begin + 2;
        struct profile_function f = {.name = profile_string_n(p, name, (size_t)(end - name))};
        lines[n++] = (struct profile_line){.function = profile_add_function(p, &f)};
        end = begin;
    }
    profile_set_lines(p, location, lines, n);
}

static const struct symbol *find(const struct symbols *s, uint64_t address) {
    struct symbol key = {.address = address};
    return s->n ? bsearch(&key, s->all, s->n, sizeof key, by_address) : NULL;
}

/* An address without a name is echoed by servers: 0x1234 0x1234 */
static bool is_name(struct span_text names) {
    return names.at < names.end && !span_starts(names, "0x");
}

static void name_all(struct profile *p, const struct symbols *s) {
    for (uint32_t i = 0; i < p->n_locations; i++) {
        uint64_t address = p->locations[i].address;
        const struct symbol *symbol = find(s, address);
        if (symbol == NULL) symbol = find(s, address - 1);
        if (symbol != NULL && is_name(symbol->names)) name_location(p, i, symbol->names);
    }
    for (uint32_t i = 0; i < p->n_mappings; i++) p->mappings[i].has_functions = true;
    if (p->n_mappings == 0 && s->binary != 0) {
        struct profile_mapping m = {.limit = UINT64_MAX, .file = s->binary, .has_functions = true};
        (void)profile_add_mapping(p, &m);
        profile_locate(p);
    }
}

static int read_inner(struct input *in) {
    /* a marker line of its own, unless it is the first line of a contention profile */
    struct span_text line = input_peek_line(in);
    struct input inner = *in;
    if (span_starts(line, "--- profile") || span_starts(line, "--- heap") ||
        span_starts(line, "--- growth") || span_starts(line, "--- contention"))
        (void)input_line(&inner);
    const struct reader *reader = reader_find(&inner);
    if (reader == NULL && (inner = *in, true)) reader = reader_find(&inner);
    if (reader == NULL || reader == &reader_symbolized)
        return input_fail(in, "has symbols, and after them no profile that is known");
    inner.is_adjusted = true;
    int error = reader->read(&inner);
    *in = inner; /* the scratch moved */
    return error;
}

static int read(struct input *in) {
    struct symbols s = {0};
    int error = read_symbols(in, &s);
    if (error == 0) error = read_inner(in);
    if (error == 0) name_all(in->profile, &s);
    free(s.all);
    return error;
}

const struct reader reader_symbolized = {"profile with symbols", knows, read};
