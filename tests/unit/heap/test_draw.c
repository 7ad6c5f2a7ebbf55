/* test_draw.c - countdowns: when they are drawn, and that a thread does not drown in samples. */
#include <math.h>

#include "look.h"

#include "heap/draw.c"

#include "probe/probe.h"

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

/* One in eight would be drawn. A sample costs more than such a malloc, so the period stretches, and the estimate stays right. */
TEST_WITH(draw, samples_that_come_too_fast_become_fewer_and_stand_for_more, "VITRINE_SAMPLE=512K") {
    enum { N = 2000000 };
    vt__free(vt__malloc(1));
    for (int i = 0; i < N; i++) vt__free(vt__malloc(65536));
    assert_true_msg(totals().n_samples < N / 80, "expected some hundreds to thousands, seen %llu",
                    (unsigned long long)totals().n_samples);
    double ratio = estimated_bytes() / (N * 65536.0);
    assert_true_msg(fabs(ratio - 1) < 0.25, "expected 1, seen %g", ratio);
    assert_int_equal(totals().n_live, 0);
}

TEST_WITH(draw, a_slow_program_has_the_period_it_asked_for, "VITRINE_SAMPLE=512K") {
    vt__free(vt__malloc(1));
    for (int i = 0; i < 200; i++) vt__free(vt__malloc(65536));
    for (unsigned i = 0; i < VT_N_DRAWS; i++) assert_int_equal(vt__tls.real->draw[i].shift, 0);
}

TEST(draw, every_large_size_has_a_countdown) {
    assert_int_equal(vt__draw_of_large(65537), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131071), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131072), VT_N_CLASSES + 1);
    assert_true(vt__draw_of_large(SIZE_MAX) < VT_N_DRAWS);
}

UNIT_MAIN()
