/* read_heaptrack.c - what heaptrack records: each allocation and each free, in their order. All numbers are hexadecimal.
 *
 *   v 10400 3                               its version, the file's
 *   X ./app arg                             command line
 *   t IP PARENT                             a trace: a frame and the trace that called it, 0 for none; numbered from 1
 *
 * As it is kept, after heaptrack_interpret named the frames:
 *   s 4 main                                a string and its length; numbered from 1
 *   i 5560376ab367 1 14 15 89 16 17 1d0     a frame: address, module, then function, file, line; innermost inlined first
 *   a 3e8 c                                 a kind of allocation: bytes, trace; numbered from 0
 *   + 2    - 2                              one more of that kind, one less
 *
 * As `heaptrack --raw` leaves it:
 *   x 17 /tmp/work                          the program
 *   m 1 x 55a986acd000 0 8f8 1000 69d       a module: its name (x: the program), base, then segments: address, bytes
 *   t ADDRESS PARENT
 *   + 3e8 c 55a9983cfb50    - 55a9983cfb50  bytes, trace, pointer
 *
 * Addresses lie inside the call already. Besides what is in use at the end and what was allocated there is the
 * moment when most was in use: peak_space, peak_objects.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <errno.h>
#include <stdlib.h>

#define FILE_VERSION 3

struct cost {
    double objects, bytes;
};

struct trace {
    uint32_t location, parent; /* parent: a trace plus one, or 0 */
    struct cost allocated, now, at_peak;
    uint32_t peak_seen; /* at_peak is that of this peak; of later ones it is `now` */
};

struct kind_of {
    double bytes;
    uint32_t trace;
};

/* Raw files only: pointer to kind, open addressing; a freed pointer keeps its slot until the next growth. */
struct live {
    uint64_t *pointers; /* 0: never used */
    struct kind_of *kinds;
    uint32_t mask, n;
};

struct recording {
    struct input *in;
    bool is_raw;
    uint32_t program; /* string */
    uint32_t *strings, *locations;
    struct trace *traces;
    struct kind_of *kinds;
    uint32_t n_strings, n_locations, n_traces, n_kinds;
    uint32_t cap_strings, cap_locations, cap_traces, cap_kinds;
    struct live live;
    double now_bytes, peak_bytes;
    uint32_t n_peaks;
    uint32_t n_lines; /* "# strings:", which the interpreter writes last */
};

static bool knows(const struct input *in) {
    struct span_text s = input_peek_line(in);
    uint64_t n;
    if (!span_take(&s, "v ") || !span_hex(&s, &n) || !span_take(&s, " ")) return false;
    return span_hex(&s, &n) && s.at == s.end;
}

static bool field(struct span_text *s, uint64_t *n) {
    span_blanks(s);
    return span_hex(s, n);
}

/* A number that must be below `limit`. */
static bool number_below(struct span_text *s, uint64_t limit, uint32_t *n) {
    uint64_t value;
    if (!field(s, &value) || value >= limit) return false;
    *n = (uint32_t)value;
    return true;
}

/* "LENGTH TEXT" */
static bool counted_text(struct span_text *s, struct span_text *text) {
    uint64_t n;
    if (!field(s, &n) || !span_take(s, " ") || n > (uint64_t)(s->end - s->at)) return false;
    *text = (struct span_text){s->at, s->at + n};
    s->at += n;
    return true;
}

static uint32_t keep_text(struct recording *r, struct span_text text) {
    return profile_string_n(r->in->profile, text.at, (size_t)(text.end - text.at));
}

/* ---- names and modules */

static bool read_string(struct recording *r, struct span_text s) {
    struct span_text text;
    if (!counted_text(&s, &text) || s.at != s.end) return false;
    *REPORT_PUSH(r->strings, r->n_strings, r->cap_strings) = keep_text(r, text);
    return true;
}

static uint32_t string_at(const struct recording *r, uint32_t number) {
    return number == 0 ? 0 : r->strings[number - 1];
}

static bool read_frame(struct recording *r, struct span_text s) {
    struct profile *p = r->in->profile;
    struct profile_line lines[64]; /* as many inlined calls as anybody has; more are left out */
    uint32_t n = 0, module, name, file, line;
    uint64_t address;
    if (!field(&s, &address) || !number_below(&s, (uint64_t)r->n_strings + 1, &module))
        return false;
    while (span_blanks(&s), s.at < s.end) {
        file = line = 0;
        if (!number_below(&s, (uint64_t)r->n_strings + 1, &name)) return false;
        if (span_blanks(&s), s.at < s.end) {
            if (!number_below(&s, (uint64_t)r->n_strings + 1, &file) ||
                !number_below(&s, INT32_MAX, &line))
                return false;
        }
        if (name == 0 || n == 64) continue;
        struct profile_function f = {.name = string_at(r, name), .file = string_at(r, file)};
        lines[n++] = (struct profile_line){.function = profile_add_function(p, &f), .line = line};
    }
    uint32_t location = profile_add_location(p, PROFILE_NONE, address);
    if (n > 0 && p->locations[location].n_lines == 0) profile_set_lines(p, location, lines, n);
    *REPORT_PUSH(r->locations, r->n_locations, r->cap_locations) = location;
    return true;
}

