/* test_read.c - every reader: its numbers, and what it says of files that are cut, empty, foreign or damaged.
 *
 * Each input ends at a page without access, so that a reader that looks one byte too far dies.
 */
#include "unit.h"

#include <math.h>
#include <zlib.h>
#include <zstd.h>

#include "report/intake.h"
#include "report/read.h"
#include "report/threads.h"

/* ---- helpers */

#define OS_PAGE 4096u

/* A copy of the bytes whose end is the end of accessible memory. */
static char *guarded(const void *bytes, size_t n) {
    size_t room = (n / OS_PAGE + 1) * OS_PAGE;
    char *p =
        mmap(NULL, room + OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + room, OS_PAGE, PROT_NONE), 0);
    if (n > 0) memcpy(p + room - n, bytes, n);
    return p + room - n;
}

static void give_back(char *p, size_t n) {
    size_t room = (n / OS_PAGE + 1) * OS_PAGE;
    (void)munmap(p - (room - n), room + OS_PAGE);
}

static int read_n(const void *bytes, size_t n, struct profile **p, struct report_error *e) {
    char *copy = guarded(bytes, n);
    int error = report_read_bytes("f", copy, n, NULL, p, e);
    give_back(copy, n);
    if (error == 0) assert_true(profile_is_valid(*p));
    return error;
}

static struct profile *good_n(const void *bytes, size_t n) {
    struct profile *p;
    struct report_error e = {.line = ""};
    if (read_n(bytes, n, &p, &e) != 0) fail_msg("expected a profile, seen: %s", e.line);
    return p;
}

static struct profile *good(const char *text) { return good_n(text, strlen(text)); }

static void assert_near(double seen, double expected) {
    if (fabs(seen - expected) > 1e-6 * fmax(1, fabs(expected)))
        fail_msg("expected %.9g, seen %.9g", expected, seen);
}

static void assert_total(const struct profile *p, const char *type, double expected) {
    uint32_t t = profile_find_type(p, type);
    assert_true(t != PROFILE_NONE);
    assert_near(profile_total(p, t), expected);
}

static void assert_has_note(const struct profile *p, const char *part) {
    for (uint32_t i = 0; i < p->n_notes; i++)
        if (strstr(profile_text(p, p->notes[i]), part)) return;
    fail_msg("expected a note with '%s', seen %u notes: %s", part, p->n_notes,
             p->n_notes ? profile_text(p, p->notes[0]) : "");
}

static const char *leaf_name(const struct profile *p, uint32_t sample) {
    uint32_t location = p->frames[p->stacks[p->samples[sample].stack].first];
    assert_true(p->locations[location].n_lines > 0);
    return profile_text(p, p->functions[p->lines[p->locations[location].first_line].function].name);
}

#define MAPS                                                                                       \
    "MAPPED_LIBRARIES:\n"                                                                          \
    "00400000-00500000 r-xp 00000000 08:01 77 /bin/app\n"                                          \
    "00500000-00600000 rw-p 00100000 08:01 77 /bin/app\n"                                          \
    "7f0000000000-7f0000100000 r-xp 00001000 08:01 78 /lib/my lib.so (deleted)\n"

/* ---- gperftools heaps */

TEST(read_heap, exact_counts_are_taken_as_they_are) {
    struct profile *p = good("heap profile:   3:  300 [ 5:  500] @ heapprofile\n"
                             "  1:  100 [ 2:  200] @ 0x400010 0x400020\n"
                             "  2:  200 [ 3:  300] @ 0x400010 0x7f0000000010\n" MAPS);
    assert_total(p, "inuse_space", 300);
    assert_total(p, "inuse_objects", 3);
    assert_total(p, "alloc_space", 500);
    assert_total(p, "alloc_objects", 5);
    assert_int_equal(p->n_notes, 0);
    assert_int_equal(p->kind, PROFILE_HEAP);
    assert_string_equal(profile_text(p, p->types[p->default_type].name), "inuse_space");
    /* return addresses are one too far */
    assert_int_equal(p->locations[0].address, 0x40000f);
    assert_int_equal(p->n_mappings, 2); /* only what can be executed */
    assert_string_equal(profile_text(p, p->mappings[1].file), "/lib/my lib.so");
    assert_int_equal(p->mappings[1].offset, 0x1000);
    assert_int_equal(p->locations[2].mapping, 1);
    profile_free(p);
}

TEST(read_heap, v2_is_unsampled_by_the_mean_size) {
    struct profile *p = good("heap profile: 2: 2000 [0: 0] @ heap_v2/1000\n"
                             "2: 2000 [0: 0] @ 0x400010\n" MAPS);
    double scale = 1 / (1 - exp(-1.0));
    assert_total(p, "inuse_space", 2000 * scale);
    assert_total(p, "inuse_objects", 2 * scale);
    assert_total(p, "alloc_space", 0);
    assert_int_equal(p->period, 1000);
    profile_free(p);
}

TEST(read_heap, v1_scales_blocks_below_half_the_rate) {
    struct profile *p = good("heap profile: 3: 1200 [3: 1200] @ heap/2000\n"
                             "2: 200 [2: 200] @ 0x400010\n"
                             "1: 1000 [1: 1000] @ 0x400020\n" MAPS);
    assert_total(p, "inuse_space", 200 * 10 + 1000); /* 100 bytes of 1000: ten times */
    assert_total(p, "inuse_objects", 2 * 10 + 1);
    profile_free(p);
}

TEST(read_heap, equal_pairs_without_a_type_are_old_samples) {
    struct profile *p = good("heap profile: 1: 65536 [1: 65536]\n1: 65536 [1: 65536] @ 0x400010\n");
    assert_total(p, "inuse_space", 131072);
    profile_free(p);
}

