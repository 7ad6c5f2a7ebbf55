/* write_proto.c - a profile as profile.proto, gzipped: read by Go pprof, and by us. The fields and their
 * numbers are in read_proto.c.   Climate: cli.
 */
#include "report/views.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bytes {
    unsigned char *at;
    uint32_t n, cap;
};

static void put_byte(struct bytes *b, unsigned char byte) {
    *REPORT_PUSH(b->at, b->n, b->cap) = byte;
}

static void put_varint(struct bytes *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) put_byte(b, (unsigned char)(v | 0x80));
    put_byte(b, (unsigned char)v);
}

static void put_number(struct bytes *b, unsigned field, uint64_t v) {
    if (v == 0) return; /* what a reader assumes */
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct bytes *b, unsigned field, const void *from, uint32_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    REPORT_ROOM(b->at, b->n, b->cap, n);
    if (n > 0) memcpy(b->at + b->n, from, n);
    b->n += n;
}

/* sub becomes a field of b and is empty again */
static void put_message(struct bytes *b, unsigned field, struct bytes *sub) {
    put_bytes(b, field, sub->at, sub->n);
    sub->n = 0;
}

/* What the samples need is written, with the numbers it has; strings get new ones, as they are needed. */
struct writing {
    const struct profile *p;
    struct bytes whole, sub, part;
    bool *is_location, *is_function; /* needed */
    uint32_t *string_of;             /* by string: its new number; 0: none yet */
    uint32_t *strings, n_strings, cap_strings;
};

static uint32_t text(struct writing *w, uint32_t id) {
    if (id == 0) return 0;
    if (w->string_of[id] == 0) {
        *REPORT_PUSH(w->strings, w->n_strings, w->cap_strings) = id;
        w->string_of[id] = w->n_strings; /* 0 is "" */
    }
    return w->string_of[id];
}

static void find_needed(struct writing *w) {
    const struct profile *p = w->p;
    w->is_location = report_alloc(p->n_locations * sizeof *w->is_location);
    w->is_function = report_alloc(p->n_functions * sizeof *w->is_function);
    w->string_of = report_alloc(p->n_strings * sizeof *w->string_of);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const struct profile_stack *s = &p->stacks[p->samples[i].stack];
        for (uint32_t k = 0; k < s->n; k++) w->is_location[p->frames[s->first + k]] = true;
    }
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        for (uint32_t k = 0; w->is_location[i] && k < l->n_lines; k++)
            w->is_function[p->lines[l->first_line + k].function] = true;
    }
}

static void put_type(struct writing *w, unsigned field, const struct profile_type *t) {
    put_number(&w->sub, 1, text(w, t->name));
    put_number(&w->sub, 2, text(w, t->unit));
    put_message(&w->whole, field, &w->sub);
}

static void put_sample(struct writing *w, uint32_t i) {
    const struct profile *p = w->p;
    const struct profile_sample *s = &p->samples[i];
    const struct profile_stack *stack = &p->stacks[s->stack];
    for (uint32_t k = 0; k < stack->n; k++) put_varint(&w->part, p->frames[stack->first + k] + 1);
    put_message(&w->sub, 1, &w->part);
    for (uint32_t t = 0; t < p->n_types; t++)
        put_varint(&w->part, (uint64_t)whole_value(p->values[(size_t)i * p->n_types + t]));
    put_message(&w->sub, 2, &w->part);
    for (uint32_t k = 0; k < s->n_labels; k++) {
        const struct profile_label *l = &p->labels[s->first_label + k];
        put_number(&w->part, 1, text(w, l->key));
        put_number(&w->part, 2, text(w, l->text));
        put_number(&w->part, 3, (uint64_t)l->number);
        put_number(&w->part, 4, text(w, l->unit));
        put_message(&w->sub, 3, &w->part);
    }
    put_message(&w->whole, 2, &w->sub);
}

static void put_mapping(struct writing *w, uint32_t i, bool has_functions) {
    const struct profile_mapping *m = &w->p->mappings[i];
    put_number(&w->sub, 1, i + 1);
    put_number(&w->sub, 2, m->start);
    put_number(&w->sub, 3, m->limit);
    put_number(&w->sub, 4, m->offset);
    put_number(&w->sub, 5, text(w, mapping_name(m)));
    put_number(&w->sub, 6, text(w, m->build_id));
    for (unsigned field = 7; field <= 10 && has_functions; field++) put_number(&w->sub, field, 1);
    put_message(&w->whole, 3, &w->sub);
}

