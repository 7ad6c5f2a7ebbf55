/* reader.c - see reader.h. Climate: cli. */
#include "report/reader.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- messages */

int input_fail(struct input *in, const char *format, ...) {
    char what[400];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return report_fail(in->error, EINVAL, "'%s': %s", in->name, what);
}

int input_fail_line(struct input *in, const char *format, ...) {
    size_t line = 1;
    for (const char *c = in->begin; c < in->at; c++) line += *c == '\n';
    if (in->at > in->begin && in->at[-1] == '\n') line--; /* `at` is behind the line in question */
    char what[400];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return report_fail(in->error, EINVAL, "'%s': line %zu: %s%s", in->name, line, what,
                       input_is_cut(in) ? "; the file is truncated there" : "");
}

/* ---- the cursor */

bool input_is_cut(const struct input *in) {
    return input_is_done(in) && in->end > in->begin && in->end[-1] != '\n';
}

struct span_text input_peek_line(const struct input *in) {
    const char *newline =
        in->at < in->end ? memchr(in->at, '\n', (size_t)(in->end - in->at)) : NULL;
    struct span_text line = {in->at, newline ? newline : in->end};
    if (line.end > line.at && line.end[-1] == '\r') line.end--;
    return line;
}

struct span_text input_line(struct input *in) {
    struct span_text line = input_peek_line(in);
    const char *next = line.end;
    if (next < in->end && *next == '\r') next++;
    if (next < in->end && *next == '\n') next++;
    in->at = next;
    return line;
}

bool span_starts(struct span_text s, const char *word) {
    size_t n = strlen(word);
    return (size_t)(s.end - s.at) >= n && memcmp(s.at, word, n) == 0;
}

bool span_take(struct span_text *s, const char *word) {
    if (!span_starts(*s, word)) return false;
    s->at += strlen(word);
    return true;
}

void span_blanks(struct span_text *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
}

bool span_number(struct span_text *s, int64_t *n) {
    struct span_text t = *s;
    bool is_negative = span_take(&t, "-");
    const char *digits = t.at;
    uint64_t value = 0;
    for (; t.at < t.end && *t.at >= '0' && *t.at <= '9'; t.at++) {
        if (value > (INT64_MAX - 9) / 10) return false;
        value = value * 10 + (uint64_t)(*t.at - '0');
    }
    if (t.at == digits) return false;
    *n = is_negative ? -(int64_t)value : (int64_t)value;
    *s = t;
    return true;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool span_hex(struct span_text *s, uint64_t *n) {
    const char *c = s->at;
    if (s->end - c >= 2 && c[0] == '0' && (c[1] == 'x' || c[1] == 'X')) c += 2;
    const char *digits = c;
    uint64_t value = 0;
    int digit;
    while (c < s->end && (digit = hex_digit(*c)) >= 0) {
        if (value >> 60) return false;
        value = value << 4 | (unsigned)digit;
        c++;
    }
    if (c == digits) return false;
    *n = value;
    s->at = c;
    return true;
}

int span_shown(struct span_text s) {
    ptrdiff_t n = s.end - s.at;
    return (int)(n > 60 ? 60 : n);
}

/* ---- frames */

int frames_read(struct input *in, struct span_text s) {
    frames_clear(in);
    for (;;) {
        uint64_t pc;
        span_blanks(&s);
        if (s.at >= s.end) return 0;
        if (!span_hex(&s, &pc) || (s.at < s.end && *s.at != ' ' && *s.at != '\t'))
            return input_fail_line(in, "expected an address, found '%.*s'", span_shown(s), s.at);
        frames_add(in, pc, 1);
    }
}

void frames_sample(struct input *in, const double *values) {
    uint32_t stack = profile_add_stack(in->profile, in->frames, in->n_frames);
    profile_add_sample(in->profile, stack, values);
}

/* ---- maps */

bool input_is_at_maps(const struct input *in) {
    struct span_text line = input_peek_line(in);
    return span_starts(line, "MAPPED_LIBRARIES:") || span_starts(line, "--- Memory map:");
}

/* rwxp offset device inode path */
static bool proc_fields(struct span_text *s, struct profile_mapping *m, bool *is_executable) {
    if (s->end - s->at < 4 || (s->at[0] != 'r' && s->at[0] != '-')) return false;
    *is_executable = s->at[2] == 'x';
    s->at += 4;
    span_blanks(s);
    if (!span_hex(s, &m->offset)) return false;
    for (int i = 0; i < 2; i++) { /* device, inode */
        span_blanks(s);
        while (s->at < s->end && *s->at != ' ' && *s->at != '\t') s->at++;
    }
    span_blanks(s);
    return true;
}

/* Where the line's mapping ends; 0: it is none. */
static uint64_t add_map_line(struct profile *p, struct span_text s, struct span_text build) {
    struct profile_mapping m = {0};
    bool is_executable = true;
    span_blanks(&s);
    if (!span_hex(&s, &m.start) || !span_take(&s, "-") || !span_hex(&s, &m.limit)) return 0;
    if (m.limit <= m.start) return 0;
    bool is_short = span_take(&s, ":");
    span_blanks(&s);
    if (!is_short && !proc_fields(&s, &m, &is_executable)) return 0;
    if (!is_executable) return m.limit;
    while (s.end > s.at && s.end[-1] == ' ') s.end--;
    char file[4096];
    size_t n = (size_t)(s.end - s.at);
    if (span_take(&s, "$build")) {
        n -= strlen("$build");
        (void)snprintf(file, sizeof file, "%.*s%.*s", (int)(build.end - build.at), build.at, (int)n,
                       s.at);
    } else {
        (void)snprintf(file, sizeof file, "%.*s", (int)(n < sizeof file ? n : sizeof file - 1),
                       s.at);
    }
    mapping_set_name(p, &m, profile_string(p, file));
    (void)profile_add_mapping(p, &m);
    return m.limit;
}

/* A map is in the order of addresses, and the stack or the kernel's page is its end. One that ends below code is not all there; or a
 * stack was walked wrong, which is why it is only noted. With names in front nobody needs it. */
static void note_code_above(struct input *in, uint64_t map_end) {
    const struct profile *p = in->profile;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_locations; i++) n += p->locations[i].address >= map_end;
    if (n > 0)
        profile_note(in->profile,
                     "'%s': its map of libraries ends below %u of %u addresses in its stacks; it "
                     "may be truncated",
                     in->name, n, p->n_locations);
}