TEST(read, a_map_that_ends_below_code_is_noted) {
    const char *const texts[] = {
        "heap profile: 1: 9 [1: 9] @ heapprofile\n1: 9 [1: 9] @ 0x400010 0x7f0000000010\n",
        "heap_v2/0\n  t*: 1: 9 [1: 9]\n@ 0x400010 0x7f0000000010\n  t*: 1: 9 [1: 9]\n",
        "--- contention\ncycles/second=10\n500 2 @ 0x400010 0x7f0000000010\n"};
    const char *maps = MAPS,
               *said[] = {"ends below 2 of 2 addresses", "ends below 1 of 2 addresses",
                          "ends below 1 of 2 addresses", NULL};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *end = maps;
        for (unsigned k = 0; k < sizeof said / sizeof *said; k++) { /* cut behind each line */
            char text[1024];
            end = strchr(end, '\n') + 1;
            (void)snprintf(text, sizeof text, "%s%.*s", texts[i], (int)(end - maps), maps);
            struct profile *p = good(text);
            if (said[k]) assert_has_note(p, said[k]);
            assert_int_equal(p->n_notes, said[k] != NULL);
            profile_free(p);
        }
    }
}

TEST(read, names_in_front_need_no_map) {
    struct profile *p =
        good("--- symbol\nbinary=/x\n0x10 f\n---\n--- heap\nheap profile: 1: 1 [1: 1] @ "
             "heapprofile\n1: 1 [1: 1] @ 0x10\nMAPPED_LIBRARIES:\n");
    assert_int_equal(p->n_notes, 0);
    profile_free(p);
}

TEST(read_heap, growth_is_exact) {
    struct profile *p = good("heap profile: 1: 1048576 [1: 1048576] @ growth\n"
                             "1: 1048576 [1: 1048576] @ 0x400010\n" MAPS);
    assert_int_equal(p->kind, PROFILE_GROWTH);
    assert_total(p, "inuse_space", 1048576);
    profile_free(p);
}

TEST(read_heap, a_header_that_counts_more_than_the_lines_is_noted) {
    struct profile *p = good("heap profile: 9: 900 [9: 900] @ heapprofile\n"
                             "1: 100 [1: 100] @ 0x400010\n" MAPS);
    assert_has_note(p, "counts 900 bytes in use in 9 blocks");
    assert_has_note(p, "sum to 100 in 1");
    profile_free(p);
}

TEST(read_heap, a_header_that_counts_more_allocations_is_noted) {
    struct profile *p = good("heap profile: 1: 100 [9: 900] @ heapprofile\n"
                             "1: 100 [1: 100] @ 0x400010\n" MAPS);
    assert_has_note(p, "counts 900 bytes allocated, the stacks that follow sum to 100");
    profile_free(p);
}

TEST(read_heap, other_writers_names_for_the_types_are_known) {
    struct profile *p = good("heap profile: 1: 1000 [1: 1000] @ heapz_v2/1000\n"
                             "1: 1000 [1: 1000] @ 0x400010\n" MAPS);
    assert_total(p, "inuse_space", 1000 / (1 - exp(-1.0)));
    profile_free(p);
    p = good("heap profile: 1: 1000 [1: 1000] @ growthz/1000\n1: 1000 [1: 1000] @ 0x400010\n" MAPS);
    assert_int_equal(p->kind, PROFILE_GROWTH);
    assert_total(p, "inuse_space", 1000);
    profile_free(p);
    p = good(
        "heap profile: 1: 1000 [1: 1000] @ fragmentation\n1: 1000 [1: 1000] @ 0x400010\n" MAPS);
    assert_total(p, "inuse_space", 1000);
    profile_free(p);
}

TEST(read_heap, lines_may_end_in_cr_and_the_map_may_be_short) {
    struct profile *p = good("heap profile: 1: 100 [1: 100] @ heapprofile\r\n"
                             "1: 100 [1: 100] @ 0x400010\r\n\r\n--- Memory map:\r\n"
                             "  build=/home/me\r\n"
                             "  400000-500000: $build/app\r\n");
    assert_int_equal(p->n_mappings, 1);
    assert_string_equal(profile_text(p, p->mappings[0].file), "/home/me/app");
    profile_free(p);
}

TEST(read_heap, a_warning_in_front_is_passed_on) {
    struct profile *p =
        good("%warn low on memory\n%other\nheap profile: 1: 100 [1: 100] @ heapprofile\n"
             "1: 100 [1: 100] @ 0x400010\n" MAPS);
    assert_has_note(p, "low on memory");
    assert_has_note(p, "a line that nobody knows is skipped: %other");
    profile_free(p);
}

/* ---- how much is too much */

TEST(intake, the_limits_that_hold_unless_told) {
    static const struct {
        const char *what;
        uint64_t most, n_packed, max_bytes; /* in bytes */
    } rows[] = {{"not packed", (uint64_t)2 << 30, 0, 0},
                {"the least", 64 << 20, 1, 0},
                {"64 MiB are the ratio", 67109000, 67109, 0},
                {"below it", 64 << 20, 67108, 0},
                {"the ratio", 100000000, 100000, 0},
                {"the ratio, near its end", 2147482000, 2147482, 0},
                {"past its end", (uint64_t)2 << 30, 2147483, 0},
                {"packed, large", (uint64_t)2 << 30, UINT64_MAX, 0},
                {"told", 1000, 1, 1000},
                {"told, much", (uint64_t)1 << 40, 1, (uint64_t)1 << 40}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool is_good = !intake_is_too_much(rows[i].most, rows[i].n_packed, rows[i].max_bytes) &&
                       intake_is_too_much(rows[i].most + 1, rows[i].n_packed, rows[i].max_bytes);
        if (!is_good) print_message("%s\n", rows[i].what);
        assert_true(is_good);
    }
    assert_false(intake_is_too_much(UINT64_MAX, 1, INTAKE_ANY));
}

