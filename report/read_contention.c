/* read_contention.c - waiting for locks, as gperftools and brpc write it.
 *
 *   --- contention
 *   cycles/second=2500000000
 *   sampling period=100
 *   ms since reset=8013
 *      12345      3 @ 0x40ab 0x4cde ...         cycles, times, return addresses
 *   --- Memory map: or MAPPED_LIBRARIES: or the map at once
 *
 * Climate: cli.
 */
#include "report/reader.h"

#define MAX_PERIOD ((int64_t)1 << 50)      /* exact as a double */
#define OLD_CYCLES_PER_SECOND 2800000000.0 /* what the old tool assumed of files that do not say */

static bool knows(const struct input *in) {
    struct span_text line = input_peek_line(in);
    return span_starts(line, "--- contention") || span_starts(line, "--- mutex") ||
           span_starts(line, "--- Stacks:");
}

struct rates {
    double cycles_per_second, period;
};

/* "name = value"; false: no such line. */
static bool read_setting(struct span_text s, struct rates *r) {
    const char *equals = memchr(s.at, '=', (size_t)(s.end - s.at));
    if (equals == NULL || memchr(s.at, '@', (size_t)(equals - s.at))) return false;
    struct span_text value = {equals + 1, s.end};
    int64_t n;
    span_blanks(&value);
    if (!span_number(&value, &n)) return true; /* a setting all right, and none of ours */
    if (span_starts(s, "cycles/second") && n > 0) r->cycles_per_second = (double)n;
    if (span_starts(s, "sampling period") && n > 0 && n < MAX_PERIOD) r->period = (double)n;
    return true;
}

static int read_stack(struct input *in, struct span_text line, const struct rates *r) {
    struct span_text s = line;
    int64_t cycles, count;
    bool is_stack = (span_blanks(&s), span_number(&s, &cycles)) &&
                    (span_blanks(&s), span_number(&s, &count)) &&
                    (span_blanks(&s), span_take(&s, "@"));
    if (!is_stack)
        return input_fail_line(in, "expected 'cycles count @ addresses', found '%.*s'",
                               span_shown(line), line.at);
    if (input_is_cut(in)) return input_fail_line(in, "has no end");
    int error = frames_read(in, s);
    if (error != 0) return error;
    double ns = (double)cycles * r->period / (r->cycles_per_second / 1e9);
    double values[] = {(double)count * r->period, ns};
    frames_sample(in, values);
    return 0;
}

/* A line of the map without a heading: 00400000-0040b000 ... */
static bool is_map_line(struct span_text s) {
    uint64_t address;
    span_blanks(&s);
    return span_hex(&s, &address) && span_starts(s, "-");
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    struct rates r = {0, 1};
    p->kind = PROFILE_CONTENTION;
    (void)profile_add_type(p, "contentions", "count");
    p->default_type = profile_add_type(p, "delay", "nanoseconds");
    (void)input_line(in);
    while (!input_is_done(in) && !input_is_at_maps(in)) {
        struct span_text line = input_peek_line(in);
        if (is_map_line(line)) break;
        (void)input_line(in);
        bool is_setting = line.at == line.end || read_setting(line, &r);
        if (is_setting && input_is_cut(in)) return input_fail_line(in, "has no end");
        if (is_setting) continue;
        if (r.cycles_per_second == 0) {
            r.cycles_per_second = OLD_CYCLES_PER_SECOND;
            profile_note(p, "'%s': no line 'cycles/second='; assuming %.1f GHz", in->name,
                         OLD_CYCLES_PER_SECOND / 1e9);
        }
        int error = read_stack(in, line, &r);
        if (error != 0) return error;
    }
    p->period_type = p->types[0];
    p->period = (int64_t)r.period;
    input_read_maps(in);
    return 0;
}

const struct reader reader_contention = {"contention profile", knows, read, KEEPS_NAMES_BEHIND};
