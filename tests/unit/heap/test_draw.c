/* test_draw.c - countdowns: when they are drawn, and that a thread does not drown in samples. */
#include <math.h>

#include "look.h"

#include "os/os.h"
#include "probe/chance.h"
#include "probe/probe.h"

/* With a clock and random numbers of our own every run is the same, on machines of any speed. */
static uint64_t clock_ms;
static uint64_t ms_by_our_clock(void) { return clock_ms; }

#define vt__os_now_ms ms_by_our_clock
#include "heap/draw.c"
#undef vt__os_now_ms

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

static void allocate_for_a_ms(int n_mallocs) {
    for (int i = 0; i < n_mallocs; i++) vt__free(vt__malloc(65536));
    clock_ms++;
}

static unsigned longest_shift(void) {
    unsigned most = 0;
    for (unsigned i = 0; i < VT_N_DRAWS; i++) most = vt_max(most, vt__tls.real->draw[i].shift);
    return most;
}

/* One in eight would be drawn. A sample costs more than such a malloc, so the period stretches, and the estimate stays right. */
TEST_WITH(draw, samples_that_come_too_fast_become_fewer_and_stand_for_more, "VITRINE_SAMPLE=512K") {
    enum { N_MS = 100, PER_MS = 20000 };
    start_over();
    for (int ms = 0; ms < N_MS; ms++) allocate_for_a_ms(PER_MS);
    uint64_t n = totals().n_samples;
    assert_true_msg(n >= WATCH_MS * SAMPLES_PER_MS && n < N_MS * SAMPLES_PER_MS,
                    "expected %d samples in a ms at most, seen %llu in %d", SAMPLES_PER_MS,
                    (unsigned long long)n, N_MS);
    double ratio = estimated_bytes() / ((double)N_MS * PER_MS * 65536);
    assert_true_msg(fabs(ratio - 1) < 0.25, "expected 1, seen %g", ratio);
    assert_int_equal(totals().n_live, 0);
}

TEST_WITH(draw, and_as_many_as_before_when_they_come_slowly, "VITRINE_SAMPLE=512K") {
    start_over();
    for (int ms = 0; ms < WATCH_MS; ms++) allocate_for_a_ms(20000);
    assert_in_range(longest_shift(), 5, SHIFT_MAX);
    for (int ms = 0; ms < 20000; ms++) allocate_for_a_ms(1);
    assert_int_equal(longest_shift(), 0);
}

TEST_WITH(draw, a_slow_program_has_the_period_it_asked_for, "VITRINE_SAMPLE=512K") {
    start_over();
    for (int ms = 0; ms < 200; ms++) allocate_for_a_ms(SAMPLES_PER_MS * 4);
    assert_int_equal(longest_shift(), 0);
}

TEST(draw, every_large_size_has_a_countdown) {
    assert_int_equal(vt__draw_of_large(65537), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131071), VT_N_CLASSES);
    assert_int_equal(vt__draw_of_large(131072), VT_N_CLASSES + 1);
    assert_true(vt__draw_of_large(SIZE_MAX) < VT_N_DRAWS);
}

UNIT_MAIN()