/* ---- jemalloc */

static const char jemalloc_file[] =
    "heap_v2/1000\n"
    "  t*: 5: 5000 [0: 0]\n  t0: 4: 4000 [0: 0] main\n  t3: 1: 1000 [0: 0]\n"
    "@ 0x400010 0x400020\n"
    "  t*: 3: 3000 [0: 0]\n  t0: 2: 2000 [0: 0]\n  t3: 1: 1000 [0: 0]\n"
    "@ 0x400030\n  t*: 2: 2000 [0: 0]\n  t0: 2: 2000 [0: 0]\n\n" MAPS;

TEST(read_jemalloc, stacks_are_unsampled_by_the_sum_of_threads) {
    struct profile *p = good(jemalloc_file);
    double scale = 1 / (1 - exp(-1.0));
    assert_total(p, "inuse_space", 5000 * scale);
    assert_total(p, "inuse_objects", 5 * scale);
    assert_int_equal(p->n_samples, 2);
    assert_int_equal(p->n_notes, 0);
    profile_free(p);
}

TEST(read_jemalloc, one_thread_can_be_asked_for) {
    struct profile *p;
    struct report_error e;
    struct report_options o = {.thread = "3"};
    assert_int_equal(report_read_bytes("f", jemalloc_file, strlen(jemalloc_file), &o, &p, &e), 0);
    assert_total(p, "inuse_space", 1000 / (1 - exp(-1.0)));
    assert_int_equal(p->n_samples, 1);
    profile_free(p);
}

struct seen_threads {
    int64_t threads[8];
    double bytes[8];
    unsigned n, most;
};

static int see_thread(struct profile *part, int64_t thread, void *context) {
    struct seen_threads *seen = context;
    assert_true(profile_is_valid(part));
    assert_int_equal(part->kind, PROFILE_HEAP);
    for (uint32_t i = 0; i < part->n_samples; i++) assert_int_equal(part->samples[i].n_labels, 0);
    seen->threads[seen->n] = thread;
    seen->bytes[seen->n] = profile_total(part, profile_find_type(part, "inuse_space"));
    return ++seen->n == seen->most ? 7 : 0;
}

TEST(read_jemalloc, each_thread_is_a_part_by_itself) {
    static const char file[] = "heap_v2/0\n  t*: 9: 9 [0: 0]\n  t5: 1: 1 [0: 0]\n"
                               "@ 0x1011 0x2011\n  t*: 6: 60 [0: 0]\n  t12: 1: 10 [0: 0]\n"
                               "  t0: 2: 20 [0: 0]\n  t3: 3: 30 [0: 0]\n"
                               "@ 0x3011\n  t*: 5: 500 [0: 0]\n  t3: 1: 100 [0: 0]\n"
                               "  t12: 4: 400 [0: 0]\n  t9: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    struct report_options o = {.is_by_thread = true};
    struct seen_threads seen = {.most = 8}, one = {.most = 1};
    struct report_error e;
    struct profile *p;
    assert_int_equal(report_read_bytes("f", file, strlen(file), &o, &p, &e), 0);
    assert_true(profile_is_valid(p));
    assert_int_equal(threads_each(p, see_thread, &seen), 0);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.threads[0], 0);
    assert_int_equal(seen.threads[1], 3);
    assert_int_equal(seen.threads[2], 12);
    assert_true(seen.bytes[0] == 20 && seen.bytes[1] == 130 && seen.bytes[2] == 410);
    assert_int_equal(threads_each(p, see_thread, &one), 7);
    assert_int_equal(one.n, 1);
    profile_free(p);
}

TEST(read_jemalloc, a_header_far_from_the_sum_is_noted) {
    struct profile *p = good("heap_v2/1000\n  t*: 50: 50000 [0: 0]\n"
                             "@ 0x400010\n  t*: 3: 3000 [0: 0]\n\n" MAPS);
    assert_has_note(p, "counts 50000 bytes in use");
    profile_free(p);
}

/* ---- CPU */

/* Writes words of a size and endian; text behind. */
static size_t cpu_file(char *out, unsigned size, bool is_swapped, const uint64_t *words, unsigned n,
                       const char *text) {
    for (unsigned i = 0; i < n; i++) {
        uint64_t w = words[i];
        if (is_swapped) w = size == 8 ? __builtin_bswap64(w) : __builtin_bswap32((uint32_t)w);
        memcpy(out + i * size, &w, size);
    }
    memcpy(out + n * size, text, strlen(text));
    return n * size + strlen(text);
}

static const uint64_t cpu_words[] = {0,        3, 0, 10000,    0, 2, 2, 0x400010,
                                     0x400020, 3, 1, 0x400030, 0, 1, 0};
#define N_CPU_WORDS (sizeof cpu_words / sizeof *cpu_words)

TEST(read_cpu, words_of_both_sizes_and_endians_are_read) {
    for (unsigned i = 0; i < 4; i++) {
        char file[1024];
        size_t n = cpu_file(file, i & 1 ? 4 : 8, i & 2, cpu_words, N_CPU_WORDS,
                            "00400000-00500000 r-xp 00000000 08:01 77 /bin/app\n");
        struct profile *p = good_n(file, n);
        assert_total(p, "samples", 5);
        assert_total(p, "cpu", 5 * 10000 * 1000.0);
        assert_int_equal(p->period, 10000000);
        assert_int_equal(p->n_mappings, 1);
        assert_int_equal(p->n_locations, 3);
        assert_int_equal(p->locations[0].address, 0x400010); /* where the timer hit */
        assert_int_equal(p->locations[1].address, 0x40001f); /* a return address */
        profile_free(p);
    }
}

