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
#include "report/read_symbols.h"

#include <stdlib.h>

struct symbols {
    struct symbol_lines lines;
    uint32_t binary; /* string */
};

static bool knows(const struct input *in) { return span_starts(input_peek_line(in), "--- symbol"); }

static int read_symbols(struct input *in, struct symbols *s) {
    (void)input_line(in);
    while (!input_is_done(in)) {
        struct span_text line = input_line(in), t = line;
        if (span_starts(line, "---")) return 0;
        if (span_take(&t, "binary=")) {
            s->binary = profile_string_n(in->profile, t.at, (size_t)(t.end - t.at));
        } else if (!symbol_line_read(&s->lines, t) && line.at != line.end &&
                   memchr(line.at, '=', (size_t)(line.end - line.at)) == NULL) {
            return input_fail_line(in, "expected '0xADDRESS name', found '%.*s'", span_shown(line),
                                   line.at);
        }
    }
    return input_fail(in, "is truncated: its symbols have no end mark '---'");
}

static void name_all(struct profile *p, struct symbols *s) {
    symbol_lines_name(p, &s->lines, /* takes one off */ true);
    for (uint32_t i = 0; i < p->n_mappings; i++) p->mappings[i].has_functions = true;
    if (p->n_mappings == 0 && s->binary != 0) {
        struct profile_mapping m = {.limit = UINT64_MAX, .file = s->binary, .has_functions = true};
        (void)profile_add_mapping(p, &m);
        profile_locate(p);
    }
}

static bool is_at_marker(const struct input *in) {
    struct span_text line = input_peek_line(in);
    return span_starts(line, "--- profile") || span_starts(line, "--- heap") ||
           span_starts(line, "--- growth") || span_starts(line, "--- contention");
}

static int no_profile(struct input *in) {
    if (is_at_marker(in)) (void)input_line(in);
    if (input_is_done(in)) return input_fail(in, "is truncated: it ends behind its symbols");
    (void)input_line(in);
    return input_fail_line(in, "has symbols, and after them no profile that is known");
}

static int read_inner(struct input *in) {
    /* a marker line of its own, unless it is the first line of a contention profile */
    struct input inner = *in;
    if (is_at_marker(in)) (void)input_line(&inner);
    const struct reader *reader = reader_find(&inner);
    if (reader == NULL && (inner = *in, true)) reader = reader_find(&inner);
    if (reader == NULL || reader == &reader_symbolized) return no_profile(in);
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
    free(s.lines.all);
    return error;
}

const struct reader reader_symbolized = {"profile with symbols", knows, read, KEEPS_NO_NAMES};
