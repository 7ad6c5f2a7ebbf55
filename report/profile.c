/* profile.c - see profile.h.
 *
 * Four kinds of things are kept once each: strings, functions, locations, stacks. Each has an index
 * whose hash is computed from the element itself, so that the arrays hold nothing but the data.
 *
 * Climate: cli.
 */
#include "report/profile.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_STEP (1.0 / 1024) /* of values in differences: see round_for_sums() */

/* ---- hashes of elements, for index_added() */

static uint64_t string_hash(const void *owner, uint32_t id) {
    const struct profile *p = owner;
    return hash_bytes(p->string_bytes + p->strings[id].at, p->strings[id].n);
}

static uint64_t function_key(const struct profile_function *f) {
    return hash_mix(hash_mix(hash_mix(1, f->name), f->system_name), f->file);
}

static uint64_t function_hash(const void *owner, uint32_t id) {
    return function_key(&((const struct profile *)owner)->functions[id]);
}

static uint64_t location_key(uint32_t mapping, uint64_t address, const struct profile_line *lines,
                             uint32_t n) {
    uint64_t h = hash_mix(hash_mix(2, mapping), address);
    if (address == 0)
        for (uint32_t i = 0; i < n; i++)
            h = hash_mix(hash_mix(hash_mix(h, lines[i].function), lines[i].line), lines[i].column);
    return h;
}

static uint64_t location_hash(const void *owner, uint32_t id) {
    const struct profile *p = owner;
    const struct profile_location *l = &p->locations[id];
    return location_key(l->mapping, l->address, p->lines + l->first_line, l->n_lines);
}

static uint64_t stack_key(const uint32_t *frames, uint32_t n) {
    return n > 0 ? hash_bytes(frames, n * sizeof *frames) : 0;
}

static uint64_t stack_hash(const void *owner, uint32_t id) {
    const struct profile *p = owner;
    const struct profile_stack *s = &p->stacks[id];
    return s->n > 0 ? stack_key(p->frames + s->first, s->n) : stack_key(NULL, 0);
}

/* ---- the whole */

struct profile *profile_new(void) {
    struct profile *p = report_alloc(sizeof *p);
    p->max_frames = UINT64_MAX;
    index_init(&p->string_index);
    index_init(&p->function_index);
    index_init(&p->location_index);
    index_init(&p->stack_index);
    /* pointers into these are made before there is anything in them */
    REPORT_ROOM(p->lines, 0, p->cap_lines, 1);
    REPORT_ROOM(p->frames, 0, p->cap_frames, 1);
    REPORT_ROOM(p->strings, 0, p->cap_strings, 1);
    REPORT_ROOM(p->string_bytes, 0, p->cap_string_bytes, 1);
    (void)profile_string_n(p, "", 0); /* number 0 */
    return p;
}

void profile_free(struct profile *p) {
    if (p == NULL) return;
    void *const arrays[] = {p->types,   p->mappings,     p->functions,   p->locations,
                            p->lines,   p->stacks,       p->frames,      p->samples,
                            p->values,  p->labels,       p->notes,       p->comments,
                            p->strings, p->string_bytes, p->base_totals, p->variances};
    for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    index_free(&p->string_index);
    index_free(&p->function_index);
    index_free(&p->location_index);
    index_free(&p->stack_index);
    free(p);
}

static bool locations_are_valid(const struct profile *p) {
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        if (l->mapping != PROFILE_NONE && l->mapping >= p->n_mappings) return false;
        if (l->first_line > p->n_lines || l->n_lines > p->n_lines - l->first_line) return false;
    }
    for (uint32_t i = 0; i < p->n_lines; i++)
        if (p->lines[i].function >= p->n_functions) return false;
    return true;
}

static bool stacks_are_valid(const struct profile *p) {
    for (uint32_t i = 0; i < p->n_stacks; i++) {
        const struct profile_stack *s = &p->stacks[i];
        if (s->first > p->n_frames || s->n > p->n_frames - s->first) return false;
    }
    for (uint32_t i = 0; i < p->n_frames; i++)
        if (p->frames[i] >= p->n_locations) return false;
    return true;
}

