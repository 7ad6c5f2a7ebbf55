/* test_counts.c - stacks that are counted. */
#include "unit.h"

#include "probe/counts.h"

static struct vt_counts counts = VT_COUNTS;

static bool count(uint32_t stack, uint32_t label, uint32_t who, uint64_t n, uint64_t on_ns,
                  uint64_t off_ns) {
    struct vt_count c = {stack, label, who, n, on_ns, off_ns};
    return vt__counts_add(&counts, &c);
}

static struct vt_count one(uint32_t *n) {
    struct vt_count row = {0}, last = {0};
    *n = 0;
    for (uint32_t cursor = 0; vt__counts_next(&counts, &cursor, &row); ++*n) last = row;
    return last;
}

TEST(counts, what_is_counted_twice_is_one_row) {
    uint32_t n;
    assert_true(count(5, 7, 1, 2, 20, 1));
    assert_true(count(5, 7, 1, 3, 30, 0));
    struct vt_count row = one(&n);
    assert_int_equal(n, 1);
    assert_int_equal(row.stack, 5);
    assert_int_equal(row.label, 7);
    assert_int_equal(row.who, 1);
    assert_int_equal(row.n, 5);
    assert_int_equal(row.on_ns, 50);
    assert_int_equal(row.off_ns, 1);
}

TEST(counts, forgetting_leaves_nothing_and_counting_goes_on) {
    uint32_t n;
    assert_true(count(5, 0, 1, 2, 20, 0));
    vt__counts_forget(&counts);
    one(&n);
    assert_int_equal(n, 0);
    assert_true(count(5, 0, 1, 1, 10, 0));
    assert_int_equal(one(&n).n, 1);
}

TEST(counts, a_hundred_thousand_stacks_are_all_there) {
    enum { N = 100000 };
    uint64_t sum = 0;
    uint32_t n = 0;
    struct vt_count row;
    for (uint32_t i = 1; i <= N; i++) assert_true(count(i, i % 3, 1, i, 1, 0));
    for (uint32_t i = 1; i <= N; i++) assert_true(count(i, i % 3, 1, i, 1, 0));
    for (uint32_t cursor = 0; vt__counts_next(&counts, &cursor, &row); n++) {
        assert_int_equal(row.n, 2 * (uint64_t)row.stack);
        assert_int_equal(row.label, row.stack % 3);
        sum += row.n;
    }
    assert_int_equal(n, N);
    assert_int_equal(sum, (uint64_t)N * (N + 1));
}

static void *count_some(void *unused) {
    for (uint32_t i = 0; i < 20000; i++) assert_true(count(1 + i % 500, 0, 1, 1, 1, 0));
    return unused;
}

TEST(counts, threads_that_count_the_same_lose_nothing) {
    pthread_t id[4];
    uint64_t sum = 0;
    uint32_t n = 0;
    struct vt_count row;
    for (int i = 0; i < 4; i++) pthread_create(&id[i], NULL, count_some, NULL);
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    for (uint32_t cursor = 0; vt__counts_next(&counts, &cursor, &row); n++) sum += row.n;
    assert_int_equal(n, 500);
    assert_int_equal(sum, 4 * 20000);
}

UNIT_MAIN()
