/* proto.c - see proto.h.
 *
 *   Profile   = { field }*            in any order, so everything is written when it is first needed:
 *     6 string_table   "" first, others before the message that names them
 *     1 sample_type    { 1 type, 2 unit }
 *     3 mapping        the executable ones, the program first
 *     4 location       an address; no functions, no lines
 *     2 sample         { 1 location ids, innermost first; 2 values; 3 labels }
 *     9, 10, 11, 12, 13   time, duration, period type and period, comment
 *     14 default_type  the last field: a file without it is truncated
 *
 * One pass over the source: a stack that appears while we write is never a sample without its locations. What was written
 * already is kept in two tables of fixed size; when one is full it is emptied, and addresses or strings that come again are
 * written again under new numbers, which is legal. So neither the number of stacks nor that of strings has a limit.
 *
 * Climate: host, no malloc.   Owns: its working memory.
 */
#include "dump/proto.h"
#include "os/os.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Field numbers of each message. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3, LABEL_UNIT = 4 };
enum {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3 };

#define ADDRESS_BITS 16
/* Large programs have some 10,000 call sites that allocate; the table takes 1 MiB. */
#define N_ADDRESSES (1u << ADDRESS_BITS)
#define N_STRINGS (1u << 11)
#define STRINGS_BYTES KiB(64)
#define FIRST_NUMBERS 1024

struct address_slot {
    uintptr_t address;
    uint64_t id; /* 0: empty */
};

struct string_slot {
    uint64_t id; /* 0: empty; number 0 is "" and never looked up */
    uint32_t at, n_bytes;
};

struct vt_proto_known { /* what has been written so far; mapped, so it begins as zeros */
    struct address_slot address[N_ADDRESSES];
    struct string_slot string[N_STRINGS];
    char strings[STRINGS_BYTES];
};

/* ---- the wire format ---- */

static void put_varint(struct vt_text *t, uint64_t n) {
    for (; n >= 0x80; n >>= 7) vt__text_char(t, (char)(uint8_t)(n | 0x80));
    vt__text_char(t, (char)(uint8_t)n);
}

static size_t varint_bytes(uint64_t n) { return n == 0 ? 1 : vt_log2(n) / 7 + 1; }

static void put_number(struct vt_text *t, unsigned field, uint64_t n) {
    put_varint(t, field << 3 | WIRE_VARINT);
    put_varint(t, n);
}

static size_t number_bytes(uint64_t n) { return 1 + varint_bytes(n); } /* fields below 16 */

/* The head of a message, string or packed array of n_bytes. */
static void put_head(struct vt_text *t, unsigned field, size_t n_bytes) {
    put_varint(t, field << 3 | WIRE_BYTES);
    put_varint(t, n_bytes);
}

static size_t part_bytes(size_t n_bytes) { return 1 + varint_bytes(n_bytes) + n_bytes; }

static size_t packed_bytes(const uint64_t *n, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += varint_bytes(n[i]);
    return sum;
}

static void put_packed(struct vt_text *t, unsigned field, const uint64_t *n, size_t count) {
    put_head(t, field, packed_bytes(n, count));
    for (size_t i = 0; i < count; i++) put_varint(t, n[i]);
}

/* ---- strings ---- */

/* How many bytes the UTF-8 character at s takes; 0: it is none. A protobuf string must be UTF-8, and file names may not be. */
static size_t character_bytes(const char *s, size_t n_bytes) {
    unsigned char c = (unsigned char)s[0];
    size_t n = c < 0x80                ? 1
               : c >= 0xc2 && c < 0xe0 ? 2
               : c >= 0xe0 && c < 0xf0 ? 3
               : c >= 0xf0 && c < 0xf5 ? 4
                                       : 0;
    if (n == 0 || n > n_bytes) return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80) return 0;
    unsigned char second = n > 1 ? (unsigned char)s[1] : 0;
    if (c == 0xe0 && second < 0xa0) return 0; /* longer than need be */
    if (c == 0xed && second > 0x9f) return 0; /* half of a pair of UTF-16 */
    if (c == 0xf0 && second < 0x90) return 0;
    if (c == 0xf4 && second > 0x8f) return 0; /* above U+10FFFF */
    return n;
}

