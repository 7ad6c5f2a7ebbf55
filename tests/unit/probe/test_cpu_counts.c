/* test_cpu_counts.c - the counts of the CPU profiler. */
#include "unit.h"

#include "probe/cpu_impl.h"

static struct vt_cpu_task *made_up_task(uint32_t number) {
    static struct vt_cpu_task task;
    return number == 1 ? &task : NULL;
}
#define vt__cpu_task made_up_task
#include "probe/cpu_counts.c"

static struct vt_cpu_row one(uint32_t *n) {
    struct vt_cpu_row row = {0}, last = {0};
    *n = 0;
    for (uint32_t cursor = 0; vt__cpu_next(&cursor, &row); ++*n) last = row;
    return last;
}

TEST(cpu_counts, what_is_counted_twice_is_one_row) {
    uint32_t n;
    assert_true(vt__cpu_count(5, 1, 7, 2, 20, 1));
    assert_true(vt__cpu_count(5, 1, 7, 3, 30, 0));
    struct vt_cpu_row row = one(&n);
    assert_int_equal(n, 1);
    assert_int_equal(row.stack, 5);
    assert_int_equal(row.label, 7);
    assert_int_equal(row.n, 5);
    assert_int_equal(row.on_ns, 50);
    assert_int_equal(row.off_ns, 1);
}

TEST(cpu_counts, forgetting_leaves_nothing_and_counting_goes_on) {
    uint32_t n;
    assert_true(vt__cpu_count(5, 1, 0, 2, 20, 0));
    vt__cpu_forget_counts();
    one(&n);
    assert_int_equal(n, 0);
    assert_true(vt__cpu_count(5, 1, 0, 1, 10, 0));
    assert_int_equal(one(&n).n, 1);
}

TEST(cpu_counts, a_hundred_thousand_stacks_are_all_there) {
    enum { N = 100000 };
    uint64_t sum = 0;
    uint32_t n = 0;
    struct vt_cpu_row row;
    for (uint32_t i = 1; i <= N; i++) assert_true(vt__cpu_count(i, 1, i % 3, i, 1, 0));
    for (uint32_t i = 1; i <= N; i++) assert_true(vt__cpu_count(i, 1, i % 3, i, 1, 0));
    for (uint32_t cursor = 0; vt__cpu_next(&cursor, &row); n++) {
        assert_int_equal(row.n, 2 * (uint64_t)row.stack);
        assert_int_equal(row.label, row.stack % 3);
        sum += row.n;
    }
    assert_int_equal(n, N);
    assert_int_equal(sum, (uint64_t)N * (N + 1));
}

static void *count_some(void *unused) {
    for (uint32_t i = 0; i < 20000; i++) assert_true(vt__cpu_count(1 + i % 500, 1, 0, 1, 1, 0));
    return unused;
}

TEST(cpu_counts, threads_that_count_the_same_lose_nothing) {
    pthread_t id[4];
    uint64_t sum = 0;
    uint32_t n = 0;
    struct vt_cpu_row row;
    for (int i = 0; i < 4; i++) pthread_create(&id[i], NULL, count_some, NULL);
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    for (uint32_t cursor = 0; vt__cpu_next(&cursor, &row); n++) sum += row.n;
    assert_int_equal(n, 500);
    assert_int_equal(sum, 4 * 20000);
}

UNIT_MAIN()