bool profile_is_valid(const struct profile *p) {
    if (p->n_types == 0 || p->default_type >= p->n_types) return false;
    if (p->n_values != (uint64_t)p->n_samples * p->n_types) return false;
    if (p->n_variances != 0 && p->n_variances != p->n_values) return false;
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const struct profile_function *f = &p->functions[i];
        if (f->name >= p->n_strings || f->system_name >= p->n_strings || f->file >= p->n_strings)
            return false;
    }
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        if (s->stack >= p->n_stacks || s->first_label > p->n_labels ||
            s->n_labels > p->n_labels - s->first_label)
            return false;
    }
    return locations_are_valid(p) && stacks_are_valid(p);
}

/* ---- strings */

uint32_t profile_string_n(struct profile *p, const char *text, size_t n) {
    uint64_t hash = hash_bytes(text, n);
    uint32_t *slot = index_first(&p->string_index, hash);
    for (; *slot != INDEX_FREE; slot = index_next(&p->string_index, slot)) {
        const struct profile_text *s = &p->strings[*slot];
        if (s->n == n && memcmp(p->string_bytes + s->at, text, n) == 0) return *slot;
    }
    if (n >= UINT32_MAX / 2) n = UINT32_MAX / 2; /* report_room() ends it */
    uint32_t id = p->n_strings, at = p->n_string_bytes;
    *slot = id;
    REPORT_ROOM(p->string_bytes, at, p->cap_string_bytes, (uint32_t)n + 1);
    memcpy(p->string_bytes + at, text, n);
    p->string_bytes[at + n] = '\0';
    p->n_string_bytes += (uint32_t)n + 1;
    *REPORT_PUSH(p->strings, p->n_strings, p->cap_strings) = (struct profile_text){at, (uint32_t)n};
    index_added(&p->string_index, string_hash, p);
    return id;
}

uint32_t profile_string(struct profile *p, const char *text) {
    return profile_string_n(p, text, strlen(text));
}

void profile_note(struct profile *p, const char *format, ...) {
    char line[512];
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    uint32_t note = profile_string(p, line);
    *REPORT_PUSH(p->notes, p->n_notes, p->cap_notes) = note;
}

/* ---- what is missing */

#define GAP "vitrine: incomplete: " /* begins a comment */

const char *profile_gap(const struct profile *p, uint32_t number) {
    for (uint32_t i = 0; number < PROFILE_MAX_GAPS && i < p->n_comments; i++) {
        const char *comment = profile_text(p, p->comments[i]);
        if (strncmp(comment, GAP, strlen(GAP)) == 0 && number-- == 0) return comment + strlen(GAP);
    }
    return NULL;
}

void profile_add_gap(struct profile *p, const char *text) {
    char comment[512];
    uint32_t n = 0;
    for (const char *gap; (gap = profile_gap(p, n)) != NULL; n++)
        if (strcmp(gap, text) == 0) return;
    if (n == PROFILE_MAX_GAPS) return;
    (void)snprintf(comment, sizeof comment, GAP "%s", text);
    uint32_t id = profile_string(p, comment);
    *REPORT_PUSH(p->comments, p->n_comments, p->cap_comments) = id;
}

/* ---- adding */

uint32_t profile_add_type(struct profile *p, const char *name, const char *unit) {
    struct profile_type t = {profile_string(p, name), profile_string(p, unit)};
    *REPORT_PUSH(p->types, p->n_types, p->cap_types) = t;
    return p->n_types - 1;
}

uint32_t profile_add_mapping(struct profile *p, const struct profile_mapping *m) {
    *REPORT_PUSH(p->mappings, p->n_mappings, p->cap_mappings) = *m;
    return p->n_mappings - 1;
}

void mapping_set_name(struct profile *p, struct profile_mapping *m, uint32_t name) {
    static const char end[] = " (deleted)";
    size_t n = p->strings[name].n, n_end = sizeof end - 1;
    m->file = name;
    if (n <= n_end || strcmp(profile_text(p, name) + n - n_end, end) != 0) return;
    char *file = report_alloc(n); /* the text moves when a string is added */
    memcpy(file, profile_text(p, name), n - n_end);
    m->file = profile_string_n(p, file, n - n_end);
    m->deleted_as = name;
    free(file);
}

