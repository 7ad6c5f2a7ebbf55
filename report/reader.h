/* reader.h - what the readers (read_*.c) share: the input, a cursor over its text, maps, un-sampling.
 *
 * A reader gets the whole file in memory and never looks behind `end`: no byte is promised there.
 *
 * Climate: cli.   Callers: report/read*.c only.
 */
#ifndef REPORT_READER_H
#define REPORT_READER_H

#include "report/read.h"

#include <string.h>

struct kept_place {
    uint64_t address;
    uint32_t first, n; /* lines */
};

/* What stands behind a map: kept_names.h. */
struct kept_names {
    uint32_t *functions; /* of the profile, as they came */
    struct kept_place *places;
    struct profile_line *lines;
    struct kept_place *ids; /* build-ids: start of the mapping, string */
    uint32_t n_functions, n_places, n_lines, n_ids, cap_functions, cap_places, cap_lines, cap_ids;
};

struct input {
    const char *name; /* for messages */
    const char *at, *begin, *end;
    const struct report_options *options;
    struct profile *profile;
    struct report_error *error;
    /* scratch: the stack being read, as locations */
    uint32_t *frames;
    uint32_t n_frames, cap_frames;
    /* addresses of this file have one taken off already (the symbolized container says so) */
    bool is_adjusted;
    struct kept_names names;
};

/* One row per kind, in the order in which they are asked. */
struct reader {
    const char *kind;                      /* "gperftools heap profile" */
    bool (*knows)(const struct input *in); /* looks at the beginning; `at` is the first byte */
    int (*read)(struct input *in);         /* 0, or the result of input_fail() */
    enum profile_keeps keeps;
};

extern const struct reader reader_heap, reader_jemalloc, reader_cpu, reader_contention,
    reader_symbolized, reader_proto, reader_collapsed, reader_perf, reader_heaptrack;

/* The reader that knows what `in` stands at, or NULL. Used by the container for what it contains. */
const struct reader *reader_find(const struct input *in);

/* ---- messages: 'name': what; input_fail_line() also counts the lines up to `at`, behind the line in question, and says "truncated" of
 * one that has no end */
__attribute__((format(printf, 2, 3))) int input_fail(struct input *in, const char *format, ...);
__attribute__((format(printf, 2, 3))) int input_fail_line(struct input *in, const char *format,
                                                          ...);

/* ---- the cursor. A line ends before '\n', or '\r\n', or at the end of the file. */
struct span_text {
    const char *at, *end;
};
static inline bool input_is_done(const struct input *in) { return in->at >= in->end; }
bool input_is_cut(const struct input *in); /* the line before `at` is the last, and has no '\n' */
struct span_text input_peek_line(const struct input *in);
struct span_text input_line(struct input *in); /* and go behind it */
bool span_starts(struct span_text s, const char *word);
bool span_take(struct span_text *s, const char *word); /* go behind it, if it is there */
void span_blanks(struct span_text *s);
bool span_number(struct span_text *s,
                 int64_t *n); /* decimal, with a sign; false when it does not fit */
bool span_hex(struct span_text *s, uint64_t *n); /* with or without 0x */
int hex_digit(char c);                           /* its value; -1: it is none */
int span_shown(struct span_text s);              /* for "%.*s": as much of it as a message needs */

/* ---- frames of one stack, leaf first */
static inline void frames_clear(struct input *in) { in->n_frames = 0; }
/* `back` is 1 for a return address and 0 for an interrupted instruction. */
static inline void frames_add(struct input *in, uint64_t pc, unsigned back) {
    if (in->is_adjusted) back = 0;
    uint64_t address = pc > back ? pc - back : pc;
    uint32_t location = profile_add_location(in->profile, PROFILE_NONE, address);
    *REPORT_PUSH(in->frames, in->n_frames, in->cap_frames) = location;
}
/* The rest of a line as pcs, all return addresses; -errno with a message for anything else. */
int frames_read(struct input *in, struct span_text s);
void frames_sample(struct input *in, const double *values);

/* ---- /proc/PID/maps, or "start-end: file"; from `at` to the end of the file. Lines that are none are
 * skipped: both forms stand in files among other text. Then each location gets its mapping. */
void input_read_maps(struct input *in);
/* Does a map begin here: MAPPED_LIBRARIES: or --- Memory map: ? */
bool input_is_at_maps(const struct input *in);

/* ---- names behind a map: takes a line that begins with '#'. */
void kept_names_take(struct kept_names *k, struct profile *p, struct span_text line);
/* Gives the locations and mappings of the profile, which have found each other, what was taken, and frees it. When all is read. */
void kept_names_apply(struct kept_names *k, struct profile *p);

/* ---- heaps: two pairs of (objects, bytes), in use and allocated */
struct heap_counts {
    double inuse_objects, inuse_bytes, alloc_objects, alloc_bytes;
};
enum unsampling { UNSAMPLE_NOT, UNSAMPLE_V1, UNSAMPLE_V2 };
void heap_add_types(struct profile *p);
/* "1: 24 [2: 48]" at the start of s; false: it is something else. */
bool heap_counts_read(struct span_text *s, struct heap_counts *c);
void heap_sample(struct input *in, struct heap_counts c, enum unsampling how, double rate);
/* Notes a header that does not agree with the sum of the lines; true when they agree. */
bool heap_check_totals(struct input *in, const struct heap_counts *header,
                       const struct heap_counts *sum, double tolerance);

#endif