static uint64_t write_string(struct vt_proto *e, const char *s, size_t n_bytes) {
    put_head(e->t, PROFILE_STRING, n_bytes);
    for (size_t i = 0; i < n_bytes;) {
        size_t n = character_bytes(s + i, n_bytes - i);
        vt__text_put_n(e->t, n > 0 ? s + i : "?", n > 0 ? n : 1);
        i += n > 0 ? n : 1;
    }
    return e->n_strings++;
}

static uint64_t hash_of(const char *s, size_t n_bytes) { /* FNV-1a */
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n_bytes; i++) h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static bool is_string(const struct vt_proto *e, const struct string_slot *slot, const char *s,
                      size_t n_bytes) {
    return slot->n_bytes == n_bytes &&
           __builtin_memcmp(e->known->strings + slot->at, s, n_bytes) == 0;
}

static void forget_strings(struct vt_proto *e) {
    for (unsigned i = 0; i < N_STRINGS; i++) e->known->string[i].id = 0;
    e->n_strings_known = 0;
    e->strings_used = 0;
}

/* The number of a string, which is written if it was not yet. Not to be called inside a message. */
static uint64_t string_number(struct vt_proto *e, const char *s, size_t n_bytes) {
    if (n_bytes == 0) return 0; /* the first string is the empty one */
    if (n_bytes > STRINGS_BYTES) return write_string(e, s, n_bytes);
    if (e->n_strings_known >= N_STRINGS / 2 || e->strings_used + n_bytes > STRINGS_BYTES)
        forget_strings(e);
    uint64_t i = hash_of(s, n_bytes) % N_STRINGS;
    for (; e->known->string[i].id != 0; i = (i + 1) % N_STRINGS)
        if (is_string(e, &e->known->string[i], s, n_bytes)) return e->known->string[i].id;
    uint64_t id = write_string(e, s, n_bytes);
    e->known->string[i] = (struct string_slot){id, (uint32_t)e->strings_used, (uint32_t)n_bytes};
    __builtin_memcpy(e->known->strings + e->strings_used, s, n_bytes);
    e->strings_used += n_bytes;
    e->n_strings_known++;
    return id;
}

/* ---- mappings and locations ---- */

static void write_mapping(struct vt_proto *e, size_t index) {
    const struct vt_module *m = &e->modules.module[index];
    char hex[2 * sizeof(m->build_id)];
    struct vt_text id = VT_TEXT(hex);
    vt__put_build_id(&id, m);
    const struct {
        unsigned field;
        uint64_t n;
    } fields[] = {{MAPPING_ID, index + 1},
                  {MAPPING_START, m->start},
                  {MAPPING_LIMIT, m->end},
                  {MAPPING_OFFSET, m->file_offset},
                  {MAPPING_FILE, string_number(e, m->path, m->n_path)},
                  {MAPPING_BUILD_ID, string_number(e, hex, id.len)}};
    size_t n_bytes = 0;
    for (size_t i = 0; i < vt_countof(fields); i++) n_bytes += number_bytes(fields[i].n);
    put_head(e->t, PROFILE_MAPPING, n_bytes);
    for (size_t i = 0; i < vt_countof(fields); i++) put_number(e->t, fields[i].field, fields[i].n);
}

/* pprof takes the first mapping for the program. */
static void write_mappings(struct vt_proto *e) {
    if (e->modules.n > 0) write_mapping(e, e->modules.main);
    for (size_t i = 0; i < e->modules.n; i++)
        if (i != e->modules.main) write_mapping(e, i);
}