TEST(read_cpu, the_handler_between_two_leaves_is_left_out) {
    const uint64_t words[] = {0,        3,        0,        1000,     0, 1, 4,
                              0x400010, 0x7f01,   0x400010, 0x400020, 1, 4, 0x400050,
                              0x7f01,   0x400050, 0x400060, 0,        1, 0};
    char file[1024];
    struct profile *p =
        good_n(file, cpu_file(file, 8, false, words, sizeof words / sizeof *words, ""));
    assert_int_equal(p->stacks[0].n, 2);
    assert_int_equal(p->locations[p->frames[1]].address, 0x40001f);
    profile_free(p);
}

TEST(read_cpu, a_caller_that_all_stacks_share_stays) {
    const uint64_t words[] = {0,        3, 0, 1000,     0,        1, 2, 0x400010,
                              0x400100, 1, 2, 0x400050, 0x400100, 0, 1, 0};
    char file[1024];
    struct profile *p =
        good_n(file, cpu_file(file, 8, false, words, sizeof words / sizeof *words, ""));
    assert_int_equal(p->stacks[0].n, 2);
    profile_free(p);
}

TEST(read_cpu, the_handler_stays_when_asked_to) {
    const uint64_t words[] = {0,        3,      0,        1000,     0, 1, 4,
                              0x400010, 0x7f01, 0x400010, 0x400020, 0, 1, 0};
    char file[1024];
    size_t n = cpu_file(file, 8, false, words, sizeof words / sizeof *words, "");
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        struct report_options o = {.keeps_handler = keeps};
        struct report_error e = {.line = ""};
        struct profile *p;
        assert_int_equal(report_read_bytes("f", file, n, &o, &p, &e), 0);
        assert_int_equal(p->stacks[0].n, keeps ? 4 : 2);
        profile_free(p);
    }
}

TEST(read_cpu, a_version_that_is_not_known_is_refused) {
    const uint64_t words[] = {0, 3, 1, 1000, 0, 0, 1, 0};
    char file[1024];
    struct profile *p;
    struct report_error e = {.line = ""};
    size_t n = cpu_file(file, 8, false, words, sizeof words / sizeof *words, "");
    assert_int_not_equal(read_n(file, n, &p, &e), 0);
    assert_string_equal(e.line, "'f': is a CPU profile of version 1, only 0 is known");
}

TEST(read_cpu, every_cut_is_noticed) {
    char file[1024];
    size_t n = cpu_file(file, 8, false, cpu_words, N_CPU_WORDS, "");
    for (size_t cut = 1; cut < n; cut++) {
        struct profile *p;
        struct report_error e = {.line = ""};
        assert_int_not_equal(read_n(file, cut, &p, &e), 0);
        assert_non_null(strstr(e.line, "'f': "));
    }
}

/* ---- contention */

TEST(read_contention, cycles_become_nanoseconds) {
    struct profile *p = good("--- contention:\ncycles/second = 2000000000\nsampling period = 10\n"
                             "ms since reset = 77\n"
                             "  1000    3 @ 0x400010 0x400020\n" MAPS);
    assert_total(p, "contentions", 30);
    assert_total(p, "delay", 1000 * 10 / 2.0);
    assert_int_equal(p->n_mappings, 2);
    profile_free(p);
}

TEST(read_contention, what_brpc_writes_is_read) {
    struct profile *p = good("--- contention\ncycles/second=1000000000\n"
                             "500 2 @ 0x400010\n"
                             "00400000-00500000 r-xp 00000000 08:01 77 /bin/app\n");
    assert_total(p, "delay", 500);
    assert_int_equal(p->n_mappings, 1);
    profile_free(p);
}

TEST(read_contention, all_first_lines_are_known) {
    static const char *const first[] = {
        "--- contention", "--- contention:", "--- contentionz 1 ---", "--- mutex:", "--- Stacks:"};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++) {
        char text[200];
        (void)snprintf(text, sizeof text, "%s\ncycles/second=1000000000\n500 2 @ 0x400010\n",
                       first[i]);
        struct profile *p = good(text);
        assert_int_equal(p->kind, PROFILE_CONTENTION);
        assert_total(p, "delay", 500);
        profile_free(p);
    }
}

TEST(read_contention, a_missing_clock_is_assumed_and_said) {
    struct profile *p = good("--- contention\n2800 1 @ 0x400010\n");
    assert_total(p, "delay", 1000);
    assert_has_note(p, "2.8 GHz");
    profile_free(p);
}

/* ---- the container */

TEST(read_symbolized, names_come_from_the_front_and_inlined_ones_are_innermost_last) {
    struct profile *p = good("--- symbol\nbinary=/bin/app\n"
                             "0x000000000040000f outer(int)--inner--innermost\n0x40001f main\n---\n"
                             "--- heap\n"
                             "heap profile: 1: 100 [1: 100] @ heapprofile\n"
                             "1: 100 [1: 100] @ 0x40000f 0x400020\n");
    assert_string_equal(leaf_name(p, 0), "innermost");
    assert_int_equal(p->locations[0].n_lines, 3);
    assert_string_equal(
        profile_text(p, p->functions[p->lines[p->locations[0].first_line + 2].function].name),
        "outer(int)");
    assert_int_equal(p->locations[1].n_lines,
                     1); /* 0x400020 is a return address: main is one below */
    assert_total(p, "inuse_space", 100);
    profile_free(p);
}

TEST(read_symbolized, pprofs_wrong_marker_is_forgiven) {
    struct profile *p =
        good("--- symbol\nbinary=/bin/app\n0x40000f f\n---\n--- profile\n"
             "heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x40000f\n");
    assert_string_equal(leaf_name(p, 0), "f");
    profile_free(p);
}