uint32_t profile_add_function(struct profile *p, const struct profile_function *f) {
    uint32_t *slot = index_first(&p->function_index, function_key(f));
    for (; *slot != INDEX_FREE; slot = index_next(&p->function_index, slot)) {
        const struct profile_function *old = &p->functions[*slot];
        if (old->name == f->name && old->system_name == f->system_name && old->file == f->file)
            return *slot;
    }
    uint32_t id = *slot = p->n_functions;
    *REPORT_PUSH(p->functions, p->n_functions, p->cap_functions) = *f;
    index_added(&p->function_index, function_hash, p);
    return id;
}

static bool same_lines(const struct profile *p, const struct profile_location *l,
                       const struct profile_line *lines, uint32_t n) {
    if (l->n_lines != n) return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct profile_line *old = &p->lines[l->first_line + i];
        if (old->function != lines[i].function || old->line != lines[i].line ||
            old->column != lines[i].column)
            return false;
    }
    return true;
}

static uint32_t add_location(struct profile *p, uint32_t mapping, uint64_t address,
                             const struct profile_line *lines, uint32_t n) {
    uint64_t hash = location_key(mapping, address, lines, n);
    uint32_t *slot = index_first(&p->location_index, hash);
    for (; *slot != INDEX_FREE; slot = index_next(&p->location_index, slot)) {
        const struct profile_location *l = &p->locations[*slot];
        if (l->address == address && l->mapping == mapping &&
            (address != 0 || same_lines(p, l, lines, n)))
            return *slot;
    }
    uint32_t id = *slot = p->n_locations;
    *REPORT_PUSH(p->locations, p->n_locations, p->cap_locations) =
        (struct profile_location){.address = address, .mapping = mapping};
    if (n > 0) profile_set_lines(p, id, lines, n);
    index_added(&p->location_index, location_hash, p);
    return id;
}

uint32_t profile_add_location(struct profile *p, uint32_t mapping, uint64_t address) {
    return add_location(p, mapping, address, NULL, 0);
}

uint32_t profile_add_named(struct profile *p, uint32_t mapping, const struct profile_line *lines,
                           uint32_t n) {
    return add_location(p, mapping, 0, lines, n);
}

void profile_set_lines(struct profile *p, uint32_t location, const struct profile_line *lines,
                       uint32_t n) {
    REPORT_ROOM(p->lines, p->n_lines, p->cap_lines, n);
    memcpy(p->lines + p->n_lines, lines, n * sizeof *lines);
    p->locations[location].first_line = p->n_lines;
    p->locations[location].n_lines = n;
    p->n_lines += n;
}

/* The index keeps to the first. */
uint32_t profile_add_beside(struct profile *p, uint32_t location, const struct profile_line *lines,
                            uint32_t n) {
    struct profile_location l = p->locations[location];
    l.n_lines = 0;
    *REPORT_PUSH(p->locations, p->n_locations, p->cap_locations) = l;
    profile_set_lines(p, p->n_locations - 1, lines, n);
    return p->n_locations - 1;
}

uint32_t profile_add_stack(struct profile *p, const uint32_t *locations, uint32_t n) {
    uint32_t *slot = index_first(&p->stack_index, stack_key(locations, n));
    for (; *slot != INDEX_FREE; slot = index_next(&p->stack_index, slot)) {
        const struct profile_stack *s = &p->stacks[*slot];
        if (s->n == n &&
            (n == 0 || memcmp(p->frames + s->first, locations, n * sizeof *locations) == 0))
            return *slot;
    }
    uint32_t id = *slot = p->n_stacks, first = p->n_frames;
    REPORT_ROOM(p->frames, first, p->cap_frames, n + 1);
    if (n > 0) memcpy(p->frames + first, locations, n * sizeof *locations);
    p->n_frames += n;
    *REPORT_PUSH(p->stacks, p->n_stacks, p->cap_stacks) = (struct profile_stack){first, n};
    index_added(&p->stack_index, stack_hash, p);
    return id;
}

void profile_add_sample(struct profile *p, uint32_t stack, const double *values) {
    *REPORT_PUSH(p->samples, p->n_samples, p->cap_samples) =
        (struct profile_sample){.stack = stack, .first_label = p->n_labels};
    REPORT_ROOM(p->values, p->n_values, p->cap_values, p->n_types);
    memcpy(p->values + p->n_values, values, p->n_types * sizeof *values);
    p->n_values += p->n_types;
}

