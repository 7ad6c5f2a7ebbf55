/* read_collapsed.c - one stack per line, root first: what flame graph tools exchange.
 *
 *   main;work;malloc 17
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <stdlib.h>

#define LOOK_LINES 10 /* so many lines must look right before we call it collapsed */

/* Splits "stack count"; the last blank separates. */
static bool split(struct span_text line, struct span_text *stack, double *count) {
    char number[40];
    while (line.end > line.at && (line.end[-1] == ' ' || line.end[-1] == '\t')) line.end--;
    const char *c = line.end;
    while (c > line.at && c[-1] != ' ' && c[-1] != '\t') c--;
    size_t n = (size_t)(line.end - c);
    if (c - 1 <= line.at || n == 0 || n >= sizeof number) return false;
    for (size_t i = 0; i < n; i++)
        if (strchr("-.0123456789", c[i]) == NULL || c[i] == '\0') return false;
    memcpy(number, c, n);
    number[n] = '\0';
    char *end;
    *count = strtod(number, &end);
    *stack = (struct span_text){line.at, c - 1};
    return *end == '\0';
}

static bool is_plain(struct span_text line) {
    for (const char *c = line.at; c < line.end; c++)
        if ((unsigned char)*c < ' ' && *c != '\t') return false;
    return true;
}

static bool knows(const struct input *in) {
    struct input look = *in;
    unsigned n = 0;
    while (n < LOOK_LINES && !input_is_done(&look)) {
        struct span_text line = input_line(&look), stack;
        double count;
        if (line.at == line.end || *line.at == '#') continue;
        if (!is_plain(line)) return false;
        if (!split(line, &stack, &count)) return n > 0 && input_is_cut(&look);
        n++;
    }
    return n > 0;
}

static void add_frame(struct input *in, const char *at, const char *end) {
    struct profile *p = in->profile;
    struct profile_function f = {.name = profile_string_n(p, at, (size_t)(end - at))};
    struct profile_line line = {.function = profile_add_function(p, &f)};
    uint32_t location = profile_add_named(p, PROFILE_NONE, &line, 1);
    *REPORT_PUSH(in->frames, in->n_frames, in->cap_frames) = location;
}

static int read(struct input *in) {
    (void)profile_add_type(in->profile, "samples", "count");
    while (!input_is_done(in)) {
        struct span_text line = input_line(in), stack;
        double count;
        if (line.at == line.end || *line.at == '#') continue;
        if (!split(line, &stack, &count))
            return input_fail_line(in, "expected 'frame;frame count', found '%.*s'",
                                   span_shown(line), line.at);
        frames_clear(in);
        for (const char *end = stack.end;;) { /* from the leaf */
            const char *at = end;
            while (at > stack.at && at[-1] != ';') at--;
            add_frame(in, at, end);
            if (at == stack.at) break;
            end = at - 1;
        }
        frames_sample(in, &count);
    }
    return 0;
}

const struct reader reader_collapsed = {"collapsed stacks", knows, read, KEEPS_NO_NAMES};
