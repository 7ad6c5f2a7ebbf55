/* read_proto.c - profile.proto, the file of Go pprof and of Vitrine itself, uncompressed.
 *
 * A protobuf message is a row of fields: a key (number << 3 | wire type) and then a varint, 8 bytes, 4 bytes,
 * or a length and that many bytes. The fields of Profile come in any order and refer to each other by id,
 * so the file is walked four times: strings, then what refers to strings, then locations, then samples.
 * Field numbers are those of profile.proto; each is named where it is used.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <stdlib.h>

/* ---- the encoding */

struct bytes {
    const unsigned char *at, *end;
};

struct field {
    uint32_t number;
    unsigned wire;    /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
    uint64_t value;   /* wire 0 */
    struct bytes sub; /* wire 2 */
};

static bool varint(struct bytes *b, uint64_t *value) {
    uint64_t v = 0;
    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        unsigned char byte = *b->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = v;
            return true;
        }
    }
    return false;
}

static bool next_field(struct bytes *b, struct field *f) {
    uint64_t key, n = 0;
    if (!varint(b, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX) return false;
    *f = (struct field){.number = (uint32_t)(key >> 3), .wire = key & 7};
    switch (f->wire) {
    case 0: return varint(b, &f->value);
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2:
        if (!varint(b, &n)) return false;
        break;
    default: return false;
    }
    if ((uint64_t)(b->end - b->at) < n) return false;
    f->sub = (struct bytes){b->at, b->at + n};
    b->at += n;
    return true;
}

/* A repeated number comes one by one or packed: gives the next of either, false when there is none. */
static bool next_number(struct field *f, bool *is_first, uint64_t *value) {
    if (f->wire == 2) return f->sub.at < f->sub.end && varint(&f->sub, value);
    *value = f->value;
    bool has = *is_first && f->wire == 0;
    *is_first = false;
    return has;
}

/* ---- ids of the file and our indexes */

struct ids {
    uint64_t *id;
    uint32_t *ours;
    uint32_t n, cap_id, cap_ours;
    struct index index;
};

static uint64_t id_hash(const void *owner, uint32_t i) {
    return hash_mix(3, ((const struct ids *)owner)->id[i]);
}

static uint32_t *id_slot(const struct ids *ids, uint64_t id) {
    uint32_t *slot = index_first(&ids->index, hash_mix(3, id));
    while (*slot != INDEX_FREE && ids->id[*slot] != id) slot = index_next(&ids->index, slot);
    return slot;
}

static bool id_add(struct ids *ids, uint64_t id, uint32_t ours) {
    uint32_t *slot = id_slot(ids, id);
    if (id == 0 || *slot != INDEX_FREE) return false;
    *slot = ids->n;
    REPORT_ROOM(ids->ours, ids->n, ids->cap_ours, 1);
    REPORT_ROOM(ids->id, ids->n, ids->cap_id, 1);
    ids->id[ids->n] = id;
    ids->ours[ids->n++] = ours;
    index_added(&ids->index, id_hash, ids);
    return true;
}

static bool id_find(const struct ids *ids, uint64_t id, uint32_t *ours) {
    uint32_t *slot = id_slot(ids, id);
    if (*slot == INDEX_FREE) return false;
    *ours = ids->ours[*slot];
    return true;
}

/* ---- reading */

struct reading {
    struct input *in;
    struct profile *p;
    uint32_t *strings; /* number in the file -> ours */
    uint32_t n_strings, cap_strings;
    struct ids mappings, functions, locations;
    double *values;        /* of one sample */
    uint64_t default_type; /* a string of the file; 0: not said */
};

static int malformed(struct reading *r, const char *what) {
    return input_fail(r->in, "is a damaged pprof profile: %s", what);
}

static bool text(const struct reading *r, uint64_t number, uint32_t *ours) {
    if (number >= r->n_strings) return false;
    *ours = r->strings[number];
    return true;
}

static struct bytes all_bytes(const struct input *in) {
    return (struct bytes){(const unsigned char *)in->at, (const unsigned char *)in->end};
}

static int read_strings(struct reading *r) {
    struct bytes b = all_bytes(r->in);
    struct field f;
    while (b.at < b.end) {
        size_t at = (size_t)((const char *)b.at - r->in->begin);
        if (!next_field(&b, &f))
            return input_fail(r->in, "is a pprof profile that is truncated or damaged at byte %zu",
                              at);
        if (f.number != 6 || f.wire != 2) continue;
        size_t n = (size_t)(f.sub.end - f.sub.at);
        if (r->n_strings == 0 && n != 0) return malformed(r, "its first string is not empty");
        uint32_t ours = profile_string_n(r->p, (const char *)f.sub.at, n);
        *REPORT_PUSH(r->strings, r->n_strings, r->cap_strings) = ours;
    }
    return r->n_strings ? 0 : malformed(r, "it has no strings; truncated?");
}

static int read_type(struct reading *r, struct bytes b, struct profile_type *t) {
    struct field f;
    *t = (struct profile_type){0};
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a type is truncated");
        bool ok = f.number == 1   ? text(r, f.value, &t->name)
                  : f.number == 2 ? text(r, f.value, &t->unit)
                                  : true;
        if (!ok) return malformed(r, "a type names a string that is not there");
    }
    return 0;
}

