/* test_heap_proto.c - profile.proto: byte for byte on a small profile, and read back by a small decoder on large ones. */
#include "made_up_modules.h"

#define STRING(length, text) "\x32" length text

/* clang-format off */ /* one message per line */
static const char two_rows_expected[] =
    STRING("\x00", "")
    STRING("\x0d", "alloc_objects") STRING("\x05", "count") "\x0a\x04\x08\x01\x10\x02"
    STRING("\x0b", "alloc_space") STRING("\x05", "bytes") "\x0a\x04\x08\x03\x10\x04"
    STRING("\x0d", "inuse_objects") "\x0a\x04\x08\x05\x10\x02"
    STRING("\x0b", "inuse_space") "\x0a\x04\x08\x06\x10\x04"
    STRING("\x11", "alloc_class_space") "\x0a\x04\x08\x07\x10\x04"
    STRING("\x11", "inuse_class_space") "\x0a\x04\x08\x08\x10\x04"
    STRING("\x0d", "alloc_samples") "\x0a\x04\x08\x09\x10\x02"
    STRING("\x0d", "inuse_samples") "\x0a\x04\x08\x0a\x10\x02"
    "\x48\x01" "\x50\x02" /* time, duration */
    STRING("\x05", "space") "\x5a\x04\x08\x0b\x10\x04" "\x60\x80\x80\x20" /* space/bytes, 524288 */
    STRING("\x1d", "vitrine heap profile: sampled") "\x68\x0c" /* comment */
    STRING("\x09", "/bin/prog") STRING("\x04", "abcd") /* the program first */
    "\x1a\x13\x08\x02\x10\x80\xa0\x80\x02\x18\x80\xc0\x80\x02\x20\x80\x20\x28\x0d\x30\x0e"
    STRING("\x11", "/lib/odd;na me.so")
    "\x1a\x12\x08\x01\x10\x80\x80\xc0\x01\x18\x80\xa0\xc0\x01\x20\x00\x28\x0f\x30\x00"
    "\x1a\x12\x08\x03\x10\x80\x80\x80\x03\x18\x80\xa0\x80\x03\x20\x00\x28\x00\x30\x00"
    "\x22\x09\x08\x01\x10\x02\x18\x8f\xa0\x80\x02" /* 0x40100f */
    "\x22\x09\x08\x02\x10\x02\x18\xff\xa1\x80\x02" /* 0x4010ff */
    STRING("\x06", "thread") STRING("\x04", "main") STRING("\x01", "k") STRING("\x01", "v") STRING("\x09", "thread_id")
    "\x12\x24\x0a\x02\x01\x02\x12\x0c\x14\xec\x09\x0a\xf6\x04\x80\x0a\x80\x05\x02\x01"
    "\x1a\x04\x08\x14\x18\x07"
    "\x1a\x04\x08\x10\x10\x11"
    "\x1a\x04\x08\x12\x10\x13"
    "\x22\x09\x08\x03\x10\x00\x18\xff\xff\xbf\x02" /* 0x4fffff, in no file */
    "\x12\x0e\x0a\x02\x01\x03\x12\x08\x01\x1e\x00\x00\x20\x00\x01\x00"
    "\x70\x06"; /* default type */
/* clang-format on */

TEST(heap_proto, a_small_profile_byte_for_byte) {
    size_t n;
    char *seen = written_two(VT_PROFILE_PROTO, VT_HEAP_SAMPLED, 524288, &n);
    for (size_t i = 0; i < n && i < sizeof(two_rows_expected) - 1; i++)
        assert_true_msg(seen[i] == two_rows_expected[i], "byte %zu: expected %02x, seen %02x", i,
                        (unsigned char)two_rows_expected[i], (unsigned char)seen[i]);
    assert_int_equal(n, sizeof(two_rows_expected) - 1);
    free(seen);
}

TEST(heap_proto, mappings_beside_samples_change_nothing_of_how_they_are_told) {
    struct rows rows = {two_rows, 3, 0};
    struct vt_heap_source src = source_of(&rows, VT_HEAP_SAMPLED, 524288);
    size_t n;
    src.has_maps = true;
    char *seen = written(VT_PROFILE_PROTO, &src, &n);
    assert_int_equal(n, sizeof(two_rows_expected) - 1);
    assert_memory_equal(seen, two_rows_expected, n);
    free(seen);
}

/* ---- a decoder: enough to check what readers check ---- */

struct piece { /* of the text that is not read yet */
    const unsigned char *at, *end;
};

static uint64_t take_varint(struct piece *p) {
    uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(p->at < p->end && shift < 64);
        n |= (uint64_t)(*p->at & 0x7f) << shift;
        if ((*p->at++ & 0x80) == 0) return n;
    }
}