TEST(read_symbolized, a_contention_profile_may_be_its_own_marker) {
    struct profile *p = good("--- symbol\nbinary=/bin/app\n0x40000f f\n---\n--- contention\n"
                             "cycles/second=1000000000\n500 2 @ 0x40000f\n");
    assert_total(p, "delay", 500);
    assert_string_equal(leaf_name(p, 0), "f");
    profile_free(p);
}

/* ---- collapsed, perf */

TEST(read_collapsed, stacks_are_root_first_and_names_may_have_blanks) {
    struct profile *p =
        good("# made by hand\nmain;operator new(unsigned long);f 3\nmain 4\nmain;x y 2.5\n");
    assert_total(p, "samples", 9.5);
    assert_string_equal(leaf_name(p, 0), "f");
    assert_string_equal(leaf_name(p, 1), "main");
    assert_string_equal(leaf_name(p, 2), "x y");
    assert_int_equal(p->n_functions, 4);
    profile_free(p);
}

TEST(read_perf, frames_have_names_and_files) {
    struct profile *p = good("app  4711 [001] 2213.845612:     250000 cycles:u: \n"
                             "\t    55d0c1a2b3c4 app::work(int)+0x14 (/usr/bin/app)\n"
                             "\t    7f21e0a4524a [unknown] (/usr/lib/libc.so.6)\n\n"
                             "app  4711 [001] 2213.845712:     250000 cycles:u: \n"
                             "\t    55d0c1a2b3c4 app::work(int)+0x14 (/usr/bin/app)\n\n");
    assert_total(p, "samples", 2);
    assert_string_equal(leaf_name(p, 0), "app::work(int)");
    assert_int_equal(p->n_mappings, 2);
    assert_string_equal(profile_text(p, p->functions[1].name), "libc.so.6");
    assert_string_equal(profile_text(p, p->labels[0].text), "cycles:u");
    profile_free(p);
}

/* ---- profile.proto */

struct message {
    unsigned char bytes[600];
    size_t n;
};

static void put_varint(struct message *m, uint64_t v) {
    for (; v >= 0x80; v >>= 7) m->bytes[m->n++] = (unsigned char)(v | 0x80);
    m->bytes[m->n++] = (unsigned char)v;
}
static void put_number(struct message *m, unsigned field, uint64_t v) {
    put_varint(m, field << 3);
    put_varint(m, v);
}
static void put_bytes(struct message *m, unsigned field, const void *bytes, size_t n) {
    put_varint(m, field << 3 | 2);
    put_varint(m, n);
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}
static void put_message(struct message *m, unsigned field, const struct message *sub) {
    put_bytes(m, field, sub->bytes, sub->n);
}
/* Pairs of field and value, ended by field 0. */
static struct message numbers(const uint64_t *pairs) {
    struct message m = {.n = 0};
    for (; pairs[0] != 0; pairs += 2) put_number(&m, (unsigned)pairs[0], pairs[1]);
    return m;
}
#define NUMBERS(...) numbers((const uint64_t[]){__VA_ARGS__, 0})

/* What can be wrong with the profile below: a value other than the right one. */
struct fault {
    unsigned n_values, location, function, mapping, string;
};
static const struct fault no_fault = {2, 2, 1, 1, 3};

static struct message proto(const struct fault *f) {
    static const char *const strings[] = {"",  "objects", "count", "space", "bytes",    "f",
                                          "g", "a.c",     "key",   "text",  "/bin/app", "beef"};
    struct message whole = {.n = 0}, sub, part = {.n = 0};
    sub = NUMBERS(1, 1, 2, 2);
    put_message(&whole, 1, &sub);
    sub = NUMBERS(1, f->string, 2, 4);
    put_message(&whole, 1, &sub);

    sub.n = 0;
    put_varint(&part, 1); /* locations packed, values one by one */
    put_varint(&part, f->location);
    put_message(&sub, 1, &part);
    for (unsigned i = 0; i < f->n_values; i++) put_number(&sub, 2, i ? (uint64_t)-300 : 5);
    part = NUMBERS(1, 8, 2, 9);
    put_message(&sub, 3, &part);
    put_message(&whole, 2, &sub);

    sub = NUMBERS(1, 1, 2, 0x1000, 3, 0x2000, 5, 10, 6, 11, 7, 1);
    put_message(&whole, 3, &sub);
    sub = NUMBERS(1, 1, 2, f->mapping, 3, 0x1010);
    part = NUMBERS(1, f->function, 2, 17);
    put_message(&sub, 4, &part);
    part = NUMBERS(1, 2, 2, 4);
    put_message(&sub, 4, &part);
    put_message(&whole, 4, &sub);
    sub = NUMBERS(1, 2, 2, 1, 3, 0x1020);
    put_message(&whole, 4, &sub);
    sub = NUMBERS(1, 1, 2, 5, 4, 7);
    put_message(&whole, 5, &sub);
    sub = NUMBERS(1, 2, 2, 6);
    put_message(&whole, 5, &sub);
    for (unsigned i = 0; i < sizeof strings / sizeof *strings; i++)
        put_bytes(&whole, 6, strings[i], strlen(strings[i]));
    put_number(&whole, 12, 524288);
    return whole;
}

static void check_proto(const struct profile *p) {
    assert_total(p, "objects", 5);
    assert_total(p, "space", -300);
    assert_int_equal(p->default_type, 1); /* the last one */
    assert_int_equal(p->period, 524288);
    assert_string_equal(leaf_name(p, 0), "f");
    assert_int_equal(p->lines[0].line, 17);
    assert_int_equal(p->locations[0].n_lines, 2);
    assert_int_equal(p->locations[1].n_lines, 0);
    assert_true(p->mappings[0].has_functions);
    assert_string_equal(profile_text(p, p->mappings[0].build_id), "beef");
    assert_string_equal(profile_text(p, p->labels[p->samples[0].first_label].text), "text");
}