static int read_mapping(struct reading *r, struct bytes b) {
    struct profile_mapping m = {0};
    struct field f;
    uint64_t id = 0;
    bool ok = true;
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a mapping is truncated");
        switch (f.number) {
        case 1: id = f.value; break;
        case 2: m.start = f.value; break;
        case 3: m.limit = f.value; break;
        case 4: m.offset = f.value; break;
        case 5: ok &= text(r, f.value, &m.file); break;
        case 6: ok &= text(r, f.value, &m.build_id); break;
        case 7: /* has functions, file names, line numbers */
        case 8:
        case 9: m.has_functions |= f.value != 0; break;
        default: break;
        }
    }
    if (!ok) return malformed(r, "a mapping names a string that is not there");
    if (!id_add(&r->mappings, id, r->p->n_mappings))
        return malformed(r, "two mappings with one id");
    mapping_set_name(r->p, &m, m.file);
    (void)profile_add_mapping(r->p, &m);
    return 0;
}

static int read_function(struct reading *r, struct bytes b) {
    struct profile_function fn = {0};
    struct field f;
    uint64_t id = 0;
    bool ok = true;
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a function is truncated");
        switch (f.number) {
        case 1: id = f.value; break;
        case 2: ok &= text(r, f.value, &fn.name); break;
        case 3: ok &= text(r, f.value, &fn.system_name); break;
        case 4: ok &= text(r, f.value, &fn.file); break;
        case 5: fn.start_line = (uint32_t)f.value; break;
        default: break;
        }
    }
    if (!ok) return malformed(r, "a function names a string that is not there");
    if (fn.name == 0) fn.name = fn.system_name;
    if (!id_add(&r->functions, id, profile_add_function(r->p, &fn)))
        return malformed(r, "two functions with one id");
    return 0;
}

static int read_line(struct reading *r, struct bytes b, struct profile_line *l) {
    struct field f;
    uint64_t function = 0;
    *l = (struct profile_line){0};
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a line is truncated");
        if (f.number == 1) function = f.value;
        if (f.number == 2 && f.value <= INT32_MAX) l->line = (uint32_t)f.value;
        if (f.number == 3 && f.value <= INT32_MAX) l->column = (uint32_t)f.value;
    }
    if (!id_find(&r->functions, function, &l->function))
        return malformed(r, "a line names a function that is not there");
    return 0;
}

#define MAX_INLINED 256

static int read_location(struct reading *r, struct bytes b) {
    struct profile_line lines[MAX_INLINED];
    struct field f;
    uint64_t id = 0, address = 0, mapping_id = 0;
    uint32_t n = 0, mapping = PROFILE_NONE;
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a location is truncated");
        if (f.number == 1) id = f.value;
        if (f.number == 2) mapping_id = f.value;
        if (f.number == 3) address = f.value;
        if (f.number == 4 && f.wire == 2 && n < MAX_INLINED) {
            int error = read_line(r, f.sub, &lines[n]);
            if (error != 0) return error;
            n++;
        }
    }
    if (mapping_id != 0 && !id_find(&r->mappings, mapping_id, &mapping))
        return malformed(r, "a location names a mapping that is not there");
    uint32_t location = PROFILE_NONE;
    if (address != 0) {
        location = profile_add_location(r->p, mapping, address);
        if (r->p->locations[location].n_lines == 0 && n > 0)
            profile_set_lines(r->p, location, lines, n);
    } else {
        location = profile_add_named(r->p, mapping, lines, n);
    }
    return id_add(&r->locations, id, location) ? 0 : malformed(r, "two locations with one id");
}