static void put_location(struct writing *w, uint32_t i) {
    const struct profile *p = w->p;
    const struct profile_location *l = &p->locations[i];
    if (!w->is_location[i]) return;
    put_number(&w->sub, 1, i + 1);
    put_number(&w->sub, 2, l->mapping == PROFILE_NONE ? 0 : l->mapping + 1);
    put_number(&w->sub, 3, l->address);
    for (uint32_t k = 0; k < l->n_lines; k++) {
        put_number(&w->part, 1, p->lines[l->first_line + k].function + 1);
        put_number(&w->part, 2, p->lines[l->first_line + k].line);
        put_number(&w->part, 3, p->lines[l->first_line + k].column);
        put_message(&w->sub, 4, &w->part);
    }
    put_message(&w->whole, 4, &w->sub);
}

static void put_function(struct writing *w, uint32_t i) {
    const struct profile_function *f = &w->p->functions[i];
    if (!w->is_function[i]) return;
    put_number(&w->sub, 1, i + 1);
    put_number(&w->sub, 2, text(w, f->name));
    put_number(&w->sub, 3, text(w, f->system_name ? f->system_name : f->name));
    put_number(&w->sub, 4, text(w, f->file));
    put_number(&w->sub, 5, f->start_line);
    put_message(&w->whole, 5, &w->sub);
}

/* Symbols are in the file for a mapping when any of its locations has lines. */
static bool *mappings_with_names(const struct profile *p) {
    bool *has = report_alloc(p->n_mappings * sizeof *has);
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping != PROFILE_NONE && p->locations[i].n_lines > 0)
            has[p->locations[i].mapping] = true;
    return has;
}

static void put_all(struct writing *w) {
    const struct profile *p = w->p;
    bool *has_functions = mappings_with_names(p);
    for (uint32_t i = 0; i < p->n_types; i++) put_type(w, 1, &p->types[i]);
    for (uint32_t i = 0; i < p->n_samples; i++) put_sample(w, i);
    for (uint32_t i = 0; i < p->n_mappings; i++) put_mapping(w, i, has_functions[i]);
    for (uint32_t i = 0; i < p->n_locations; i++) put_location(w, i);
    for (uint32_t i = 0; i < p->n_functions; i++) put_function(w, i);
    put_number(&w->whole, 7, text(w, p->drop_frames));
    put_number(&w->whole, 8, text(w, p->keep_frames));
    put_number(&w->whole, 9, (uint64_t)p->time_ns);
    put_number(&w->whole, 10, (uint64_t)p->duration_ns);
    if (p->period_type.name) put_type(w, 11, &p->period_type);
    put_number(&w->whole, 12, (uint64_t)p->period);
    for (uint32_t i = 0; i < p->n_comments; i++) put_number(&w->whole, 13, text(w, p->comments[i]));
    put_number(&w->whole, 14, text(w, p->types[p->default_type].name));
    put_bytes(&w->whole, 6, "", 0);
    for (uint32_t i = 0; i < w->n_strings; i++)
        put_bytes(&w->whole, 6, profile_text(p, w->strings[i]), p->strings[w->strings[i]].n);
    free(has_functions);
}

static int write_packed(const struct bytes *b, FILE *out) {
    unsigned char chunk[1 << 14] = {0};
    z_stream z = {.next_in = b->at, .avail_in = b->n};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    int status;
    do {
        z.next_out = chunk;
        z.avail_out = sizeof chunk;
        status = deflate(&z, Z_FINISH);
        if (fwrite(chunk, 1, sizeof chunk - z.avail_out, out) != sizeof chunk - z.avail_out) break;
    } while (status == Z_OK);
    (void)deflateEnd(&z);
    return status == Z_STREAM_END && !ferror(out) ? 0 : -1;
}

int profile_write_proto(const struct profile *p, FILE *out) {
    struct writing w = {.p = p};
    find_needed(&w);
    put_all(&w);
    int result = write_packed(&w.whole, out);
    void *const arrays[] = {w.whole.at,    w.sub.at,    w.part.at, w.is_location,
                            w.is_function, w.string_of, w.strings};
    for (unsigned i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    return result;
}
