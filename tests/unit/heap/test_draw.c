/* test_draw.c - countdowns: when they are drawn, and that a burst changes nothing about them. */
#include <math.h>

#include "look.h"

#include "probe/chance.h"
#include "probe/probe.h"

#include "heap/draw.c"

static struct vt_sample_totals totals(void) {
    struct vt_sample_totals t;
    vt__sample_totals(&t);
    return t;
}

static double estimated_bytes(void) {
    double sum = 0;
    struct vt_site s;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);) sum += s.alloc.bytes;
    return sum;
}

static void start_over(void) {
    vt__free(vt__malloc(1));
    vt__chance_seed(4711);
}

static double n_expected(double n_mallocs, double period) {
    return n_mallocs * -expm1(-65536 / period);
}

static void check_near(const char *what, double seen, double expected, double n_samples) {
    double bound = 6 / sqrt(n_samples); /* standard errors */
    assert_true_msg(fabs(seen / expected - 1) < bound, "%s: expected %g within %g %%, seen %g",
                    what, expected, 100 * bound, seen);
}

/* One in eight is drawn, and later one in four of these is a sample: the sum is as good as that of all. */
TEST_WITH(draw, blocks_that_are_taken_and_given_in_turns_have_fewer_samples,
          "VITRINE_SAMPLE=512K") {
    enum { N = 2000000 };
    start_over();
    for (int i = 0; i < N; i++) vt__free(vt__malloc(65536));
    double n = (double)totals().n_samples, n_drawn = n_expected(N, KiB(512));
    double n_rare = (n_drawn - IN_TURN_MIN) / IN_TURN_TIMES;
    check_near("samples", n - IN_TURN_MIN, n_rare, n_rare);
    check_near("estimate", estimated_bytes(), (double)N * 65536, n_drawn);
    assert_int_equal(totals().n_live, 0);
}

/* However long that went on: what is kept is drawn with the period that was asked for, from the first that is met on. */
TEST_WITH(draw, what_is_kept_then_has_all_its_samples, "VITRINE_SAMPLE=512K") {
    enum { N = 20000 };
    static void *kept[N];
    start_over();
    for (int i = 0; i < 100000; i++) vt__free(vt__malloc(65536));
    uint64_t before = totals().n_samples;
    for (int i = 0; i < N; i++) kept[i] = vt__malloc(65536);
    double n = (double)(totals().n_samples - before), expected = n_expected(N, KiB(512));
    check_near("samples", n, expected, expected);
    check_near("estimate", totals().live_bytes, (double)N * 65536, expected);
    for (int i = 0; i < N; i++) vt__free(kept[i]);
}

/* The same where one in a hundred is kept all the time. */
TEST_WITH(draw, what_is_kept_meanwhile_has_all_its_samples, "VITRINE_SAMPLE=512K") {
    enum { N = 1000000 };
    static void *kept[N / 100];
    start_over();
    for (int i = 0; i < N; i++) {
        void *p = vt__malloc(65536);
        if (i % 100 == 0)
            kept[i / 100] = p;
        else
            vt__free(p);
    }
    double n = (double)totals().n_samples, expected = n_expected(N, KiB(512));
    check_near("samples", n, expected, expected);
    check_near("estimate", totals().live_bytes, N / 100 * 65536.0, expected / 100);
    for (int i = 0; i < N / 100; i++) vt__free(kept[i]);
}

TEST(draw, every_large_size_has_a_countdown) {
    assert_int_equal(vt__draw_of_large(65537), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131071), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131072), VT_N_CLASSES + 1);
    assert_true(vt__draw_of_large(SIZE_MAX) < VT_N_DRAWS);
}

UNIT_MAIN()
