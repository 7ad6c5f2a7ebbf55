/* test_chance.c - the mathematics of sampling, against libm and against what averages must be. */
#include <math.h>

#include "unit.h"

#include "probe/chance.c"

TEST(chance, ln_is_that_of_libm) {
    for (double x = 1e-16; x < 4; x = x * 1.003 + 1e-17)
        assert_true_msg(fabs(ln(x) - log(x)) <= 1e-13 * (1 + fabs(log(x))),
                        "ln(%g): expected %.17g, seen %.17g", x, log(x), ln(x));
}

TEST(chance, the_probability_is_that_of_libm) {
    for (double x = 1e-9; x < 50; x *= 1.01) {
        double expected = -expm1(-x), seen = vt__probability_of(x);
        assert_true_msg(fabs(seen - expected) <= 1e-12 * expected, "%g: expected %.17g, seen %.17g",
                        x, expected, seen);
    }
    assert_true(vt__probability_of(0) == 0);
}

TEST(chance, exponential_numbers_have_mean_and_variance_1) {
    enum { N = 1000000 };
    double sum = 0, squares = 0;
    uint64_t own = 0;
    vt__chance_seed(12345);
    for (int i = 0; i < N; i++) {
        double x = vt__exponential(&own);
        assert_true(x >= 0);
        sum += x;
        squares += x * x;
    }
    double mean = sum / N;
    assert_true_msg(fabs(mean - 1) < 0.004, "mean: expected 1, seen %g", mean);
    assert_true_msg(fabs(squares / N - mean * mean - 1) < 0.02, "variance: expected 1, seen %g",
                    squares / N - mean * mean);
}

/* Equal ones would make a class's first sample be followed by another at the same distance. */
TEST(chance, the_first_numbers_of_a_process_differ_in_two_threads_too) {
    double first[16];
    uint64_t mine = 0, other = 0;
    vt__chance_seed(0); /* as at the start */
    for (unsigned i = 0; i < 16; i++) {
        first[i] = vt__exponential(i % 2 == 0 ? &mine : &other);
        for (unsigned k = 0; k < i; k++) assert_true(first[k] != first[i]);
    }
}

TEST(chance, two_processes_draw_different_numbers) {
    uint64_t own = 0;
    double mine = vt__exponential(&own), other = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    vt__chance_seed(0); /* as at the start */
    own = 0;
    pid_t pid = fork();
    if (pid == 0) {
        double x = vt__exponential(&own);
        _exit(write(ends[1], &x, sizeof(x)) != sizeof(x));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(read(ends[0], &other, sizeof(other)), sizeof(other));
    assert_true(mine != other);
}

UNIT_MAIN()