/* The next field: its number, and its value or contents. */
static unsigned take_field(struct piece *p, uint64_t *value, struct piece *contents) {
    uint64_t key = take_varint(p);
    if ((key & 7) == 0) {
        *value = take_varint(p);
    } else {
        assert_int_equal(key & 7, 2);
        uint64_t n = take_varint(p);
        assert_true(n <= (uint64_t)(p->end - p->at));
        *contents = (struct piece){p->at, p->at + n};
        p->at += n;
    }
    return (unsigned)(key >> 3);
}

struct seen {
    uint64_t n_samples, n_locations, n_strings, n_mappings, n_pcs;
    uint64_t sum[8];
    uint64_t n_string_labels, n_number_labels;
    uint64_t *address;     /* by location number */
    struct piece *strings; /* by number */
    uint64_t deepest;
    unsigned long last_label_value; /* string number */
    uint64_t last_outermost;        /* location number */
};

static void see_sample(struct seen *s, struct piece p) {
    uint64_t value = 0;
    struct piece contents;
    unsigned n_values = 0;
    uint64_t depth = 0;
    s->n_samples++;
    while (p.at < p.end) {
        unsigned field = take_field(&p, &value, &contents);
        if (field == 1) /* a location must be known when it is named: ours are written first */
            for (; contents.at < contents.end; depth++) {
                uint64_t id = take_varint(&contents);
                assert_true_msg(id > 0 && id <= s->n_locations, "location %lu of %lu", id,
                                s->n_locations);
                s->last_outermost = id;
            }
        if (field == 2)
            while (contents.at < contents.end) {
                assert_true(n_values < 8);
                s->sum[n_values++] += take_varint(&contents);
            }
        if (field == 3) {
            assert_int_equal(take_field(&contents, &value, NULL), 1);
            assert_true(value < s->n_strings);
            bool is_string = take_field(&contents, &value, NULL) == 2;
            assert_true(!is_string || value < s->n_strings);
            if (is_string) s->last_label_value = value;
            s->n_string_labels += is_string;
            s->n_number_labels += !is_string;
        }
    }
    assert_true(n_values == 6 || n_values == 8); /* exact, or samples */
    s->n_pcs += depth;
    if (depth > s->deepest) s->deepest = depth;
}

static struct seen decode(const char *text, size_t n) {
    struct piece p = {(const unsigned char *)text, (const unsigned char *)text + n}, contents;
    struct seen s = {.address = malloc((n / 4 + 1) * 8), .strings = malloc((n / 2 + 1) * 16)};
    uint64_t value = 0;
    while (p.at < p.end) {
        switch (take_field(&p, &value, &contents)) {
        case 2: see_sample(&s, contents); break;
        case 3: s.n_mappings++; break;
        case 4:
            assert_int_equal(take_field(&contents, &value, NULL), 1);
            assert_int_equal(value, ++s.n_locations); /* unique, and none is 0 */
            assert_int_equal(take_field(&contents, &value, NULL), 2);
            assert_true(value <= 3);
            assert_int_equal(take_field(&contents, &s.address[s.n_locations], NULL), 3);
            break;
        case 6: s.strings[s.n_strings++] = contents; break;
        default: break;
        }
    }
    return s;
}

TEST(heap_proto, a_lifetime_is_a_number_with_its_unit) {
    uintptr_t pc = 0x401010;
    struct vt_heap_row row = {.pc = &pc, .n_pcs = 1, .alloc_objects = 1, .lifetime_ms = 4};
    struct rows rows = {&row, 1, 0};
    struct vt_heap_source src = source_of(&rows, VT_HEAP_LIFETIMES, 512);
    size_t n;
    char *text = written(VT_PROFILE_PROTO, &src, &n);
    /* key 16 "lifetime", number 4, unit 17 "milliseconds" */
    assert_non_null(memmem(text, n, "\x1a\x06\x08\x10\x18\x04\x20\x11", 8));
    assert_non_null(memmem(text, n, "vitrine heap profile: lifetimes", 31));
    free(text);
}

TEST(heap_proto, two_hundred_thousand_stacks_are_all_there) {
    static struct many many = {.is_labelled = true};
    struct vt_heap_source src = source_of_many(&many, 200000, 8);
    size_t n;
    char *text = written(VT_PROFILE_PROTO, &src, &n);
    assert_true(n > MiB(1));
    struct seen s = decode(text, n);
    assert_int_equal(s.n_samples, 200000);
    assert_int_equal(s.n_pcs, 200000 * 8);
    assert_int_equal(s.sum[0], 400000);
    assert_int_equal(s.sum[1], 200000ull * 200001);
    assert_int_equal(s.sum[2], 200000);
    assert_int_equal(s.sum[3], 200000ull * 200001 / 2);
    assert_int_equal(s.sum[4], 200000ull * 200001);
    assert_int_equal(s.sum[5], 200000ull * 200001 / 2);
    assert_int_equal(s.n_string_labels, 200000);
    assert_int_equal(s.n_number_labels, 200000);
    /* the table of addresses was emptied a few times; common ones are repeated then, and not for each stack */
    assert_in_range(s.n_locations, 200007, 200007 + 7 * 8);
    assert_int_equal(s.address[s.last_outermost], 0x400000000 + 199999ul * 32 - 1);
    struct piece last = s.strings[s.last_label_value];
    assert_int_equal(last.end - last.at, strlen("number 199999"));
    assert_memory_equal(last.at, "number 199999", strlen("number 199999"));
    free(text);
}