void profile_add_label(struct profile *p, const struct profile_label *l) {
    *REPORT_PUSH(p->labels, p->n_labels, p->cap_labels) = *l;
    p->samples[p->n_samples - 1].n_labels++;
}

/* ---- addresses and mappings */

struct span {
    uint64_t start, limit;
    uint32_t mapping;
};

static int by_start(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->mapping < y->mapping ? -1 : x->mapping > y->mapping;
}

static uint32_t span_of(const struct span *spans, uint32_t n, uint64_t address) {
    uint32_t low = 0, high = n; /* spans[low - 1].start <= address < spans[high].start */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (spans[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < spans[low - 1].limit ? spans[low - 1].mapping : PROFILE_NONE;
}

void profile_locate(struct profile *p) {
    struct span *spans = report_alloc(p->n_mappings * sizeof *spans);
    for (uint32_t i = 0; i < p->n_mappings; i++)
        spans[i] = (struct span){p->mappings[i].start, p->mappings[i].limit, i};
    if (p->n_mappings > 0) qsort(spans, p->n_mappings, sizeof *spans, by_start);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        struct profile_location *l = &p->locations[i];
        if (l->mapping == PROFILE_NONE && l->address != 0)
            l->mapping = span_of(spans, p->n_mappings, l->address);
    }
    free(spans);
    /* the hashes have changed with the mappings */
    index_free(&p->location_index);
    index_init(&p->location_index);
    for (uint32_t i = 0; i < p->n_locations; i++) {
        uint32_t *slot = index_first(&p->location_index, location_hash(p, i));
        while (*slot != INDEX_FREE) slot = index_next(&p->location_index, slot);
        *slot = i;
        index_added(&p->location_index, location_hash, p);
    }
}

/* ---- merging */

/* From numbers of the one profile to numbers of the other. */
struct moving {
    struct profile *to;
    const struct profile *from;
    uint32_t *strings, *mappings, *functions, *locations, *stacks; /* PROFILE_NONE: not yet moved */
};

static uint32_t move_string(struct moving *m, uint32_t id) {
    if (m->strings[id] == PROFILE_NONE)
        m->strings[id] = profile_string_n(m->to, profile_text(m->from, id), m->from->strings[id].n);
    return m->strings[id];
}

static bool is_same_file(const struct profile_mapping *a, const struct profile_mapping *b) {
    if (a->offset != b->offset || a->limit - a->start != b->limit - b->start) return false;
    if (a->build_id != 0 && b->build_id != 0) return a->build_id == b->build_id;
    return a->file == b->file && a->deleted_as == b->deleted_as;
}

static uint32_t move_mapping(struct moving *m, uint32_t id) {
    if (id == PROFILE_NONE) return id;
    if (m->mappings[id] != PROFILE_NONE) return m->mappings[id];
    struct profile_mapping moved = m->from->mappings[id];
    moved.file = move_string(m, moved.file);
    moved.deleted_as = move_string(m, moved.deleted_as);
    moved.build_id = move_string(m, moved.build_id);
    uint32_t found = 0;
    while (found < m->to->n_mappings && !is_same_file(&m->to->mappings[found], &moved)) found++;
    if (found == m->to->n_mappings) (void)profile_add_mapping(m->to, &moved);
    return m->mappings[id] = found;
}

static uint32_t move_function(struct moving *m, uint32_t id) {
    if (m->functions[id] != PROFILE_NONE) return m->functions[id];
    struct profile_function f = m->from->functions[id];
    f.name = move_string(m, f.name);
    f.system_name = move_string(m, f.system_name);
    f.file = move_string(m, f.file);
    return m->functions[id] = profile_add_function(m->to, &f);
}

/* Two builds of a program at one path look like one file when neither profile has build-ids; what is known of the same
 * place in both tells them apart. */
static bool is_other_code(const struct moving *m, uint32_t moved, uint32_t from_mapping,
                          const struct profile_line *lines, uint32_t n) {
    const struct profile_location *l = &m->to->locations[moved];
    bool is_proven = l->mapping != PROFILE_NONE && m->to->mappings[l->mapping].build_id != 0 &&
                     m->from->mappings[from_mapping].build_id != 0;
    return !is_proven && n > 0 && l->n_lines > 0 && !same_lines(m->to, l, lines, n);
}

static uint32_t move_location(struct moving *m, uint32_t id) {
    if (m->locations[id] != PROFILE_NONE) return m->locations[id];
    struct profile_location l = m->from->locations[id];
    struct profile_line *lines = report_alloc(l.n_lines * sizeof *lines);
    for (uint32_t i = 0; i < l.n_lines; i++) {
        lines[i] = m->from->lines[l.first_line + i];
        lines[i].function = move_function(m, lines[i].function);
    }
    uint32_t mapping = move_mapping(m, l.mapping), moved;
    if (l.address == 0) {
        moved = profile_add_named(m->to, mapping, lines, l.n_lines);
    } else {
        if (mapping != PROFILE_NONE)
            l.address += m->to->mappings[mapping].start - m->from->mappings[l.mapping].start;
        moved = profile_add_location(m->to, mapping, l.address);
        if (m->to->locations[moved].n_lines == 0 && l.n_lines > 0)
            profile_set_lines(m->to, moved, lines, l.n_lines);
        else if (is_other_code(m, moved, l.mapping, lines, l.n_lines))
            moved = profile_add_beside(m->to, moved, lines, l.n_lines);
    }
    free(lines);
    return m->locations[id] = moved;
}

static uint32_t move_stack(struct moving *m, uint32_t id) {
    if (m->stacks[id] != PROFILE_NONE) return m->stacks[id];
    struct profile_stack s = m->from->stacks[id];
    uint32_t *locations = report_alloc(s.n * sizeof *locations);
    for (uint32_t i = 0; i < s.n; i++)
        locations[i] = move_location(m, m->from->frames[s.first + i]);
    m->stacks[id] = profile_add_stack(m->to, locations, s.n);
    free(locations);
    return m->stacks[id];
}

static void move_samples(struct moving *m, const uint32_t *types, double factor) {
    const struct profile *from = m->from;
    double *values = report_alloc(m->to->n_types * sizeof *values);
    for (uint32_t i = 0; i < from->n_samples; i++) {
        for (uint32_t t = 0; t < m->to->n_types; t++)
            values[t] = types[t] == PROFILE_NONE
                            ? 0
                            : factor * from->values[(size_t)i * from->n_types + types[t]];
        profile_add_sample(m->to, move_stack(m, from->samples[i].stack), values);
        for (uint32_t k = 0; k < from->samples[i].n_labels; k++) {
            struct profile_label l = from->labels[from->samples[i].first_label + k];
            l.key = move_string(m, l.key);
            l.text = move_string(m, l.text);
            l.unit = move_string(m, l.unit);
            profile_add_label(m->to, &l);
        }
    }
    free(values);
}

/* Of the samples from `first` on, which are those of `from`. Errors of sums and of differences add up alike. */
static void move_variances(struct profile *p, const struct profile *from, uint32_t first,
                           const uint32_t *types, double factor) {
    if (p->n_variances == 0 && from->n_variances == 0) return;
    profile_add_variances(p);
    for (uint32_t i = 0; i < from->n_samples; i++)
        for (uint32_t t = 0; t < p->n_types; t++)
            if (types[t] != PROFILE_NONE)
                p->variances[(size_t)(first + i) * p->n_types + t] =
                    factor * factor * profile_variance(from, i, types[t]);
}

static uint32_t *none_yet(uint32_t n) {
    uint32_t *ids = report_alloc(n * sizeof *ids);
    memset(ids, 0xff, n * sizeof *ids);
    return ids;
}

/* Estimates are fractions, and what is added and taken away again in another order leaves crumbs: "-0.0 MB" of nothing.
 * Multiples of one power of two, of which no sum needs more than 53 bits, have exact sums in any order. */
static void round_for_sums(struct profile *p) {
    for (uint32_t t = 0; t < p->n_types; t++) {
        double gross = 0;
        int exponent;
        for (uint32_t i = t; i < p->n_values; i += p->n_types) gross += fabs(p->values[i]);
        (void)frexp(gross, &exponent);
        double step = fmax(LEAST_STEP, ldexp(1, exponent - 52));
        for (uint32_t i = t; i < p->n_values; i += p->n_types)
            p->values[i] = rint(p->values[i] / step) * step;
    }
}

/* What is read into a new one brings its limit; later ones add theirs. */
static void add_max_frames(struct profile *p, const struct profile *from) {
    bool is_first = p->n_stacks == 0, is_any = from->max_frames > UINT64_MAX - p->max_frames;
    p->max_frames = is_first ? from->max_frames
                    : is_any ? UINT64_MAX
                             : p->max_frames + from->max_frames;
}

int profile_merge(struct profile *p, const struct profile *from, double factor) {
    uint32_t *types = none_yet(p->n_types), n_common = 0;
    for (uint32_t t = 0; t < p->n_types; t++) {
        types[t] = profile_find_type(from, profile_text(p, p->types[t].name));
        n_common += types[t] != PROFILE_NONE;
    }
    if (n_common == 0) {
        free(types);
        return -1;
    }
    struct moving m = {.to = p,
                       .from = from,
                       .strings = none_yet(from->n_strings),
                       .mappings = none_yet(from->n_mappings),
                       .functions = none_yet(from->n_functions),
                       .locations = none_yet(from->n_locations),
                       .stacks = none_yet(from->n_stacks)};
    uint32_t n_before = p->n_samples;
    add_max_frames(p, from);
    move_samples(&m, types, factor);
    move_variances(p, from, n_before, types, factor);
    if (factor < 0) round_for_sums(p);
    p->is_difference = p->is_difference || from->is_difference || factor < 0;
    for (uint32_t i = 0; i < from->n_notes; i++) {
        uint32_t note = move_string(&m, from->notes[i]);
        *REPORT_PUSH(p->notes, p->n_notes, p->cap_notes) = note;
    }
    const char *gap;
    for (uint32_t i = 0; (gap = profile_gap(from, i)) != NULL; i++) profile_add_gap(p, gap);
    if (p->drop_frames == 0) p->drop_frames = move_string(&m, from->drop_frames);
    if (p->keep_frames == 0) p->keep_frames = move_string(&m, from->keep_frames);
    /* unsigned: a damaged file may have any two numbers here */
    p->duration_ns = (int64_t)((uint64_t)p->duration_ns + (uint64_t)from->duration_ns);
    free(m.strings);
    free(m.mappings);
    free(m.functions);
    free(m.locations);
    free(m.stacks);
    free(types);
    return 0;
}

/* ---- asking */

uint32_t profile_find_type(const struct profile *p, const char *name) {
    for (uint32_t t = 0; t < p->n_types; t++)
        if (strcmp(profile_text(p, p->types[t].name), name) == 0) return t;
    if (strncmp(name, "inuse_", 6) == 0) return profile_find_type(p, name + 6);
    return PROFILE_NONE;
}

static void waste_of_sample(struct profile *p, uint32_t sample, uint32_t space, uint32_t of_class) {
    size_t at = (size_t)sample * p->n_types;
    double *value = &p->values[at + of_class], before = *value;
    *value -= p->values[at + space];
    if (p->n_variances && before != 0)
        p->variances[at + of_class] *= *value / before * (*value / before);
}

void profile_make_waste(struct profile *p, const char *name) {
    char text[64];
    size_t n = strcspn(name, "_");
    if (n > 16 || strcmp(name + n, "_waste") != 0) return;
    (void)snprintf(text, sizeof text, "%.*s_space", (int)n, name);
    uint32_t space = profile_find_type(p, text);
    (void)snprintf(text, sizeof text, "%.*s_class_space", (int)n, name);
    uint32_t of_class = profile_find_type(p, text);
    if (space == PROFILE_NONE || of_class == PROFILE_NONE) return;
    for (uint32_t i = 0; i < p->n_samples; i++) waste_of_sample(p, i, space, of_class);
    p->types[of_class].name = profile_string(p, name);
}

void profile_keep_samples(struct profile *p, const bool *is_kept) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        if (!is_kept[i]) continue;
        p->samples[n] = p->samples[i];
        memmove(p->values + (size_t)n * p->n_types, p->values + (size_t)i * p->n_types,
                p->n_types * sizeof *p->values);
        if (p->n_variances > 0)
            memmove(p->variances + (size_t)n * p->n_types, p->variances + (size_t)i * p->n_types,
                    p->n_types * sizeof *p->variances);
        n++;
    }
    p->n_samples = n;
    p->n_values = n * p->n_types;
    if (p->n_variances > 0) p->n_variances = p->n_values;
}

