/* read_heap.c - heap and growth profiles of gperftools, and what others write in that form.
 *
 *   heap profile:   2800:  4024250 [  2813:  4089778] @ heapprofile
 *      300:  1500000 [   300:  1500000] @ 0x5565187cf573 0x5565187cf1ad ...
 *   MAPPED_LIBRARIES:
 *   /proc/PID/maps
 *
 * Behind the '@': heapprofile and growth are exact, heap/RATE is sampled by the old rule, heap_v2/RATE by
 * the new one. All pcs are return addresses, the first one too.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <stdlib.h>

#define MAX_RATE_BYTES ((int64_t)1 << 50) /* exact as a double; more is nonsense */
#define OLD_RATE_BYTES (128 * 1024)       /* what writers used that did not say */

struct header {
    struct heap_counts totals;
    enum unsampling how;
    double rate;
    bool is_growth;
};

static bool knows(const struct input *in) {
    return span_starts(input_peek_line(in), "heap profile:");
}

static bool contains(struct span_text s, const char *word) {
    return memmem(s.at, (size_t)(s.end - s.at), word, strlen(word)) != NULL;
}

/* "heap_v2/524288" or nothing; s stands behind the ']' */
static int header_type(struct input *in, struct span_text s, struct header *h) {
    span_blanks(&s);
    if (!span_take(&s, "@")) {
        const struct heap_counts *t = &h->totals; /* so old that only samples had equal pairs */
        if (t->inuse_objects == t->alloc_objects && t->inuse_bytes == t->alloc_bytes) {
            h->how = UNSAMPLE_V1;
            h->rate = OLD_RATE_BYTES;
        }
        return 0;
    }
    span_blanks(&s);
    struct span_text type = s;
    while (s.at < s.end && *s.at != '/' && *s.at != ' ') s.at++;
    type.end = s.at;
    int64_t rate = 0;
    if (span_take(&s, "/") && (!span_number(&s, &rate) || rate < 0 || rate > MAX_RATE_BYTES))
        return input_fail_line(in, "expected a sampling rate, found '%.*s'", span_shown(s), s.at);
    h->is_growth = span_starts(type, "growth");
    if (!contains(type, "heap") || (contains(type, "heapprofile"))) return 0;
    h->how = contains(type, "_v2") ? UNSAMPLE_V2 : UNSAMPLE_V1;
    h->rate = h->how == UNSAMPLE_V1 ? (double)rate / 2 : (double)rate;
    if (rate == 0) h->rate = OLD_RATE_BYTES;
    return 0;
}

static int read_header(struct input *in, struct header *h) {
    struct span_text line = input_line(in), s = line;
    (void)span_take(&s, "heap profile:");
    if (!heap_counts_read(&s, &h->totals))
        return input_fail_line(in, "expected 'heap profile: N: N [N: N] @ TYPE', found '%.*s'",
                               span_shown(line), line.at);
    return input_is_cut(in) ? input_fail_line(in, "has no end") : header_type(in, s, h);
}

static int read_stacks(struct input *in, const struct header *h, struct heap_counts *sum) {
    while (!input_is_done(in) && !input_is_at_maps(in)) {
        struct span_text line = input_line(in), s = line;
        struct heap_counts c;
        if (line.at == line.end) continue;
        if (!heap_counts_read(&s, &c) || (span_blanks(&s), !span_take(&s, "@")))
            return input_fail_line(in, "expected 'N: N [N: N] @ addresses', found '%.*s'",
                                   span_shown(line), line.at);
        if (input_is_cut(in)) return input_fail_line(in, "has no end");
        int error = frames_read(in, s);
        if (error != 0) return error;
        sum->inuse_objects += c.inuse_objects;
        sum->inuse_bytes += c.inuse_bytes;
        sum->alloc_objects += c.alloc_objects;
        sum->alloc_bytes += c.alloc_bytes;
        heap_sample(in, c, h->how, h->rate);
    }
    return 0;
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    struct header h = {.how = UNSAMPLE_NOT};
    struct heap_counts sum = {0};
    heap_add_types(p);
    int error = read_header(in, &h);
    if (error != 0) return error;
    p->kind = h.is_growth ? PROFILE_GROWTH : PROFILE_HEAP;
    if (h.how != UNSAMPLE_NOT) {
        p->period_type =
            (struct profile_type){profile_string(p, "space"), profile_string(p, "bytes")};
        p->period = (int64_t)h.rate;
        p->heap_version = h.how == UNSAMPLE_V2 ? 2 : 1;
    }
    error = read_stacks(in, &h, &sum);
    if (error != 0) return error;
    bool has_maps = !input_is_done(in);
    if (!heap_check_totals(in, &h.totals, &sum, /* tolerance */ 0) && !has_maps)
        return input_fail(
            in,
            "is truncated: its header counts %.0f bytes in use, its lines %.0f, and the "
            "map of libraries is missing",
            h.totals.inuse_bytes, sum.inuse_bytes);
    input_read_maps(in);
    return 0;
}

const struct reader reader_heap = {"gperftools heap profile", knows, read, KEEPS_NAMES_BEHIND};
