/* test_profile.c - the model: things are kept once, runs at different addresses meet, nothing is lost. */
#include "unit.h"

#include "report/profile.h"

static uint32_t stack_of(struct profile *p, const uint64_t *addresses, uint32_t n) {
    uint32_t locations[8];
    for (uint32_t i = 0; i < n; i++)
        locations[i] = profile_add_location(p, PROFILE_NONE, addresses[i]);
    return profile_add_stack(p, locations, n);
}

/* One mapping of 'prog' at `start`, one sample of `value` at start + 0x10. */
static struct profile *run_at(uint64_t start, double value, const char *build_id) {
    struct profile *p = profile_new();
    profile_add_type(p, "space", "bytes");
    struct profile_mapping m = {.start = start,
                                .limit = start + 0x1000,
                                .file = profile_string(p, "/bin/prog"),
                                .build_id = profile_string(p, build_id)};
    profile_add_mapping(p, &m);
    uint64_t address = start + 0x10;
    profile_add_sample(p, stack_of(p, &address, 1), &value);
    profile_locate(p);
    return p;
}

TEST(profile, equal_strings_have_one_number) {
    struct profile *p = profile_new();
    char text[16];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++) {
            (void)snprintf(text, sizeof text, "name %d", i);
            assert_int_equal(profile_string(p, text), i + 1);
            assert_string_equal(profile_text(p, (uint32_t)i + 1), text);
        }
    assert_int_equal(profile_string(p, ""), 0);
    assert_int_equal(p->n_strings, 5001);
    profile_free(p);
}

TEST(profile, equal_stacks_have_one_number_and_their_frames_stay) {
    struct profile *p = profile_new();
    for (int round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 3000; i++) {
            uint64_t pcs[3] = {i + 1, 7, i / 2 + 1};
            assert_int_equal(stack_of(p, pcs, 3), i);
        }
    assert_int_equal(p->n_stacks, 3000);
    assert_int_equal(p->n_frames, 9000);
    assert_int_equal(p->locations[p->frames[p->stacks[2999].first]].address, 3000);
    profile_free(p);
}

TEST(profile, an_address_finds_its_mapping_and_a_gap_finds_none) {
    struct profile *p = profile_new();
    struct profile_mapping high = {.start = 0x3000, .limit = 0x4000},
                           low = {.start = 0x1000, .limit = 0x2000};
    profile_add_mapping(p, &high);
    profile_add_mapping(p, &low);
    const struct {
        uint64_t address;
        uint32_t mapping;
    } rows[] = {{0xfff, PROFILE_NONE}, {0x1000, 1}, {0x1fff, 1},           {0x2000, PROFILE_NONE},
                {0x3000, 0},           {0x3fff, 0}, {0x4000, PROFILE_NONE}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        profile_add_location(p, PROFILE_NONE, rows[i].address);
    profile_locate(p);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(p->locations[i].mapping, rows[i].mapping);
    assert_int_equal(profile_add_location(p, 1, 0x1000), 1); /* still found after the move */
    profile_free(p);
}

TEST(profile, runs_at_different_addresses_subtract_to_nothing) {
    struct profile *a = run_at(0x5000, 100, "abc"), *b = run_at(0x9000, 100, "abc");
    assert_int_equal(profile_merge(a, b, -1), 0);
    assert_int_equal(a->n_mappings, 1);
    assert_int_equal(a->n_locations, 1);
    assert_int_equal(a->n_stacks, 1);
    assert_true(profile_total(a, 0) == 0);
    assert_true(profile_is_valid(a));
    profile_free(a);
    profile_free(b);
}

TEST(profile, another_build_is_another_file) {
    struct profile *a = run_at(0x5000, 100, "abc"), *b = run_at(0x5000, 1, "def");
    assert_int_equal(profile_merge(a, b, 1), 0);
    assert_int_equal(a->n_mappings, 2);
    assert_int_equal(a->n_locations, 2);
    assert_true(profile_total(a, 0) == 101);
    profile_free(a);
    profile_free(b);
}

TEST(profile, named_locations_meet_by_their_lines) {
    struct profile *p = profile_new();
    struct profile_function f = {.name = profile_string(p, "f")},
                            g = {.name = profile_string(p, "g")};
    struct profile_line in_f = {.function = profile_add_function(p, &f), .line = 3},
                        in_g = {.function = profile_add_function(p, &g), .line = 3};
    assert_int_equal(profile_add_named(p, PROFILE_NONE, &in_f, 1), 0);
    assert_int_equal(profile_add_named(p, PROFILE_NONE, &in_g, 1), 1);
    assert_int_equal(profile_add_named(p, PROFILE_NONE, &in_f, 1), 0);
    profile_free(p);
}

TEST(profile, what_is_missing_in_one_is_missing_in_the_sum) {
    struct profile *a = run_at(0x5000, 100, "abc"), *b = run_at(0x9000, 100, "abc");
    assert_true(profile_is_whole(a));
    profile_add_gap(a, "a row");
    profile_add_gap(b, "a stack");
    profile_add_gap(b, "a row");
    assert_int_equal(profile_merge(a, b, -1), 0);
    assert_string_equal(profile_gap(a, 0), "a row");
    assert_string_equal(profile_gap(a, 1), "a stack");
    assert_null(profile_gap(a, 2));
    for (char n[2] = "0"; *n <= '9'; n[0]++) profile_add_gap(a, n);
    assert_int_equal(a->n_comments, PROFILE_MAX_GAPS);
    assert_null(profile_gap(a, PROFILE_MAX_GAPS));
    profile_free(a);
    profile_free(b);
}

TEST(profile, profiles_without_a_common_type_are_not_merged) {
    struct profile *a = run_at(0x5000, 100, ""), *b = profile_new();
    profile_add_type(b, "cpu", "nanoseconds");
    assert_int_equal(profile_merge(a, b, 1), -1);
    assert_int_equal(a->n_samples, 1);
    profile_free(a);
    profile_free(b);
}

TEST(profile, inuse_space_finds_space) {
    struct profile *p = profile_new();
    profile_add_type(p, "objects", "count");
    profile_add_type(p, "space", "bytes");
    assert_int_equal(profile_find_type(p, "inuse_space"), 1);
    assert_int_equal(profile_find_type(p, "alloc_space"), PROFILE_NONE);
    profile_free(p);
}

TEST(profile, a_profile_with_an_index_out_of_range_is_not_valid) {
    struct profile *p = run_at(0x5000, 100, "");
    assert_true(profile_is_valid(p));
    p->frames[0] = 77;
    assert_false(profile_is_valid(p));
    p->frames[0] = 0;
    p->samples[0].stack = 5;
    assert_false(profile_is_valid(p));
    profile_free(p);
}

UNIT_MAIN()