bool profile_has_label(const struct profile *p, uint32_t sample, const char *key) {
    const struct profile_sample *s = &p->samples[sample];
    for (uint32_t i = s->first_label; i < s->first_label + s->n_labels; i++)
        if (strcmp(profile_text(p, p->labels[i].key), key) == 0) return true;
    return false;
}

/* The values of some samples, beside each other. */
static double *gathered(const struct profile *p, const double *values, const uint32_t *samples,
                        uint32_t n) {
    double *out = report_alloc((size_t)n * p->n_types * sizeof *out);
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * p->n_types, values + (size_t)samples[i] * p->n_types,
               p->n_types * sizeof *out);
    return out;
}

/* What is said of all samples together. */
static void copy_facts(struct profile *to, const struct profile *from) {
    to->kind = from->kind;
    to->keeps = from->keeps;
    to->heap_version = from->heap_version;
    to->n_label_leaves = from->n_label_leaves;
    to->default_type = from->default_type;
    to->period_type =
        (struct profile_type){profile_string(to, profile_text(from, from->period_type.name)),
                              profile_string(to, profile_text(from, from->period_type.unit))};
    to->period = from->period;
    to->time_ns = from->time_ns;
    for (uint32_t i = 0; i < from->n_comments; i++) {
        uint32_t comment = profile_string(to, profile_text(from, from->comments[i]));
        *REPORT_PUSH(to->comments, to->n_comments, to->cap_comments) = comment;
    }
    if (from->base_totals == NULL) return;
    to->base_totals = report_alloc(from->n_types * sizeof *to->base_totals);
    memcpy(to->base_totals, from->base_totals, from->n_types * sizeof *to->base_totals);
}