static int read_label(struct reading *r, struct bytes b, struct profile_label *l) {
    struct field f;
    bool ok = true;
    *l = (struct profile_label){0};
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a label is truncated");
        switch (f.number) {
        case 1: ok &= text(r, f.value, &l->key); break;
        case 2: ok &= text(r, f.value, &l->text); break;
        case 3: l->number = (int64_t)f.value; break;
        case 4: ok &= text(r, f.value, &l->unit); break;
        default: break;
        }
    }
    return ok ? 0 : malformed(r, "a label names a string that is not there");
}

static int sample_frames(struct reading *r, struct field *f) {
    uint64_t id;
    for (bool is_first = true; next_number(f, &is_first, &id);) {
        uint32_t location;
        if (!id_find(&r->locations, id, &location))
            return malformed(r, "a sample names a location that is not there");
        *REPORT_PUSH(r->in->frames, r->in->n_frames, r->in->cap_frames) = location;
    }
    return 0;
}

static int sample_labels(struct reading *r, struct bytes b) {
    struct field f;
    while (b.at < b.end && next_field(&b, &f)) {
        struct profile_label l;
        if (f.number != 3 || f.wire != 2) continue;
        int error = read_label(r, f.sub, &l);
        if (error != 0) return error;
        profile_add_label(r->p, &l);
    }
    return 0;
}

static int read_sample(struct reading *r, struct bytes b) {
    struct field f;
    uint32_t n_values = 0;
    uint64_t value;
    struct bytes again = b;
    frames_clear(r->in);
    while (b.at < b.end) {
        if (!next_field(&b, &f)) return malformed(r, "a sample is truncated");
        int error = f.number == 1 ? sample_frames(r, &f) : 0;
        if (error != 0) return error;
        if (f.number != 2) continue;
        for (bool is_first = true; next_number(&f, &is_first, &value); n_values++)
            if (n_values < r->p->n_types) r->values[n_values] = (double)(int64_t)value;
    }
    if (n_values != r->p->n_types)
        return input_fail(r->in, "is a damaged pprof profile: a sample has %u values for %u types",
                          n_values, r->p->n_types);
    frames_sample(r->in, r->values);
    return sample_labels(r, again);
}

static int read_scalar(struct reading *r, const struct field *f) {
    struct profile *p = r->p;
    uint32_t comment = 0;
    bool ok = true;
    switch (f->number) {
    case 7: ok = text(r, f->value, &p->drop_frames); break;
    case 8: ok = text(r, f->value, &p->keep_frames); break;
    case 9: p->time_ns = (int64_t)f->value; break;
    case 10: p->duration_ns = (int64_t)f->value; break;
    case 12: p->period = (int64_t)f->value; break;
    case 13:
        ok = text(r, f->value, &comment);
        if (ok) *REPORT_PUSH(p->comments, p->n_comments, p->cap_comments) = comment;
        break;
    case 14: r->default_type = f->value; break;
    default: break;
    }
    return ok ? 0 : malformed(r, "it names a string that is not there; truncated?");
}

enum walk { WALK_TABLES, WALK_LOCATIONS, WALK_SAMPLES };

static int read_top_field(struct reading *r, enum walk walk, const struct field *f) {
    struct profile_type t;
    int error = 0;
    if (walk == WALK_LOCATIONS)
        return f->number == 4 && f->wire == 2 ? read_location(r, f->sub) : 0;
    if (walk == WALK_SAMPLES) return f->number == 2 && f->wire == 2 ? read_sample(r, f->sub) : 0;
    if (f->wire == 0) return read_scalar(r, f);
    if (f->wire != 2) return 0;
    switch (f->number) {
    case 1:
        error = read_type(r, f->sub, &t);
        if (error == 0) *REPORT_PUSH(r->p->types, r->p->n_types, r->p->cap_types) = t;
        return error;
    case 3: return read_mapping(r, f->sub);
    case 5: return read_function(r, f->sub);
    case 11: return read_type(r, f->sub, &r->p->period_type);
    case 13: { /* comments, packed */
        struct field packed = *f;
        uint64_t number;
        for (bool is_first = true; next_number(&packed, &is_first, &number);) {
            struct field one = {.number = 13, .value = number};
            error = read_scalar(r, &one);
            if (error != 0) return error;
        }
        return 0;
    }
    default: return 0;
    }
}

