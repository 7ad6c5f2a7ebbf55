/* test_emit.c - one writer, two forms: JSON with its commas in the right places, and a table with straight columns. */
#include "unit.h"

#include "dump/emit.h"

static char out[4096];

static void sink(void *arg, const char *data, size_t n_bytes) {
    (void)arg;
    size_t n = strlen(out);
    memcpy(out + n, data, n_bytes);
    out[n + n_bytes] = '\0';
}

/* A report with every kind of element, through a buffer of this size. */
static const char *report(bool is_json, size_t cap, unsigned n_rows) {
    static const char *const columns[] = {"one", "a_long_column_name"};
    char buf[256];
    struct vt_emit e = {{buf, cap, 0, false, sink, NULL}, is_json, false};
    out[0] = '\0';
    vt__emit_begin(&e);
    vt__emit_string(&e, "about", "a test");
    vt__emit_value(&e, "bytes", VT_UNIT_BYTES, 1536, "some bytes");
    vt__emit_value(&e, "count", VT_UNIT_COUNT, 7, "some things");
    vt__emit_table(&e, "rows", columns, 2);
    for (uint64_t i = 0; i < n_rows; i++) vt__emit_row(&e, columns, (uint64_t[]){i, i * 1000}, 2);
    vt__emit_table_end(&e);
    vt__emit_value(&e, "last", VT_UNIT_COUNT, 1, "behind the table");
    vt__emit_end(&e);
    return out;
}

TEST(emit, json_has_commas_between_elements_and_nowhere_else) {
    assert_string_equal(
        report(true, 256, 0),
        "{\"about\":\"a test\",\"bytes\":1536,\"count\":7,\"rows\":[],\"last\":1}\n");
    assert_string_equal(
        report(true, 256, 2),
        "{\"about\":\"a test\",\"bytes\":1536,\"count\":7,\"rows\":["
        "{\"one\":0,\"a_long_column_name\":0},{\"one\":1,\"a_long_column_name\":1000}],\"last\":1}\n");
}

TEST(emit, the_text_does_not_depend_on_the_buffer) {
    for (int is_json = 0; is_json < 2; is_json++) {
        char expected[4096];
        snprintf(expected, sizeof(expected), "%s", report(is_json, 256, 3));
        for (size_t cap = 1; cap < 256; cap = cap * 2 + 1)
            assert_string_equal(report(is_json, cap, 3), expected);
    }
}

TEST(emit, a_table_names_values_and_explains_them) {
    const char *text = report(false, 256, 1);
    assert_non_null(strstr(text, "a test\n"));
    assert_non_null(strstr(text, "1.5 KiB"));
    assert_non_null(strstr(text, "some bytes\n"));
    assert_non_null(strstr(text, "a_long_column_name"));
    assert_null(strchr(text, '{'));
}

UNIT_MAIN()