TEST(heap_proto, deep_stacks_are_not_cut) {
    static struct many many;
    struct vt_heap_source src = source_of_many(&many, 3, 100000);
    size_t n;
    char *text = written(VT_PROFILE_PROTO, &src, &n);
    struct seen s = decode(text, n);
    assert_int_equal(s.n_samples, 3);
    assert_int_equal(s.deepest, 100000);
    assert_int_equal(s.n_pcs, 300000);
    free(text);
}

TEST(heap_proto, a_stack_that_is_not_known_has_one_location) {
    static const struct vt_heap_row row = {.inuse_objects = 1, .inuse_bytes = 16};
    size_t n;
    char *text = written_rows(VT_PROFILE_PROTO, VT_HEAP_EXACT, 1, &row, 1, &n);
    struct seen s = decode(text, n);
    assert_int_equal(s.n_samples, 1);
    assert_int_equal(s.n_pcs, 1);
    assert_int_equal(s.address[1], 0);
    free(text);
}

static bool has_string(const struct seen *s, const char *string) {
    size_t n = strlen(string);
    for (uint64_t i = 0; i < s->n_strings; i++)
        if ((size_t)(s->strings[i].end - s->strings[i].at) == n &&
            memcmp(s->strings[i].at, string, n) == 0)
            return true;
    return false;
}

/* protobuf readers refuse a whole profile for one string that is not UTF-8 */
TEST(heap_proto, strings_are_made_utf8) {
    static const char *const keys[] = {"good", "latin", "cut", "long", "half", "far"};
    static const char *const values[] = {"z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x98\x80",
                                         "z\xfcrich",
                                         "\xe2\x82",
                                         "\xc0\xaf\xe0\x80\xaf",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80\xf5"};
    struct vt_heap_row row = {
        .inuse_objects = 1, .n_labels = 6, .label_keys = keys, .label_values = values};
    size_t n;
    char *text = written_rows(VT_PROFILE_PROTO, VT_HEAP_EXACT, 1, &row, 1, &n);
    struct seen s = decode(text, n);
    assert_int_equal(s.n_string_labels, 6);
    assert_true(has_string(&s, values[0]));
    assert_true(has_string(&s, "z?rich"));
    assert_true(has_string(&s, "??"));
    assert_true(has_string(&s, "?????"));
    assert_true(has_string(&s, "???"));
    free(text);
}

/* one that is longer than the table of strings, and empty ones */
TEST(heap_proto, labels_of_any_length) {
    size_t n_long = KiB(100);
    char *longer = malloc(n_long + 1);
    memset(longer, 'x', n_long);
    longer[n_long] = '\0';
    const char *keys[] = {"", longer, "", longer}, *values[] = {"", longer, longer, "y"};
    struct vt_heap_row row = {
        .inuse_objects = 1, .n_labels = 4, .label_keys = keys, .label_values = values};
    size_t n;
    char *text = written_rows(VT_PROFILE_PROTO, VT_HEAP_EXACT, 1, &row, 1, &n);
    struct seen s = decode(text, n);
    assert_int_equal(s.n_string_labels, 4);
    assert_true(has_string(&s, longer));
    assert_true(has_string(&s, "y"));
    free(text);
    free(longer);
}

static bool next_for_ever(void *state, struct vt_heap_row *row) {
    (*(unsigned *)state)++;
    row->inuse_objects = row->inuse_bytes = row->inuse_requested_bytes = 1;
    return true;
}

static void rewind_for_ever(void *state, bool by_thread) { (void)state, (void)by_thread; }

TEST(heap_proto, a_writer_gives_up_when_the_disk_is_full) {
    unsigned n_asked = 0;
    struct vt_heap_source src = {.kind = VT_HEAP_EXACT,
                                 .period_bytes = 1,
                                 .time_ns = 1,
                                 .duration_ns = 2,
                                 .state = &n_asked,
                                 .rewind = rewind_for_ever,
                                 .next = next_for_ever};
    int fd = open("/dev/full", O_WRONLY);
    assert_int_equal(vt__heap_write_fd(fd, VT_PROFILE_PROTO, &src), -ENOSPC);
    assert_int_equal(vt__heap_write_fd(fd, VT_COLLAPSED, &src), -ENOSPC);
    assert_true(n_asked > 0);
}

UNIT_MAIN()
