/* test_heap_text.c - the three formats that are text (heap_gperftools.c, heap_jemalloc.c, heap_collapsed.c): byte for byte on
 * a small profile, nothing lost on large ones. */
#include "made_up_modules.h"

#define MAPS "\nMAPPED_LIBRARIES:\n(maps)\n"

#define GPERFTOOLS_ROWS                                                                            \
    "     1:       64 [     2:      128] @ 0x0040100f 0x00401100\n"                                \
    "     0:        0 [     1:       32] @ 0x0040100f 0x00500000\n" MAPS

TEST(heap_gperftools, each_kind_byte_for_byte) {
    static const struct {
        enum vt_heap_kind kind;
        uint64_t period;
        const char *type;
    } rows[] = {
        {VT_HEAP_EXACT, 1, "heapprofile"},
        {VT_HEAP_SAMPLED, 524288, "heap_v2/524288"},
        {VT_HEAP_PEAK, 524288, "heap_v2/524288"},
        {VT_HEAP_PEAK, 1, "heapprofile"},
        {VT_HEAP_GROWTH, 1, "growth"},
        {VT_HEAP_MMAP, 1, "heapprofile"},
        {VT_HEAP_SAMPLED, 1, "heapprofile"},
        {VT_HEAP_SAMPLED, 4096, "heap_v2/4096"},
        {VT_HEAP_EXACT, 524288, "heapprofile"},
    };
    for (size_t i = 0; i < vt_countof(rows); i++) {
        char expected[1024];
        size_t n;
        snprintf(expected, sizeof(expected),
                 "heap profile:      1:       64 [     3:      160] @ %s\n%s", rows[i].type,
                 GPERFTOOLS_ROWS);
        char *seen = written_two(VT_GPERFTOOLS_HEAP, rows[i].kind, rows[i].period, &n);
        assert_string_equal(seen, expected);
        free(seen);
    }
}

#define JEMALLOC_ROWS                                                                              \
    "  t*: 1: 64 [3: 160]\n"                                                                       \
    "  t7: 1: 64 [2: 128] main\n"                                                                  \
    "  t0: 0: 0 [1: 32]\n"                                                                         \
    "@ 0x40100f 0x401100\n"                                                                        \
    "  t*: 1: 64 [2: 128]\n"                                                                       \
    "  t7: 1: 64 [2: 128]\n"                                                                       \
    "@ 0x40100f 0x500000\n"                                                                        \
    "  t*: 0: 0 [1: 32]\n"                                                                         \
    "  t0: 0: 0 [1: 32]\n" MAPS

TEST(heap_jemalloc, sampled_and_exact_byte_for_byte) {
    size_t n;
    char *seen = written_two(VT_JEMALLOC_HEAP, VT_HEAP_SAMPLED, 524288, &n);
    assert_string_equal(seen, "heap_v2/524288\n" JEMALLOC_ROWS);
    free(seen);
    seen = written_two(VT_JEMALLOC_HEAP, VT_HEAP_EXACT, 1, &n);
    assert_string_equal(seen, "heap_v2/1\n" JEMALLOC_ROWS);
    free(seen);
}

/* a reader that scales samples would scale the mappings as well */
TEST(heap_text, a_sampled_profile_with_mappings_in_it_is_not_to_be_scaled) {
    static const struct vt_heap_row row = {.seen_inuse_objects = 1, .seen_inuse_bytes = 4096};
    struct rows rows = {&row, 1, 0};
    struct vt_heap_source src = source_of(&rows, VT_HEAP_SAMPLED, 524288);
    size_t n;
    src.has_maps = true;
    char *seen = written(VT_GPERFTOOLS_HEAP, &src, &n);
    assert_non_null(strstr(seen, "     1:     4096 [     0:        0] @ heapprofile\n"));
    free(seen);
    seen = written(VT_JEMALLOC_HEAP, &src, &n);
    assert_int_equal(strncmp(seen, "heap_v2/1\n", 10), 0);
    free(seen);
}

TEST(heap_collapsed, estimates_with_elf_addresses_byte_for_byte) {
    size_t n;
    char *seen = written_two(VT_COLLAPSED, VT_HEAP_SAMPLED, 524288, &n);
    assert_string_equal(seen, "prog+0x7010ff;prog+0x70100f 630\n");
    free(seen);
}

TEST(heap_collapsed, odd_names_and_addresses_without_a_file) {
    static const uintptr_t pc[] = {0x300011, 0x600101, 0, 0x12345679};
    static const struct vt_heap_row rows[] = {
        {.pc = pc, .n_pcs = 4, .inuse_bytes = 5, .inuse_requested_bytes = 5},
        {.inuse_bytes = 6, .inuse_requested_bytes = 6}};
    size_t n;
    char *seen = written_rows(VT_COLLAPSED, VT_HEAP_EXACT, 1, rows, 2, &n);
    assert_string_equal(seen, "0x12345678;0x0;0x600100;odd?na me.so+0x10 5\n[unknown] 6\n");
    free(seen);
}

TEST(heap_text, an_empty_profile_is_one_all_the_same) {
    size_t n;
    char *seen = written_rows(VT_GPERFTOOLS_HEAP, VT_HEAP_EXACT, 1, NULL, 0, &n);
    assert_string_equal(seen,
                        "heap profile:      0:        0 [     0:        0] @ heapprofile\n" MAPS);
    free(seen);
    seen = written_rows(VT_JEMALLOC_HEAP, VT_HEAP_EXACT, 1, NULL, 0, &n);
    assert_string_equal(seen, "heap_v2/1\n  t*: 0: 0 [0: 0]\n" MAPS);
    free(seen);
    seen = written_rows(VT_COLLAPSED, VT_HEAP_EXACT, 1, NULL, 0, &n);
    assert_string_equal(seen, "");
    free(seen);
}