static uint64_t write_location(struct vt_proto *e, uintptr_t address) {
    const struct vt_module *m = vt__modules_find(&e->modules, address);
    uint64_t id = ++e->n_locations;
    uint64_t mapping = m != NULL ? (uint64_t)(m - e->modules.module) + 1 : 0;
    put_head(e->t, PROFILE_LOCATION,
             number_bytes(id) + number_bytes(mapping) + number_bytes(address));
    put_number(e->t, LOCATION_ID, id);
    put_number(e->t, LOCATION_MAPPING, mapping);
    put_number(e->t, LOCATION_ADDRESS, address);
    return id;
}

static void forget_addresses(struct vt_proto *e) {
    for (unsigned i = 0; i < N_ADDRESSES; i++) e->known->address[i].id = 0;
    e->n_addresses_known = 0;
}

/* The number of an address, which is written if it was not yet. Not to be called inside a message. */
static uint64_t location_number(struct vt_proto *e, uintptr_t address) {
    if (e->n_addresses_known >= N_ADDRESSES / 4 * 3) forget_addresses(e);
    uint64_t i = address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ADDRESS_BITS);
    for (; e->known->address[i].id != 0; i = (i + 1) % N_ADDRESSES)
        if (e->known->address[i].address == address) return e->known->address[i].id;
    e->known->address[i] = (struct address_slot){address, write_location(e, address)};
    e->n_addresses_known++;
    return e->known->address[i].id;
}

/* ---- samples ---- */

/* Room for the numbers of one sample; what was there is not kept. */
static int reserve_numbers(struct vt_proto *e, size_t n) {
    void *room = NULL;
    if (n <= e->n_numbers_room) return 0;
    size_t n_bytes = vt_round_up(vt_max(n * 2, FIRST_NUMBERS) * sizeof(*e->numbers), VT_OS_PAGE);
    int err = vt__os_map(n_bytes, &room);
    if (err != 0) return err;
    if (e->numbers != NULL) vt__os_unmap(e->numbers, e->n_numbers_room * sizeof(*e->numbers));
    e->numbers = room;
    e->n_numbers_room = n_bytes / sizeof(*e->numbers);
    return 0;
}

static size_t label_bytes(uint64_t key, uint64_t value) {
    return number_bytes(key) + number_bytes(value);
}

static void put_label(struct vt_text *t, uint64_t key, unsigned value_field, uint64_t value) {
    put_head(t, SAMPLE_LABEL, label_bytes(key, value));
    put_number(t, LABEL_KEY, key);
    put_number(t, value_field, value);
}

static uint64_t number_of(struct vt_proto *e, const char *s) {
    return string_number(e, s, vt__str_len(s));
}

/* The labels of a sample, as pairs of numbers in `label`: those with a text first. How many there are. */
static size_t number_labels(struct vt_proto *e, const struct vt_proto_sample *s, uint64_t *label) {
    size_t n = 0;
    if (s->thread_name != NULL && s->thread_name[0] != '\0') {
        label[0] = number_of(e, "thread");
        label[1] = number_of(e, s->thread_name);
        n++;
    }
    for (unsigned i = 0; i < s->n_labels; i++, n++) {
        label[2 * n] = number_of(e, s->label_keys[i]);
        label[2 * n + 1] = number_of(e, s->label_values[i]);
    }
    return n;
}

/* The one label with a unit. */
static size_t lifetime_bytes(const uint64_t words[2], uint64_t ms) {
    return label_bytes(words[0], ms) + number_bytes(words[1]);
}

static void put_lifetime(struct vt_text *t, const uint64_t words[2], uint64_t ms) {
    put_head(t, SAMPLE_LABEL, lifetime_bytes(words, ms));
    put_number(t, LABEL_KEY, words[0]);
    put_number(t, LABEL_NUMBER, ms);
    put_number(t, LABEL_UNIT, words[1]);
}

/* Where in the program: of a return address, the call before it. */
static uintptr_t place(const struct vt_proto_sample *s, size_t i) {
    if (s->n_pcs == 0) return 0;
    return i == 0 && s->is_interrupted ? s->pc[0] : vt__call_of(s->pc[i]);
}

