/* read_perf.c - the text of `perf script`.
 *
 *   app  4711 [001] 2213.845612:     250000 cycles:u:
 *           55d0c1a2b3c4 work(int)+0x14 (/usr/bin/app)
 *           7f21e0a4524a __libc_start_call_main+0x7a (/usr/lib/libc.so.6)
 *   (an empty line)
 *
 * perf has looked up the names; a frame it could not name is shown by its file.
 *
 * Climate: cli.
 */
#include "report/reader.h"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Not indented, and the last thing on it is a colon. */
static bool is_header(struct span_text line) {
    while (line.end > line.at && is_blank(line.end[-1])) line.end--;
    return line.end > line.at && !is_blank(*line.at) && line.end[-1] == ':' &&
           memchr(line.at, ' ', (size_t)(line.end - line.at)) != NULL;
}

/* "  hex name+0x14 (file)"; false when it does not look like it. */
static bool split_frame(struct span_text s, uint64_t *pc, struct span_text *name,
                        struct span_text *file) {
    span_blanks(&s);
    if (!span_hex(&s, pc) || s.at >= s.end || !is_blank(*s.at)) return false;
    span_blanks(&s);
    while (s.end > s.at && is_blank(s.end[-1])) s.end--;
    *name = s;
    *file = (struct span_text){s.end, s.end};
    if (s.end > s.at && s.end[-1] == ')') {
        const char *open = s.end - 1;
        while (open > s.at && !(*open == '(' && is_blank(open[-1]))) open--;
        if (*open == '(') {
            *file = (struct span_text){open + 1, s.end - 1};
            name->end = open;
            while (name->end > name->at && is_blank(name->end[-1])) name->end--;
        }
    }
    for (const char *c = name->end; c - name->at >= 3; c--) /* cut "+0x14" */
        if (c[-3] == '+' && c[-2] == '0' && c[-1] == 'x') {
            name->end = c - 3;
            break;
        }
    return true;
}

static bool knows(const struct input *in) {
    struct input look = *in;
    while (!input_is_done(&look)) {
        struct span_text line = input_line(&look), name, file;
        uint64_t pc;
        if (line.at == line.end || *line.at == '#') continue;
        return is_header(line) && !input_is_done(&look) &&
               split_frame(input_line(&look), &pc, &name, &file);
    }
    return false;
}

static uint32_t file_mapping(struct profile *p, struct span_text file) {
    uint32_t name = profile_string_n(p, file.at, (size_t)(file.end - file.at));
    for (uint32_t i = 0; i < p->n_mappings; i++)
        if (p->mappings[i].file == name) return i;
    struct profile_mapping m = {.file = name, .has_functions = true};
    return profile_add_mapping(p, &m);
}

static void add_frame(struct input *in, uint64_t pc, struct span_text name, struct span_text file) {
    struct profile *p = in->profile;
    uint32_t mapping = file_mapping(p, file);
    uint32_t location = profile_add_location(p, mapping, pc ? pc : 1);
    *REPORT_PUSH(in->frames, in->n_frames, in->cap_frames) = location;
    if (p->locations[location].n_lines > 0) return;
    if (span_starts(name, "[unknown]") || name.at == name.end) {
        while (memchr(file.at, '/', (size_t)(file.end - file.at)) != NULL) file.at++;
        name = file;
    }
    struct profile_function f = {.name =
                                     profile_string_n(p, name.at, (size_t)(name.end - name.at))};
    struct profile_line line = {.function = profile_add_function(p, &f)};
    profile_set_lines(p, location, &line, 1);
}

/* "app  4711 [001] 22.8: 250000 cycles:u:" -> event */
static struct span_text event_of(struct span_text line) {
    while (line.end > line.at && (is_blank(line.end[-1]) || line.end[-1] == ':')) line.end--;
    const char *c = line.end;
    while (c > line.at && !is_blank(c[-1])) c--;
    return (struct span_text){c, line.end};
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    const double one = 1;
    p->kind = PROFILE_CPU;
    (void)profile_add_type(p, "samples", "count");
    while (!input_is_done(in)) {
        struct span_text line = input_line(in), name, file, event;
        uint64_t pc;
        if (line.at == line.end || *line.at == '#') continue;
        if (!is_header(line))
            return input_fail_line(in, "expected 'command pid time: event:', found '%.*s'",
                                   span_shown(line), line.at);
        event = event_of(line);
        frames_clear(in);
        while (!input_is_done(in) && input_peek_line(in).at < input_peek_line(in).end) {
            line = input_line(in);
            if (input_is_cut(in) && line.end[-1] != ')') return input_fail_line(in, "has no end");
            if (split_frame(line, &pc, &name, &file)) add_frame(in, pc, name, file);
        }
        if (in->n_frames == 0) continue;
        frames_sample(in, &one);
        profile_add_label(
            p, &(struct profile_label){
                   .key = profile_string(p, "event"),
                   .text = profile_string_n(p, event.at, (size_t)(event.end - event.at))});
    }
    return 0;
}

const struct reader reader_perf = {"perf script text", knows, read, KEEPS_NO_NAMES};
