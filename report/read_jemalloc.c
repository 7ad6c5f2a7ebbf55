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
 * Each stack is un-sampled on its own, by the sum over its threads, or by the one thread asked for, or by each of them.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <errno.h>
#include <inttypes.h>

#include "report/threads.h"

/* What is read: the lines of one thread ("*": the sums), and a sample for each of the others' if `is_each`. */
struct reading {
    const char *thread;
    bool is_each;
    double rate;
    uint64_t n_frames; /* of all threads' samples; a line stands for a whole stack */
};

static bool knows(const struct input *in) { return span_starts(input_peek_line(in), "heap_v2/"); }

/* "  t3: 1: 2 [3: 4]"; false: another kind of line. */
static bool thread_line(struct span_text s, struct span_text *name, struct heap_counts *c) {
    span_blanks(&s);
    if (!span_take(&s, "t")) return false;
    *name = s;
    while (s.at < s.end && *s.at != ':') s.at++;
    name->end = s.at;
    return span_take(&s, ":") && heap_counts_read(&s, c);
}

/* A sample of the stack that is being read, unless the line is that of the sums. */
static int sample_thread(struct input *in, struct reading *r, struct span_text name,
                         struct heap_counts c) {
    int64_t number;
    if (c.inuse_objects == 0 && c.alloc_objects == 0) return 0;
    if (!span_number(&name, &number) || name.at != name.end) return 0;
    r->n_frames += in->n_frames;
    if (r->n_frames > in->profile->max_frames)
        return report_fail(in->error, EFBIG,
                           "'%s': the stacks of its threads have more than %" PRIu64
                           " frames; --limit=SIZE reads more",
                           in->name, in->profile->max_frames);
    heap_sample(in, c, UNSAMPLE_V2, r->rate);
    threads_label(in->profile, number);
    return 0;
}

/* The thread lines under a header or a stack; *c is that of our thread, zero if it is not there. */
static int read_counts(struct input *in, struct reading *r, bool is_stack, struct heap_counts *c) {
    *c = (struct heap_counts){0};
    for (bool is_first = true; !input_is_done(in); is_first = false) {
        struct span_text line = input_peek_line(in), s = line;
        struct heap_counts counts;
        struct span_text name;
        span_blanks(&s);
        if (s.at == s.end || *s.at != 't') {
            if (is_first) (void)input_line(in);
            return is_first ? input_fail_line(in, "expected counts of a thread, found '%.*s'",
                                              span_shown(line), line.at)
                            : 0;
        }
        (void)input_line(in);
        if (!thread_line(line, &name, &counts))
            return input_fail_line(in, "expected 'tN: N: N [N: N]', found '%.*s'", span_shown(line),
                                   line.at);
        if ((size_t)(name.end - name.at) == strlen(r->thread) && span_starts(name, r->thread))
            *c = counts;
        int error = is_stack && r->is_each ? sample_thread(in, r, name, counts) : 0;
        if (error != 0) return error;
        if (input_is_done(in) && is_first) return 0;
    }
    return input_fail(in, "is truncated: it ends where the counts of a thread should be");
}

static int read_stacks(struct input *in, struct reading *r, struct heap_counts *sum) {
    while (!input_is_done(in) && !input_is_at_maps(in)) {
        struct span_text line = input_line(in);
        struct heap_counts c;
        if (line.at == line.end) continue;
        if (!span_take(&line, "@"))
            return input_fail_line(in, "expected a stack ('@ addresses'), found '%.*s'",
                                   span_shown(line), line.at);
        int error = frames_read(in, line);
        if (error == 0) error = read_counts(in, r, /* is_stack */ true, &c);
        if (error != 0) return error;
        sum->inuse_objects += c.inuse_objects;
        sum->inuse_bytes += c.inuse_bytes;
        sum->alloc_objects += c.alloc_objects;
        sum->alloc_bytes += c.alloc_bytes;
        if (!r->is_each && (c.inuse_objects != 0 || c.alloc_objects != 0))
            heap_sample(in, c, UNSAMPLE_V2, r->rate);
    }
    return 0;
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    struct reading r = {.thread = in->options && in->options->thread ? in->options->thread : "*",
                        .is_each = in->options && in->options->is_by_thread};
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
    r.rate = (double)rate;
    int error = read_counts(in, &r, /* is_stack */ false, &totals);
    if (error == 0) error = read_stacks(in, &r, &sum);
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