static bool read_module(struct recording *r, struct span_text s) {
    struct profile *p = r->in->profile;
    struct span_text name;
    struct profile_mapping m = {.is_linked = true};
    uint64_t base, address, n_bytes;
    if (!counted_text(&s, &name)) return false;
    if (name.end - name.at == 1 && *name.at == '-') return true; /* all of them come again */
    if (!field(&s, &base)) return false;
    m.file = name.end - name.at == 1 && *name.at == 'x' ? r->program
             : span_starts(name, "linux-vdso.so")       ? profile_string(p, "[vdso]")
                                                        : keep_text(r, name);
    while (field(&s, &address) && field(&s, &n_bytes)) {
        m.start = base + address;
        m.limit = m.start + n_bytes;
        m.offset = address;
        bool is_known = m.limit <= m.start;
        for (uint32_t i = 0; i < p->n_mappings && !is_known; i++)
            is_known = p->mappings[i].start == m.start && p->mappings[i].file == m.file;
        if (!is_known) (void)profile_add_mapping(p, &m);
    }
    return span_blanks(&s), s.at == s.end;
}

static bool read_trace(struct recording *r, struct span_text s) {
    struct trace t = {0};
    uint64_t frame;
    if (!field(&s, &frame) || !number_below(&s, (uint64_t)r->n_traces + 1, &t.parent)) return false;
    if (r->is_raw) {
        t.location = profile_add_location(r->in->profile, PROFILE_NONE, frame);
    } else {
        if (frame == 0 || frame > r->n_locations) return false;
        t.location = r->locations[frame - 1];
    }
    *REPORT_PUSH(r->traces, r->n_traces, r->cap_traces) = t;
    return true;
}

/* ---- what happened */

/* Before `now` changes: what it was at the last peak, if it has not changed since. */
static struct trace *touch(struct recording *r, uint32_t trace) {
    struct trace *t = &r->traces[trace];
    if (t->peak_seen != r->n_peaks) {
        t->at_peak = t->now;
        t->peak_seen = r->n_peaks;
    }
    return t;
}

static void allocate(struct recording *r, struct kind_of kind) {
    struct trace *t = touch(r, kind.trace);
    t->allocated.objects++;
    t->allocated.bytes += kind.bytes;
    t->now.objects++;
    t->now.bytes += kind.bytes;
    r->now_bytes += kind.bytes;
    if (r->now_bytes <= r->peak_bytes) return;
    r->peak_bytes = r->now_bytes;
    r->n_peaks++;
}

static void release(struct recording *r, struct kind_of kind) {
    struct trace *t = touch(r, kind.trace);
    t->now.objects--;
    t->now.bytes -= kind.bytes;
    r->now_bytes -= kind.bytes;
}

static bool read_kind(struct recording *r, struct span_text s, struct kind_of *kind) {
    uint64_t n_bytes;
    if (!field(&s, &n_bytes) || n_bytes >> 50 ||
        !number_below(&s, (uint64_t)r->n_traces + 1, &kind->trace))
        return false;
    kind->bytes = (double)n_bytes;
    return kind->trace-- > 0;
}

static uint32_t live_slot(const struct live *l, uint64_t pointer) {
    uint32_t i = (uint32_t)(hash_mix(0, pointer) >> 16) & l->mask;
    while (l->pointers[i] != 0 && l->pointers[i] != pointer) i = (i + 1) & l->mask;
    return i;
}

static void live_grow(struct live *l) {
    struct live old = *l;
    uint32_t n_old = old.pointers ? old.mask + 1 : 0, n_used = 0;
    for (uint32_t i = 0; i < n_old; i++) n_used += old.pointers[i] != 0 && old.kinds[i].bytes >= 0;
    uint32_t n = 1024;
    while (n / 4 < n_used) n *= 2;
    *l = (struct live){report_alloc((size_t)n * sizeof *l->pointers),
                       report_alloc((size_t)n * sizeof *l->kinds), n - 1, n_used};
    for (uint32_t i = 0; i < n_old; i++) {
        if (old.pointers[i] == 0 || old.kinds[i].bytes < 0) continue;
        uint32_t slot = live_slot(l, old.pointers[i]);
        l->pointers[slot] = old.pointers[i];
        l->kinds[slot] = old.kinds[i];
    }
    free(old.pointers);
    free(old.kinds);
}

static bool raw_allocate(struct recording *r, struct span_text s) {
    struct kind_of kind;
    uint64_t pointer;
    struct span_text t = s;
    if (!read_kind(r, s, &kind) || !field(&t, &pointer) || !field(&t, &pointer) ||
        !field(&t, &pointer) || pointer == 0)
        return false;
    if (r->live.n * 2 >= r->live.mask) live_grow(&r->live);
    uint32_t slot = live_slot(&r->live, pointer);
    if (r->live.pointers[slot] == 0)
        r->live.n++;
    else if (r->live.kinds[slot].bytes >= 0)
        release(r, r->live.kinds[slot]); /* a free was missed */
    r->live.pointers[slot] = pointer;
    r->live.kinds[slot] = kind;
    allocate(r, kind);
    return true;
}