struct profile *profile_part(const struct profile *p, const uint32_t *samples, uint32_t n) {
    struct profile *part = profile_new(), chosen = *p; /* shares all but its samples */
    chosen.samples = report_alloc(n * sizeof *chosen.samples);
    for (uint32_t i = 0; i < n; i++) chosen.samples[i] = p->samples[samples[i]];
    chosen.values = gathered(p, p->values, samples, n);
    chosen.n_samples = n;
    chosen.n_values = n * p->n_types;
    if (p->n_variances > 0) {
        chosen.variances = gathered(p, p->variances, samples, n);
        chosen.n_variances = chosen.n_values;
    }
    for (uint32_t t = 0; t < p->n_types; t++)
        (void)profile_add_type(part, profile_text(p, p->types[t].name),
                               profile_text(p, p->types[t].unit));
    (void)profile_merge(part, &chosen, 1);
    copy_facts(part, p);
    free(chosen.samples);
    free(chosen.values);
    if (p->n_variances > 0) free(chosen.variances);
    return part;
}

double profile_total(const struct profile *p, uint32_t type) {
    double sum = 0;
    for (uint32_t i = 0; i < p->n_samples; i++) sum += p->values[(size_t)i * p->n_types + type];
    return sum;
}

/* ---- how good the values are */

void profile_add_variances(struct profile *p) {
    uint32_t n_more = p->n_values - p->n_variances;
    REPORT_ROOM(p->variances, p->n_variances, p->cap_variances, n_more);
    if (n_more > 0) memset(p->variances + p->n_variances, 0, n_more * sizeof *p->variances);
    p->n_variances = p->n_values;
}

double profile_total_variance(const struct profile *p, uint32_t type) {
    double sum = 0;
    for (uint32_t i = 0; i < p->n_samples; i++) sum += profile_variance(p, i, type);
    return sum;
}

void profile_scale(struct profile *p, uint32_t type, double factor) {
    for (uint32_t i = type; i < p->n_values; i += p->n_types) p->values[i] *= factor;
    for (uint32_t i = type; i < p->n_variances; i += p->n_types) p->variances[i] *= factor * factor;
}
