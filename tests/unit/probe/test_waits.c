/* test_waits.c - which waits are counted, and for how much. */
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "probe/waits.c"

/* What a million waits of this length add up to, to what they should. */
static void expect_unbiased(uint64_t ns, uint64_t period_ns) {
    enum { N = 1000000 };
    double n = 0, sum = 0;
    waits.period_ns = period_ns;
    for (int i = 0; i < N; i++) {
        struct vt_count c = weigh(ns);
        assert_true(c.n == 0 || c.on_ns >= vt_min(ns, period_ns));
        n += (double)c.n;
        sum += (double)c.on_ns;
    }
    /* draws of chance p are off by sqrt((1 - p) / (p N)); five times that */
    double p = ns < period_ns ? (double)ns / (double)period_ns : 1;
    double room = 5 * sqrt((1 - p) / (p * N)) + 1e-9;
    assert_true_msg(fabs(n / N - 1) <= room, "%llu of %llu ns: expected %d waits, seen %.0f",
                    (unsigned long long)ns, (unsigned long long)period_ns, N, n);
    assert_true_msg(fabs(sum / N / (double)ns - 1) <= room, "expected %llu ns each, seen %.1f",
                    (unsigned long long)ns, sum / N);
}

TEST(waits, short_ones_are_right_on_average_and_long_ones_exactly) {
    expect_unbiased(50, 10000);
    expect_unbiased(3000, 10000); /* period / ns is no whole number */
    expect_unbiased(9999, 10000);
    expect_unbiased(10000, 10000);
    expect_unbiased(25000, 10000);
}

TEST(waits, none_are_counted_before_the_start_and_after_the_stop) {
    struct vt_count c;
    struct vt_waiter who;
    uint32_t cursor = 0;
    vt__wait_ended(0x1000, 0);
    assert_false(vt__waits_next(&cursor, &c, &who));
    vt__waits_start(10000, 1);
    vt__wait_ended(0x1000, 0); /* as long as the machine runs */
    vt__wait_ended(0x2000, 0);
    vt__wait_ended(0x1000, 0);
    vt__waits_stop();
    vt__wait_ended(0x1000, 0);
    unsigned n = 0;
    for (cursor = 0; vt__waits_next(&cursor, &c, &who); n += (unsigned)c.n)
        assert_true(who.function == 0x1000 || who.function == 0x2000);
    assert_int_equal(n, 3);
    vt__waits_start(10000, 1);
    cursor = 0;
    assert_false(vt__waits_next(&cursor, &c, &who));
}

static void *wait_as(void *name) {
    (void)prctl(PR_SET_NAME, name);
    vt__wait_ended(0x1000, 0);
    return (void *)(uintptr_t)gettid();
}

/* How many waits of the thread, or of any (0), are there under the name. */
static unsigned n_waits_of(uint32_t tid, const char *name) {
    struct vt_count c;
    struct vt_waiter who;
    unsigned n = 0;
    for (uint32_t cursor = 0; vt__waits_next(&cursor, &c, &who);)
        if ((tid == 0 || who.tid == tid) && strcmp(who.thread_name, name) == 0) n += (unsigned)c.n;
    return n;
}

TEST(waits, each_is_of_the_thread_and_the_name_that_it_had) {
    uint32_t tids[2];
    vt__waits_start(10000, 1);
    for (unsigned i = 0; i < 2; i++) {
        pthread_t t;
        void *tid;
        assert_int_equal(pthread_create(&t, NULL, wait_as, i ? "beta" : "alpha"), 0);
        assert_int_equal(pthread_join(t, &tid), 0);
        tids[i] = (uint32_t)(uintptr_t)tid;
    }
    uint32_t me = (uint32_t)(uintptr_t)wait_as("fifteen letters");
    assert_true(wait_as("fifteen letters") == wait_as("gamma"));
    assert_int_equal(n_waits_of(tids[0], "alpha"), 1);
    assert_int_equal(n_waits_of(tids[1], "beta"), 1);
    assert_int_equal(n_waits_of(me, "fifteen letters"), 2);
    assert_int_equal(n_waits_of(me, "gamma"), 1);
    vt__waits_start(10000, 1);
    assert_int_equal(n_waits_of(0, ""), 0);
}

TEST(waits, without_a_row_they_are_of_no_thread_and_counted) {
    vt__waits_start(10000, 1);
    for (unsigned i = 0; i < N_THREADS; i++) atomic_store(&threads[i].tid, UINT32_MAX);
    (void)wait_as("delta");
    assert_int_equal(n_waits_of(0, "delta"), 0);
    assert_int_equal(n_waits_of(0, ""), 1);
    vt__waits_start(10000, 1);
    (void)wait_as("delta");
    assert_int_equal(n_waits_of(0, "delta"), 1);
}

TEST(waits, one_too_many_at_a_time_is_lost_and_counted) {
    struct vt_wait_totals t;
    vt__waits_start(10000, 1);
    atomic_store(&waits.busy, UINT64_MAX);
    vt__wait_ended(0x1000, 0);
    vt__waits_totals(&t);
    assert_int_equal(t.n_lost, 1);
    vt__waits_fork_child(); /* those who walked are not there */
    vt__wait_ended(0x1000, 0);
    vt__waits_totals(&t);
    assert_int_equal(t.n_lost, 0);
}

UNIT_MAIN()