/* readers skip a line without an address, or take the block before for its stack */
TEST(heap_text, a_stack_that_is_not_known_is_address_0) {
    static const struct vt_heap_row row = {.seen_inuse_objects = 1, .seen_inuse_bytes = 16};
    size_t n;
    char *seen = written_rows(VT_GPERFTOOLS_HEAP, VT_HEAP_EXACT, 1, &row, 1, &n);
    assert_non_null(strstr(seen, "     1:       16 [     0:        0] @ 0x00000000\n"));
    free(seen);
    seen = written_rows(VT_JEMALLOC_HEAP, VT_HEAP_EXACT, 1, &row, 1, &n);
    assert_non_null(strstr(seen, "\n@ 0x0\n  t*: 1: 16 [0: 0]\n"));
    free(seen);
}

TEST(heap_jemalloc, names_of_threads_end_no_line) {
    static const struct vt_heap_row rows[] = {
        {.thread = 1, .thread_name = "a\nb\tc", .seen_inuse_objects = 1},
        {.thread = 2, .seen_inuse_objects = 1}, /* its name comes later */
        {.thread = 2, .thread_name = "second", .seen_inuse_objects = 1},
        {.thread = 3,
         .thread_name = "a name of more than thirty-one bytes",
         .seen_inuse_objects = 1},
    };
    size_t n;
    char *seen = written_rows(VT_JEMALLOC_HEAP, VT_HEAP_EXACT, 1, rows, 4, &n);
    assert_non_null(strstr(seen, "  t1: 1: 0 [0: 0] a?b?c\n  t2: 2: 0 [0: 0] second\n"
                                 "  t3: 1: 0 [0: 0] a name of more than thirty-one \n"));
    free(seen);
}

/* ---- large ones ---- */

static size_t count(const char *text, const char *what) {
    size_t n = 0, len = strlen(what);
    for (const char *s = text; (s = strchr(s, what[0])) != NULL; s++)
        n += strncmp(s, what, len) == 0;
    return n;
}

TEST(heap_gperftools, two_hundred_thousand_stacks_are_all_there) {
    static struct many many;
    struct vt_heap_source src = source_of_many(&many, 200000, 8);
    size_t n;
    char *text = written(VT_GPERFTOOLS_HEAP, &src, &n);
    assert_true(n > MiB(1));
    assert_memory_equal(
        text, "heap profile: 200000: 20000100000 [400000: 40000200000] @ heapprofile\n", 69);
    assert_int_equal(count(text, "\n"), 200001 + 3);
    unsigned long sum = 0;
    for (char *s = strchr(text, '\n') + 1; *s == ' '; s = strchr(s, '\n') + 1) {
        assert_int_equal(strtoul(s, &s, 10), 1);
        sum += strtoul(s + 1, &s, 10);
    }
    assert_int_equal(sum, 20000100000);
    assert_int_equal(count(text, " 0x4"), 200000);
    free(text);
}

TEST(heap_jemalloc, two_hundred_thousand_stacks_and_a_thousand_threads) {
    static struct many many;
    struct vt_heap_source src = source_of_many(&many, 200000, 8);
    size_t n;
    char *text = written(VT_JEMALLOC_HEAP, &src, &n);
    assert_true(n > MiB(1));
    assert_int_equal(count(text, "\n@ 0x"), 200000);
    assert_int_equal(count(text, "\n  t*: "), 200001);
    assert_int_equal(count(text, "\n  t"), 200001 * 2 + 999);
    *strstr(text, "\n@") = '\0'; /* the lines of threads before the first block */
    /* 200 stacks each: the arithmetic series i+1, i+1001 ... */
    for (unsigned i = 0; i < 1000; i++) {
        char line[128];
        unsigned long bytes = 200ul * (i + 1) + 1000ul * 199 * 200 / 2;
        snprintf(line, sizeof(line), "\n  t%u: 200: %lu [400: %lu]", 100 + i, bytes, 2 * bytes);
        assert_non_null(strstr(text, line));
    }
    free(text);
}

TEST(heap_collapsed, two_hundred_thousand_stacks_too) {
    static struct many many;
    struct vt_heap_source src = source_of_many(&many, 200000, 8);
    size_t n;
    char *text = written(VT_COLLAPSED, &src, &n);
    assert_int_equal(count(text, "\n"), 200000);
    assert_int_equal(count(text, ";"), 200000 * 7);
    free(text);
}

TEST(heap_text, deep_stacks_are_not_cut) {
    static struct many many;
    struct vt_heap_source src = source_of_many(&many, 2, 100000);
    static const struct {
        enum vt_heap_format format;
        size_t n_addresses;
    } rows[] = {{VT_GPERFTOOLS_HEAP, 200000}, {VT_JEMALLOC_HEAP, 200000}, {VT_COLLAPSED, 200000}};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        size_t n;
        char *text = written(rows[i].format, &src, &n);
        assert_int_equal(count(text, "0x"), rows[i].n_addresses);
        free(text);
    }
}

UNIT_MAIN()
