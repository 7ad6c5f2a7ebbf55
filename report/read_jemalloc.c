/* read_jemalloc.c - heap profiles of jemalloc.
 *
 *   heap_v2/524288
 *     t*: 28: 106 [0: 0]                totals, then one line per thread, with its name if it has one
 *     t0: 28: 106 [0: 0] main
 *   @ 0x5f1b 0x400a ...
 *     t*: 13: 6688 [0: 0]
 *     t0: 12: 6496 [0: 0]
 *     t3: 1: 192 [0: 0]
 *
 *   MAPPED_LIBRARIES:
 *
 * Each stack is un-sampled on its own, by the sum over its threads, or by the one thread asked for.
 *
 * Climate: cli.
 */
#include "report/reader.h"

static bool knows(const struct input *in) { return span_starts(input_peek_line(in), "heap_v2/"); }

/* "  t3: 1: 2 [3: 4]"; false: another kind of line. */
static bool thread_line(struct span_text s, const char *thread, bool *is_ours,
                        struct heap_counts *c) {
    span_blanks(&s);
    if (!span_take(&s, "t")) return false;
    struct span_text name = s;
    while (s.at < s.end && *s.at != ':') s.at++;
    name.end = s.at;
    *is_ours = (size_t)(name.end - name.at) == strlen(thread) && span_starts(name, thread);
    return span_take(&s, ":") && heap_counts_read(&s, c);
}

/* The thread lines under a header or a stack; *c is that of our thread, zero if it is not there. */
static int read_counts(struct input *in, const char *thread, struct heap_counts *c) {
    *c = (struct heap_counts){0};
    for (bool is_first = true; !input_is_done(in); is_first = false) {
        struct span_text line = input_peek_line(in), s = line;
        struct heap_counts counts;
        bool is_ours;
        span_blanks(&s);
        if (s.at == s.end || *s.at != 't') {
            if (is_first) (void)input_line(in);
            return is_first ? input_fail_line(in, "expected counts of a thread, found '%.*s'",
                                              span_shown(line), line.at)
                            : 0;
        }
        (void)input_line(in);
        if (!thread_line(line, thread, &is_ours, &counts))
            return input_fail_line(in, "expected 'tN: N: N [N: N]', found '%.*s'", span_shown(line),
                                   line.at);
        if (is_ours) *c = counts;
        if (input_is_done(in) && is_first) return 0;
    }
    return input_fail(in, "is truncated: it ends where the counts of a thread should be");
}

static int read_stacks(struct input *in, const char *thread, double rate, struct heap_counts *sum) {
    while (!input_is_done(in) && !input_is_at_maps(in)) {
        struct span_text line = input_line(in);
        struct heap_counts c;
        if (line.at == line.end) continue;
        if (!span_take(&line, "@"))
            return input_fail_line(in, "expected a stack ('@ addresses'), found '%.*s'",
                                   span_shown(line), line.at);
        int error = frames_read(in, line);
        if (error == 0) error = read_counts(in, thread, &c);
        if (error != 0) return error;
        sum->inuse_objects += c.inuse_objects;
        sum->inuse_bytes += c.inuse_bytes;
        sum->alloc_objects += c.alloc_objects;
        sum->alloc_bytes += c.alloc_bytes;
        if (c.inuse_objects != 0 || c.alloc_objects != 0) heap_sample(in, c, UNSAMPLE_V2, rate);
    }
    return 0;
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    const char *thread = in->options && in->options->thread ? in->options->thread : "*";
    struct heap_counts totals, sum = {0};
    int64_t rate;
    p->kind = PROFILE_HEAP;
    heap_add_types(p);
    struct span_text line = input_line(in);
    (void)span_take(&line, "heap_v2/");
    if (!span_number(&line, &rate) || rate < 0)
        return input_fail_line(in, "expected a sampling rate, found '%.*s'", span_shown(line),
                               line.at);
    p->period_type = (struct profile_type){profile_string(p, "space"), profile_string(p, "bytes")};
    p->period = rate;
    int error = read_counts(in, thread, &totals);
    if (error == 0) error = read_stacks(in, thread, (double)rate, &sum);
    if (error != 0) return error;
    bool has_maps = !input_is_done(in);
    if (!has_maps)
        return input_fail(in, "is truncated: the map of libraries at its end is missing");
    /* jemalloc distorts each line for itself (see unsample()), the header too: the two are close only in
     * order of magnitude. Less than half is not distortion. */
    if (sum.inuse_bytes < totals.inuse_bytes / 2 || sum.alloc_bytes < totals.alloc_bytes / 2)
        (void)heap_check_totals(in, &totals, &sum, /* tolerance */ 0);
    input_read_maps(in);
    return 0;
}

const struct reader reader_jemalloc = {"jemalloc heap profile", knows, read, KEEPS_NAMES_BEHIND};