static int walk_fields(struct reading *r, enum walk walk) {
    struct bytes b = all_bytes(r->in);
    struct field f;
    int error = 0;
    while (error == 0 && b.at < b.end && next_field(&b, &f)) error = read_top_field(r, walk, &f);
    return error;
}

static enum profile_kind kind_of(const struct profile *p) {
    if (profile_find_type(p, "inuse_space") != PROFILE_NONE) return PROFILE_HEAP;
    if (profile_find_type(p, "cpu") != PROFILE_NONE) return PROFILE_CPU;
    if (profile_find_type(p, "delay") != PROFILE_NONE) return PROFILE_CONTENTION;
    return PROFILE_OTHER;
}

static int choose_default(struct reading *r) {
    struct profile *p = r->p;
    uint32_t name;
    if (p->n_types == 0) return malformed(r, "it has no sample types");
    p->default_type = p->n_types - 1;
    if (!text(r, r->default_type, &name)) return malformed(r, "its default type is not there");
    for (uint32_t t = 0; name != 0 && t < p->n_types; t++)
        if (p->types[t].name == name) p->default_type = t;
    p->kind = kind_of(p);
    r->values = report_alloc(p->n_types * sizeof *r->values);
    return 0;
}

/* The library begins its files with the empty string and the name of a type (src/dump/proto.c); other writers that we know begin with
 * a message. */
static bool begins_as_ours(const struct input *in) {
    static const char strings[] = {6 << 3 | 2, 0, 6 << 3 | 2};
    return (size_t)(in->end - in->begin) >= sizeof strings &&
           memcmp(in->begin, strings, sizeof strings) == 0;
}

/* The library ends its files with the default type. Without that, such a file would look whole wherever a field ends. Where it has
 * no comment yet, it ends within its head, and has nothing that samples refer to. */
static bool has_end(const struct reading *r) {
    const struct profile *p = r->p;
    if (r->default_type != 0 || !begins_as_ours(r->in)) return true;
    if (p->n_comments == 0) return p->n_mappings > 0 || p->n_functions > 0;
    return strncmp(profile_text(p, p->comments[0]), "vitrine ", 8) != 0;
}

static int read(struct input *in) {
    struct reading r = {.in = in, .p = in->profile};
    index_init(&r.mappings.index);
    index_init(&r.functions.index);
    index_init(&r.locations.index);
    int error = read_strings(&r);
    if (error == 0) error = walk_fields(&r, WALK_TABLES);
    if (error == 0 && !has_end(&r))
        error = input_fail(in, "is truncated: the end that Vitrine writes is missing");
    if (error == 0) error = choose_default(&r);
    if (error == 0) error = walk_fields(&r, WALK_LOCATIONS);
    if (error == 0) error = walk_fields(&r, WALK_SAMPLES);
    struct ids *all[] = {&r.mappings, &r.functions, &r.locations};
    for (unsigned i = 0; i < 3; i++) {
        free(all[i]->id);
        free(all[i]->ours);
        index_free(&all[i]->index);
    }
    free(r.values);
    free(r.strings);
    return error;
}

/* It begins with a sample type, as most writers have it, or as the library does, or it is all fields to the end. */
static bool knows(const struct input *in) {
    struct bytes b = all_bytes(in);
    struct field f;
    bool has_strings = false;
    if (begins_as_ours(in)) return true;
    if (!next_field(&b, &f)) return false;
    if (f.number == 1 && f.wire == 2 && f.sub.end - f.sub.at >= 2 && f.sub.end - f.sub.at <= 20 &&
        f.sub.at[0] == 0x08)
        return true;
    for (b = all_bytes(in); b.at < b.end;) {
        if (!next_field(&b, &f) || f.number > 64) return false;
        if (f.number == 6 && f.wire == 2) {
            if (!has_strings && f.sub.at != f.sub.end) return false;
            has_strings = true;
        }
    }
    return has_strings;
}

const struct reader reader_proto = {"pprof profile", knows, read, KEEPS_NAMES_INSIDE};