TEST(read_proto, all_tables_are_read) {
    struct message m = proto(&no_fault);
    struct profile *p = good_n(m.bytes, m.n);
    check_proto(p);
    profile_free(p);
}

static size_t pack(const void *bytes, size_t n, unsigned char *out, size_t room) {
    z_stream z = {
        .next_in = (Bytef *)bytes, .avail_in = (uInt)n, .next_out = out, .avail_out = (uInt)room};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return room - z.avail_out;
}

TEST(read_proto, packed_it_is_the_same) {
    struct message m = proto(&no_fault);
    unsigned char packed[1000];
    size_t n = pack(m.bytes, m.n, packed, sizeof packed);
    struct profile *p = good_n(packed, n);
    check_proto(p);
    profile_free(p);
    for (size_t at = 11; at < n; at += 5) {
        struct report_error e = {.line = ""};
        assert_true(read_n(packed, at, &p, &e) != 0);
        assert_non_null(strstr(e.line, "is a gzip file that is truncated"));
    }
}

/* As `cat a.pb b.pb` makes it, packed or not: numbers of strings would be those of the other one. */
TEST(read_proto, two_profiles_in_one_file_are_refused) {
    struct message m = proto(&no_fault);
    unsigned char both[2 * sizeof m.bytes], packed[2000];
    struct profile *p;
    struct report_error e = {.line = ""};
    memcpy(both, m.bytes, m.n);
    memcpy(both + m.n, m.bytes, m.n);
    assert_int_not_equal(read_n(both, 2 * m.n, &p, &e), 0);
    assert_non_null(strstr(e.line, "'f': is a damaged pprof profile: two "));
    size_t n = pack(m.bytes, m.n, packed, 1000);
    n += pack(m.bytes, m.n, packed + n, 1000);
    assert_int_not_equal(read_n(packed, n, &p, &e), 0);
    assert_non_null(strstr(e.line, "with one id"));
}

TEST(read_proto, an_id_is_for_one_thing) {
    const struct {
        unsigned field;
        const char *says;
    } rows[] = {{3, "two mappings with one id"},
                {4, "two locations with one id"},
                {5, "two functions with one id"}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct message m = proto(&no_fault), again = NUMBERS(1, 1);
        struct profile *p;
        struct report_error e = {.line = ""};
        put_message(&m, rows[i].field, &again);
        assert_int_not_equal(read_n(m.bytes, m.n, &p, &e), 0);
        if (strstr(e.line, rows[i].says) == NULL)
            fail_msg("expected '%s', seen '%s'", rows[i].says, e.line);
    }
}

TEST(read_proto, what_refers_to_nothing_is_refused) {
    const struct {
        struct fault fault;
        const char *says;
    } rows[] = {
        {{1, 2, 1, 1, 3}, "a sample has 1 values for 2 types"},
        {{3, 2, 1, 1, 3}, "a sample has 3 values for 2 types"},
        {{2, 9, 1, 1, 3}, "names a location that is not there"},
        {{2, 2, 9, 1, 3}, "names a function that is not there"},
        {{2, 2, 1, 9, 3}, "names a mapping that is not there"},
        {{2, 2, 1, 1, 99}, "names a string that is not there"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct message m = proto(&rows[i].fault);
        struct profile *p;
        struct report_error e = {.line = ""};
        assert_int_not_equal(read_n(m.bytes, m.n, &p, &e), 0);
        if (strstr(e.line, rows[i].says) == NULL)
            fail_msg("expected '%s', seen '%s'", rows[i].says, e.line);
    }
}

/* ---- heaptrack */

#define HEAPTRACK                                                                                  \
    "v 10400 3\nX ./app\n"                                                                         \
    "s 4 main\ns 3 f.c\ns 6 f(int)\ns 8 /bin/app\n"                                                \
    "i 401000 4 1 2 10\ni 401020 4 3 2 20 1 2 11\ni 7f00 4\n"                                      \
    "t 1 0\nt 2 1\nt 3 1\n"                                                                        \
    "a 10 2\na 100 3\n"                                                                            \
    "+ 0\n+ 0\nc 5\n+ 1\n- 0\n- 1\n+ 0\nR 12\n"                                                    \
    "\n# strings: 4\n# ips: 3\n"

TEST(read_heaptrack, allocations_in_use_and_at_the_peak_are_counted) {
    struct profile *p = good(HEAPTRACK);
    assert_total(p, "alloc_objects", 4);
    assert_total(p, "alloc_space", 3 * 16 + 256);
    assert_total(p, "inuse_objects", 2);
    assert_total(p, "inuse_space", 32);
    assert_total(p, "peak_objects", 3); /* after + 1: two of 16 and one of 256 */
    assert_total(p, "peak_space", 32 + 256);
    assert_string_equal(leaf_name(p, 0), "f(int)"); /* inlined into main, called by main */
    const struct profile_stack *s = &p->stacks[p->samples[0].stack];
    assert_int_equal(s->n, 2);
    assert_int_equal(p->locations[p->frames[s->first]].address, 0x401020);
    assert_int_equal(p->locations[p->frames[s->first]].n_lines, 2);
    const struct profile_line *l = &p->lines[p->locations[p->frames[s->first]].first_line];
    assert_int_equal(l[0].line, 0x20);
    assert_int_equal(l[1].line, 0x11);
    assert_int_equal(p->n_notes, 0);
    profile_free(p);
}

TEST(read_heaptrack, a_raw_one_has_pointers_and_modules) {
    struct profile *p = good("v 10400 3\nx 8 /bin/app\nX ./app\nm 1 -\n"
                             "m 1 x 5000 0 800 1000 500\nm 9 my lib.so 90000 0 1000\n"
                             "t 6010 0\nt 90020 1\n"
                             "+ 10 1 5500\n+ 20 2 6600\n- 5500\n- 7777\n+ 30 1 6600\n");
    assert_total(p, "alloc_space", 0x60);
    assert_total(p, "inuse_space", 0x30); /* 6600 again: the free of the first one was missed */
    assert_total(p, "peak_space", 0x30);
    const struct profile_stack *s = &p->stacks[p->samples[1].stack];
    const struct profile_location *leaf = &p->locations[p->frames[s->first]];
    assert_string_equal(profile_text(p, p->mappings[leaf->mapping].file), "my lib.so");
    const struct profile_location *root = &p->locations[p->frames[s->first + 1]];
    assert_string_equal(profile_text(p, p->mappings[root->mapping].file), "/bin/app");
    assert_int_equal(p->mappings[root->mapping].offset, 0x1000);
    profile_free(p);
}

TEST(read_heaptrack, many_pointers_are_found_again) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    fprintf(out, "v 10400 3\nx 1 a\nt 10 0\n");
    for (unsigned i = 1; i <= 5000; i++) fprintf(out, "+ 8 1 %x\n", i * 16);
    for (unsigned i = 1; i <= 5000; i += 2) fprintf(out, "- %x\n", i * 16);
    for (unsigned i = 1; i <= 5000; i += 2) fprintf(out, "- %x\n", i * 16); /* known to be free */
    fclose(out);
    struct profile *p = good_n(text, n);
    assert_total(p, "inuse_objects", 2500);
    assert_total(p, "peak_objects", 5000);
    profile_free(p);
    free(text);
}