void input_read_maps(struct input *in) {
    struct span_text build = {"", ""};
    bool has_map = input_is_at_maps(in);
    uint64_t map_end = 0;
    build.end = build.at;
    while (!input_is_done(in)) {
        struct span_text line = input_line(in);
        uint64_t end = 0;
        if (input_is_cut(in))
            profile_note(in->profile,
                         "'%s': its map of libraries is truncated: the last line has no end",
                         in->name);
        span_blanks(&line);
        if (span_starts(line, "#"))
            kept_names_take(&in->names, in->profile, line);
        else if (span_take(&line, "build="))
            build = line;
        else
            end = add_map_line(in->profile, line, build);
        if (end > map_end) map_end = end;
    }
    has_map |= map_end > 0;
    if (has_map && !in->is_adjusted && !input_is_cut(in)) note_code_above(in, map_end);
    profile_locate(in->profile);
}

/* ---- heaps */

void heap_add_types(struct profile *p) {
    (void)profile_add_type(p, "alloc_objects", "count");
    (void)profile_add_type(p, "alloc_space", "bytes");
    (void)profile_add_type(p, "inuse_objects", "count");
    p->default_type = profile_add_type(p, "inuse_space", "bytes");
}

static bool pair_read(struct span_text *s, double *objects, double *bytes) {
    int64_t n;
    span_blanks(s);
    if (!span_number(s, &n) || !span_take(s, ":")) return false;
    *objects = (double)n;
    span_blanks(s);
    if (!span_number(s, &n)) return false;
    *bytes = (double)n;
    span_blanks(s);
    return true;
}

bool heap_counts_read(struct span_text *s, struct heap_counts *c) {
    return pair_read(s, &c->inuse_objects, &c->inuse_bytes) && span_take(s, "[") &&
           pair_read(s, &c->alloc_objects, &c->alloc_bytes) && span_take(s, "]");
}

/* What was seen of a stack, scaled to what there is. v2: a block of `size` bytes is sampled with
 * probability 1 - exp(-size/rate). v1 took every block of `rate` bytes and more, and one of each
 * rate/size smaller ones. The mean size stands for the sizes, as in every reader of these files:
 * jemalloc distorts its numbers so that exactly this formula comes out right. */
static void unsample(double *objects, double *bytes, enum unsampling how, double rate) {
    if (how == UNSAMPLE_NOT || *objects == 0 || *bytes == 0 || rate <= 0) return;
    double ratio = *bytes / *objects / rate, scale = 1;
    if (how == UNSAMPLE_V2)
        scale = 1 / -expm1(-ratio);
    else if (ratio < 1)
        scale = 1 / ratio;
    *objects *= scale;
    *bytes *= scale;
}

void heap_sample(struct input *in, struct heap_counts c, enum unsampling how, double rate) {
    unsample(&c.inuse_objects, &c.inuse_bytes, how, rate);
    unsample(&c.alloc_objects, &c.alloc_bytes, how, rate);
    double values[] = {c.alloc_objects, c.alloc_bytes, c.inuse_objects, c.inuse_bytes};
    frames_sample(in, values);
}

static bool is_near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

bool heap_check_totals(struct input *in, const struct heap_counts *header,
                       const struct heap_counts *sum, double tolerance) {
    if (!is_near(header->inuse_bytes, sum->inuse_bytes, tolerance) ||
        !is_near(header->inuse_objects, sum->inuse_objects, tolerance)) {
        profile_note(
            in->profile,
            "'%s': the header counts %.0f bytes in use in %.0f blocks, the stacks that follow "
            "sum to %.0f in %.0f: the writer left some out",
            in->name, header->inuse_bytes, header->inuse_objects, sum->inuse_bytes,
            sum->inuse_objects);
        return false;
    }
    if (!is_near(header->alloc_bytes, sum->alloc_bytes, tolerance)) {
        profile_note(
            in->profile,
            "'%s': the header counts %.0f bytes allocated, the stacks that follow sum to %.0f",
            in->name, header->alloc_bytes, sum->alloc_bytes);
        return false;
    }
    return true;
}