int vt__proto_sample(struct vt_proto *e, const struct vt_proto_sample *s) {
    size_t n_pcs = vt_max(s->n_pcs, 1);
    int err = reserve_numbers(e, n_pcs + 2 * ((size_t)s->n_labels + 1));
    if (err != 0) return err;
    for (size_t i = 0; i < n_pcs; i++) e->numbers[i] = location_number(e, place(s, i));
    uint64_t *label = e->numbers + n_pcs;
    size_t n_labels = number_labels(e, s, label);
    uint64_t thread_key = s->thread != 0 ? number_of(e, "thread_id") : 0;
    uint64_t lifetime_words[2] = {0, 0};
    if (s->lifetime_ms != 0) {
        lifetime_words[0] = number_of(e, "lifetime");
        lifetime_words[1] = number_of(e, "milliseconds");
    }
    size_t n_bytes = part_bytes(packed_bytes(e->numbers, n_pcs)) +
                     part_bytes(packed_bytes(s->values, s->n_values));
    if (s->thread != 0) n_bytes += part_bytes(label_bytes(thread_key, s->thread));
    if (s->lifetime_ms != 0) n_bytes += part_bytes(lifetime_bytes(lifetime_words, s->lifetime_ms));
    for (size_t i = 0; i < n_labels; i++)
        n_bytes += part_bytes(label_bytes(label[2 * i], label[2 * i + 1]));
    put_head(e->t, PROFILE_SAMPLE, n_bytes);
    put_packed(e->t, SAMPLE_LOCATIONS, e->numbers, n_pcs);
    put_packed(e->t, SAMPLE_VALUES, s->values, s->n_values);
    if (s->thread != 0) put_label(e->t, thread_key, LABEL_NUMBER, s->thread);
    if (s->lifetime_ms != 0) put_lifetime(e->t, lifetime_words, s->lifetime_ms);
    for (size_t i = 0; i < n_labels; i++)
        put_label(e->t, label[2 * i], LABEL_STRING, label[2 * i + 1]);
    return 0;
}

/* ---- the profile ---- */

static void put_type(struct vt_proto *e, unsigned field, const struct vt_proto_type *type) {
    uint64_t name = number_of(e, type->name);
    uint64_t unit = number_of(e, type->unit);
    put_head(e->t, field, number_bytes(name) + number_bytes(unit));
    put_number(e->t, TYPE_TYPE, name);
    put_number(e->t, TYPE_UNIT, unit);
}

static void write_preamble(struct vt_proto *e, const struct vt_proto_head *h) {
    write_string(e, "", 0);
    for (unsigned i = 0; i < h->n_types; i++) put_type(e, PROFILE_SAMPLE_TYPE, &h->types[i]);
    put_number(e->t, PROFILE_TIME, h->time_ns);
    put_number(e->t, PROFILE_DURATION, h->duration_ns);
    put_type(e, PROFILE_PERIOD_TYPE, &h->period_type);
    put_number(e->t, PROFILE_PERIOD, h->period);
    uint64_t comment = number_of(e, h->comment);
    put_number(e->t, PROFILE_COMMENT, comment);
    e->default_type = number_of(e, h->default_type);
}

int vt__proto_begin(struct vt_proto *e, struct vt_out *o, const struct vt_proto_head *h) {
    *e = (struct vt_proto){.o = o, .t = &o->text};
    void *known = NULL;
    int err = vt__os_map(vt_round_up(sizeof(*e->known), VT_OS_PAGE), &known);
    if (err != 0) return err;
    e->known = known;
    vt__modules_read(&e->modules);
    write_preamble(e, h);
    write_mappings(e);
    return 0;
}

void vt__proto_end(struct vt_proto *e) {
    if (e->known == NULL) return;
    put_number(e->t, PROFILE_DEFAULT_TYPE, e->default_type);
    if (e->numbers != NULL) vt__os_unmap(e->numbers, e->n_numbers_room * sizeof(*e->numbers));
    vt__modules_free(&e->modules);
    vt__os_unmap(e->known, vt_round_up(sizeof(*e->known), VT_OS_PAGE));
}