TEST(read_heaptrack, packed_by_zstd_it_is_the_same_and_a_cut_is_noticed) {
    char packed[4096];
    size_t n = ZSTD_compress(packed, sizeof packed, HEAPTRACK, strlen(HEAPTRACK), 3);
    assert_false(ZSTD_isError(n));
    struct profile *p = good_n(packed, n);
    assert_total(p, "inuse_space", 32);
    profile_free(p);
    for (size_t at = 5; at < n; at += 7) {
        struct report_error e = {.line = ""};
        assert_true(read_n(packed, at, &p, &e) != 0);
        assert_non_null(strstr(e.line, "is a zstd file that is truncated"));
    }
}

/* ---- files that are none */

TEST(read, a_file_that_is_none_gets_a_line_that_says_what_it_is) {
    const struct {
        const char *text, *says;
    } rows[] = {
        {"", "is empty"},
        {" \n\n", "only blanks"},
        {"\177ELF\2\1\1", "is a program or library"},
        {"<!DOCTYPE html><html>", "is a web page"},
        {"<html><body>404", "is a web page"},
        {"Hello, world.\n", "is text, but of no kind"},
        {"\x7f\x03\x05\xff\x80", "is no kind of profile"},
        {"PERFILE2xxxxxxxx", "perf script"},
        {"\x1f\x8b garbage", "is a gzip file that is damaged"},
        {"heap profile: what\n", "line 1: expected 'heap profile: N: N [N: N]"},
        {"heap profile: 1: 1 [1: 1] @ heap_v2/x\n", "expected a sampling rate"},
        {"heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x1g\n",
         "line 2: expected an address, found 'g'"},
        {"heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x11112222333344445\n",
         "line 2: expected an address"},
        {"heap profile: 1: 1 [1: 1] @ heapprofile\n\n1: 1 [1: ",
         "line 3: expected 'N: N [N: N] @ addresses', found '1: 1 [1: '; the file is truncated"},
        {"heap profile: 2: 2 [2: 2] @ heapprofile\n1: 1 [1: 1] @ 0x10\n",
         "is truncated: its header counts 2 bytes"},
        {"heap profile: 1: 99999999999999999999 [1: 1] @ heapprofile\n", "line 1: expected"},
        {"heap_v2/\n", "line 1: expected a sampling rate"},
        {"heap_v2/100\n@ 0x10\n", "line 2: expected counts of a thread"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n", "is truncated"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n@ 0x10\n", "is truncated"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n@ 0x10\n  t*: 1: ", "the file is truncated"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n0x10\n", "line 3: expected a stack"},
        {"--- contention\nhello\n", "line 2: expected 'cycles count @ addresses'"},
        {"--- contention\n12 3 @ 0x10 0x2", "line 2: has no end; the file is truncated"},
        {"heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x40",
         "line 2: has no end; the file is truncated"},
        {"heap profile: 1: 1", "line 1: expected 'heap profile: N: N [N: N] @ TYPE', found"},
        {"heap profile: 1: 1", "; the file is truncated there"},
        {"heap profile: 0: 0 [0: 0] @ heap", "line 1: has no end; the file is truncated there"},
        {"heap_v2/", "; the file is truncated there"},
        {"heap_v2/100\n  t*",
         "line 2: expected 'tN: N: N [N: N]', found '  t*'; the file is truncated there"},
        {"heap_v2/100\n ",
         "line 2: expected counts of a thread, found ' '; the file is truncated there"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n  t0: 1: 1 [0: 0]\n ",
         "line 4: expected a stack ('@ addresses'), found ' '; the file is truncated there"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n@ 0x10 0x",
         "line 3: expected an address, found '0x'; the file is truncated there"},
        {"heap_v2/100\n  t*: 1: 1 [0: 0]\n@ 0x10\n  t*: 1: 1 [0: 0]\nMA",
         "line 5: expected a stack ('@ addresses'), found 'MA'; the file is truncated there"},
        {"--- contention\ncycles/second=1", "line 2: has no end; the file is truncated there"},
        {"--- symbol\n0x", "; the file is truncated there"},
        {"--- symbol\n0x10 f\n---\n", "is truncated: it ends behind its symbols"},
        {"--- symbol\n0x10 f\n---\n--- heap\nheap pro",
         "line 5: has symbols, and after them no profile that is known; the file is truncated there"},
        {"app 1 2.3: cycles:\n\t 55d0 f (/x)\n\t 55d0 g (/",
         "line 3: has no end; the file is truncated there"},
        {"app 1 2.3: cycles:\n\t 55d0 f (/x)\n\napp 1", "; the file is truncated there"},
        {"app 1 2.3: cycles:\n\t 55d0 f (/x)", NULL},
        {"a;b 1\nc;",
         "line 2: expected 'frame;frame count', found 'c;'; the file is truncated there"},
        {"v 10400 3", "line 1: has no end; the file is truncated there"},
        {"--- contention\n12 3 @\n", NULL}, /* a stack without frames is one */
        {"--- symbol\nbinary=/x\n0x10 f\n", "have no end mark"},
        {"--- symbol\nnonsense\n---\n", "line 2: expected '0xADDRESS name'"},
        {"--- symbol\n0x10 f\n---\n--- profile\nhello", "no profile that is known"},
        {"--- symbol\n---\n--- symbol\n---\n", "no profile that is known"},
        {"a;b 1\nc;d 1\ne 1\nf 1\ng 1\nh 1\ni 1\nj 1\nk 1\nl 1\noops\n",
         "line 11: expected 'frame;frame count'"},
        {"app 1 2.3: cycles:\n\t 55d0 f (/x)\n\n\t 55d0 f (/x)\n",
         "line 4: expected 'command pid time: event:'"},
        {"v 10400 7\n", "is heaptrack's file of version 7, only 3 is known"},
        {"v 10400 3\ns 4 mai\n", "line 2: does not belong into heaptrack's file: 's 4 mai'"},
        {"v 10400 3\nt 1 0\n", "line 2: does not belong"},
        {"v 10400 3\n+ 0\n", "line 2: does not belong"},
        {"v 10400 3\ns 1 a\n+ ", "line 3: has no end; the file is truncated"},
        {"\x28\xb5\x2f\xfd garbage", "is a zstd file that is damaged"},
        {"\n\4\10\1\20\2\62", "truncated or damaged at byte 6"},
        {"\n\4\10\1\20\2", "it has no strings"},
        {"\n\4\10\7\20\2"
         "2\0",
         "truncated or damaged"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile *p;
        struct report_error e = {.line = ""};
        int error = read_n(rows[i].text, strlen(rows[i].text), &p, &e);
        if (rows[i].says == NULL) {
            if (error != 0) fail_msg("row %u: expected a profile, seen '%s'", i, e.line);
            profile_free(p);
            continue;
        }
        if (error == 0) fail_msg("row %u: expected '%s', seen a profile", i, rows[i].says);
        if (strncmp(e.line, "'f': ", 5) != 0 || strstr(e.line, rows[i].says) == NULL)
            fail_msg("row %u: expected '%s', seen '%s'", i, rows[i].says, e.line);
    }
}

/* Whatever is cut off or turned over: a profile that is valid, or one line. */
static void survive(const void *bytes, size_t n) {
    struct profile *p;
    struct report_error e = {.line = ""};
    if (read_n(bytes, n, &p, &e) == 0)
        profile_free(p);
    else
        assert_true(e.line[0] != '\0' && strchr(e.line, '\n') == NULL);
}

TEST(read, files_cut_anywhere_and_with_any_byte_turned_over_are_survived) {
    static char files[10][1024];
    size_t sizes[10], n_files = 0;
    const char *texts[] = {
        jemalloc_file,
        "heap profile: 3: 300 [5: 500] @ heap_v2/100\n1: 100 [2: 200] @ 0x400010 0x20\n" MAPS,
        "--- contention\ncycles/second=10\n500 2 @ 0x400010\n" MAPS,
        "--- symbol\nbinary=/x\n0x10 f--g\n---\n--- heap\nheap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x10\n",
        "main;f;g 3\nmain 4\n",
        "app 1 [001] 2.3: 25 cycles:u: \n\t 55d0 f+0x14 (/x)\n\n",
        HEAPTRACK,
        "v 10400 3\nx 4 /app\nm 1 x 5000 0 800\nt 5010 0\n+ 10 1 5500\n- 5500\n"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        sizes[n_files] = strlen(texts[i]);
        memcpy(files[n_files++], texts[i], strlen(texts[i]));
    }
    sizes[n_files] =
        cpu_file(files[n_files], 8, false, cpu_words, N_CPU_WORDS, "400000-500000: /x\n");
    n_files++;
    struct message m = proto(&no_fault);
    sizes[n_files] = m.n;
    memcpy(files[n_files++], m.bytes, m.n);
    for (unsigned i = 0; i < n_files; i++)
        for (size_t at = 0; at < sizes[i]; at++) {
            survive(files[i], at);
            for (unsigned bit = 0; bit < 8; bit++) {
                files[i][at] ^= (char)(1u << bit);
                survive(files[i], sizes[i]);
                files[i][at] ^= (char)(1u << bit);
            }
        }
}

TEST(read, a_missing_file_and_a_folder_are_named) {
    struct profile *p;
    struct report_error e;
    assert_int_equal(report_read("/nowhere/x.heap", NULL, &p, &e), -ENOENT);
    assert_string_equal(e.line, "'/nowhere/x.heap': cannot open: No such file or directory");
    assert_int_equal(report_read("/", NULL, &p, &e), -EISDIR);
    assert_string_equal(e.line, "'/': is a directory, not a profile");
}

UNIT_MAIN()