static bool raw_release(struct recording *r, struct span_text s) {
    uint64_t pointer;
    if (!field(&s, &pointer) || pointer == 0) return false;
    if (r->live.pointers == NULL) return true;
    uint32_t slot = live_slot(&r->live, pointer);
    if (r->live.pointers[slot] == 0 || r->live.kinds[slot].bytes < 0) return true; /* from before */
    release(r, r->live.kinds[slot]);
    r->live.kinds[slot].bytes = -1;
    return true;
}

static bool read_change(struct recording *r, struct span_text s, bool is_more) {
    uint32_t kind;
    if (r->is_raw) return is_more ? raw_allocate(r, s) : raw_release(r, s);
    if (!number_below(&s, r->n_kinds, &kind)) return false;
    if (is_more)
        allocate(r, r->kinds[kind]);
    else
        release(r, r->kinds[kind]);
    return true;
}

/* ---- the whole */

static bool read_line(struct recording *r, struct span_text line) {
    struct span_text s = {line.at + 1, line.end}, text;
    struct kind_of kind;
    switch (*line.at) {
    case 's': return read_string(r, s);
    case 'i': return read_frame(r, s);
    case 't': return read_trace(r, s);
    case 'a':
        if (!read_kind(r, s, &kind)) return false;
        *REPORT_PUSH(r->kinds, r->n_kinds, r->cap_kinds) = kind;
        return true;
    case '+': return read_change(r, s, true);
    case '-': return read_change(r, s, false);
    case 'x':
        if (!counted_text(&s, &text)) return false;
        r->is_raw = true;
        r->program = keep_text(r, text);
        return true;
    case 'm': return read_module(r, s);
    case '#': r->n_lines++; return true;
    default: return true; /* times, resident memory, suppressions, what newer ones write */
    }
}

/* The stack of a trace, leaf first. Traces in one chain are n * n / 2 frames: so each of them is counted before it is kept. */
static int trace_frames(struct recording *r, uint32_t trace) {
    struct input *in = r->in;
    uint64_t n_left = in->profile->max_frames - in->profile->n_frames;
    frames_clear(in);
    for (uint32_t k = trace + 1; k != 0; k = r->traces[k - 1].parent) {
        if (in->n_frames >= n_left)
            return report_fail(
                in->error, EFBIG,
                "'%s': its stacks have more than %llu frames; --limit=SIZE reads more", in->name,
                (unsigned long long)in->profile->max_frames);
        *REPORT_PUSH(in->frames, in->n_frames, in->cap_frames) = r->traces[k - 1].location;
    }
    return 0;
}

static int add_samples(struct recording *r) {
    for (uint32_t i = 0; i < r->n_traces; i++) {
        const struct trace *t = touch(r, i);
        if (t->allocated.objects == 0) continue;
        int error = trace_frames(r, i);
        if (error != 0) return error;
        double values[] = {t->allocated.objects, t->allocated.bytes, t->now.objects,
                           t->now.bytes,         t->at_peak.objects, t->at_peak.bytes};
        frames_sample(r->in, values);
    }
    return 0;
}

static int read_lines(struct recording *r) {
    struct input *in = r->in;
    while (!input_is_done(in)) {
        struct span_text line = input_line(in);
        if (line.at == line.end) continue;
        if (input_is_cut(in) && *line.at != '#') return input_fail_line(in, "has no end");
        if (!read_line(r, line))
            return input_fail_line(in, "does not belong into heaptrack's file: '%.*s'",
                                   span_shown(line), line.at);
    }
    return 0;
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    struct recording r = {.in = in};
    struct span_text line = input_line(in);
    uint64_t version;
    if (input_is_cut(in)) return input_fail_line(in, "has no end");
    (void)span_take(&line, "v ");
    (void)field(&line, &version);
    if (!field(&line, &version) || version != FILE_VERSION)
        return input_fail(in, "is heaptrack's file of version %llu, only %d is known",
                          (unsigned long long)version, FILE_VERSION);
    p->kind = PROFILE_HEAP;
    heap_add_types(p);
    (void)profile_add_type(p, "peak_objects", "count");
    (void)profile_add_type(p, "peak_space", "bytes");
    int error = read_lines(&r);
    if (error == 0) error = add_samples(&r);
    if (error == 0) {
        if (r.is_raw) profile_locate(p);
        if (!r.is_raw && r.n_lines == 0)
            profile_note(p, "'%s': heaptrack did not finish it; the last moments may be missing",
                         in->name);
    }
    free(r.strings);
    free(r.locations);
    free(r.traces);
    free(r.kinds);
    free(r.live.pointers);
    free(r.live.kinds);
    return error;
}

const struct reader reader_heaptrack = {"heaptrack recording", knows, read, KEEPS_NO_NAMES};
