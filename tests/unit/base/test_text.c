/* test_text.c - the text writer: numbers, columns, cutting and flushing, against printf where printf has the same. */
#include "unit.h"

#include "base/text.h"

/* What `writes` puts into a fresh text of `cap` bytes. */
static char seen[4096];

static const char *done(struct vt_text *t) {
    assert_true(t->len < sizeof(seen));
    memcpy(seen, t->buf, t->len);
    seen[t->len] = '\0';
    return seen;
}

TEST(text, whole_numbers_look_as_printf_writes_them) {
    static const uint64_t rows[] = {
        0, 1, 9, 10, 99, 100, 4294967295u, 4294967296u, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[64], expected[64];
        struct vt_text t = VT_TEXT(buf);
        vt__text_uint(&t, rows[i]);
        vt__text_char(&t, ' ');
        vt__text_int(&t, (int64_t)rows[i]);
        vt__text_char(&t, ' ');
        vt__text_hex(&t, rows[i]);
        snprintf(expected, sizeof(expected), "%llu %lld 0x%llx", (unsigned long long)rows[i],
                 (long long)rows[i], (unsigned long long)rows[i]);
        assert_string_equal(done(&t), expected);
    }
}

TEST(text, the_most_negative_number_is_written_whole) {
    char buf[64];
    struct vt_text t = VT_TEXT(buf);
    vt__text_int(&t, INT64_MIN);
    assert_string_equal(done(&t), "-9223372036854775808");
}

TEST(text, wide_numbers_are_aligned_right_and_never_cut) {
    static const struct {
        uint64_t n;
        unsigned width;
        const char *expected;
    } rows[] = {{7, 0, "7"}, {7, 1, "7"}, {7, 4, "   7"}, {12345, 3, "12345"}, {0, 2, " 0"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[64];
        struct vt_text t = VT_TEXT(buf);
        vt__text_uint_wide(&t, rows[i].n, rows[i].width);
        assert_string_equal(done(&t), rows[i].expected);
    }
}

TEST(text, bytes_have_one_decimal_and_the_largest_fitting_unit) {
    static const struct {
        uint64_t n;
        const char *expected;
    } rows[] = {
        {0, "0 B  "},
        {1023, "1023 B  "},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {MiB(1) - 1, "1023.9 KiB"},
        {MiB(1), "1.0 MiB"},
        {GiB(3) / 2, "1.5 GiB"},
        {TiB(16), "16.0 TiB"},
        {UINT64_MAX, "16777215.9 TiB"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[64];
        struct vt_text t = VT_TEXT(buf);
        vt__text_bytes(&t, rows[i].n, 0);
        assert_string_equal(done(&t), rows[i].expected);
    }
}

TEST(text, bytes_of_every_size_fill_the_same_columns) {
    static const uint64_t rows[] = {0, 999, 1023, 1024, 10240, MiB(1023), GiB(512), TiB(1)};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char buf[64];
        struct vt_text t = VT_TEXT(buf);
        vt__text_bytes(&t, rows[i], 12);
        assert_int_equal(strlen(done(&t)), 12);
    }
}

TEST(text, without_a_sink_it_is_cut_at_the_end_of_the_buffer) {
    char buf[8 + 1];
    memset(buf, '#', sizeof(buf));
    struct vt_text t = {buf, 8, 0, false, NULL, NULL};
    vt__text_put(&t, "12345678");
    assert_false(t.is_cut);
    vt__text_put(&t, "9");
    assert_true(t.is_cut);
    assert_int_equal(t.len, 8);
    assert_int_equal(buf[8], '#');
    assert_string_equal(done(&t), "12345678");
}

static struct {
    char text[4096];
    size_t len, n_calls;
} sunk;

static void sink(void *arg, const char *data, size_t n_bytes) {
    assert_ptr_equal(arg, &sunk);
    assert_true(n_bytes > 0);
    memcpy(sunk.text + sunk.len, data, n_bytes);
    sunk.len += n_bytes;
    sunk.n_calls++;
}

TEST(text, with_a_sink_every_byte_arrives_once_and_in_order) {
    for (size_t cap = 1; cap <= 40; cap++) {
        char buf[40], expected[4096] = "";
        struct vt_text t = {buf, cap, 0, false, sink, &sunk};
        memset(&sunk, 0, sizeof(sunk));
        for (unsigned i = 0; i < 30; i++) {
            size_t n = strlen(expected);
            vt__text_uint_wide(&t, i * 77u, i % 9);
            vt__text_put(&t, "-");
            snprintf(expected + n, sizeof(expected) - n, "%*u-", (int)(i % 9), i * 77u);
        }
        vt__text_flush(&t);
        vt__text_flush(&t); /* nothing is left: no second call */
        assert_false(t.is_cut);
        assert_string_equal(sunk.text, expected);
        assert_int_equal(sunk.n_calls, (strlen(expected) + cap - 1) / cap);
    }
}

TEST(text, padding_repeats_a_character) {
    char buf[16];
    struct vt_text t = VT_TEXT(buf);
    vt__text_pad(&t, '.', 5);
    vt__text_pad(&t, 'x', 0);
    assert_string_equal(done(&t), ".....");
}

TEST(text, string_helpers_agree_with_string_h) {
    static const char *const words[] = {"", "a", "ab", "abc", "b", "abd", "abcabc"};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(vt__str_len(words[i]), strlen(words[i]));
        for (size_t j = 0; j < 7; j++) {
            assert_int_equal(vt__str_equal(words[i], words[j]), strcmp(words[i], words[j]) == 0);
            assert_int_equal(vt__str_starts(words[i], words[j]),
                             strncmp(words[i], words[j], strlen(words[j])) == 0);
        }
    }
}

UNIT_MAIN()
