/* test_patterns.c - how good the estimate is: nine ways in which programs allocate, many runs of each with other random numbers.
 *
 * For what is in use at the end, what was allocated in all, and what was in use at the peak:
 *   bias     the mean over the runs is the exact answer, within so many standard errors of that mean
 *   error    the standard deviation over the runs is at most so many times what sampling each byte with the same chance
 *            (Poisson, at the period that was asked for) gives: the root of the sum over blocks of b^2 (1 - p) / p
 * The long form (VT_SOAK=1; unit.probe.patterns_long in `make soak`) has 200 runs at periods of 64 and 512 KiB, and the bounds 2 and 1.3. Its
 * seeds are fixed, so it says the same each time, but for the pattern with threads. Whoever changes what is drawn gets other numbers, of
 * which one may be beyond 2 by chance: then look at more runs. The short form has fewer runs and wider bounds, which fail by chance less
 * than once in a million. A table is printed in any case.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>

#include "made_up.h"

#include "probe/chance.h"
#include "probe/growth.c"
#include "probe/sample.c"

#define MAX_BLOCKS 40000

struct figure {
    double exact, variance; /* of Poisson sampling */
};

struct truth {
    struct figure live, alloc, peak;
    uint64_t rng;
    double period;
    bool is_short;
};

static double variance_of(const struct truth *t, double bytes) {
    double p = -expm1(-bytes / t->period);
    return bytes * bytes * (1 - p) / p;
}

static void add_figure(struct figure *f, double exact, double variance) {
    f->exact += exact;
    f->variance += variance;
}

static void is_born(struct truth *t, const void *p) {
    double bytes = (double)vt__usable_size((void *)(uintptr_t)p);
    add_figure(&t->live, bytes, variance_of(t, bytes));
    add_figure(&t->alloc, bytes, variance_of(t, bytes));
    if (t->live.exact > t->peak.exact) t->peak = t->live;
}

static void is_dead(struct truth *t, const void *p) {
    double bytes = (double)vt__usable_size((void *)(uintptr_t)p);
    add_figure(&t->live, -bytes, -variance_of(t, bytes));
}

static void *take(struct truth *t, size_t n_bytes) {
    void *p = vt__malloc(n_bytes);
    assert_non_null(p);
    is_born(t, p);
    return p;
}

static void give(struct truth *t, void *p) {
    is_dead(t, p);
    vt__free(p);
}

static void burst(struct truth *t, size_t n_bytes, int n) {
    for (int i = 0; i < n; i++) give(t, take(t, n_bytes));
}

static size_t mixed_size(struct truth *t) {
    size_t n = (size_t)16 << unit_random(&t->rng) % 12;
    return n + unit_random(&t->rng) % n;
}

/* What a pattern leaves behind, to be freed after it was looked at. */
static void *kept[MAX_BLOCKS];
static int n_kept;
static void keep(void *p) { kept[n_kept++] = p; }

/* ---- the patterns ---- */

static void steady(struct truth *t) {
    enum { N_LIVE = 4000 };
    for (int i = 0; i < N_LIVE; i++) keep(take(t, mixed_size(t)));
    for (int i = 0; i < (t->is_short ? 10000 : 40000); i++) {
        void **at = &kept[unit_random(&t->rng) % N_LIVE];
        give(t, *at);
        *at = take(t, mixed_size(t));
    }
}

static void burst_then_keep(struct truth *t) {
    burst(t, 16000, t->is_short ? 60000 : 300000);
    for (int i = 0; i < 2000; i++) keep(take(t, 16000));
}

static void keep_during_a_burst(struct truth *t) {
    for (int i = 0; i < (t->is_short ? 1000 : 2000); i++) {
        burst(t, 16000, 99);
        keep(take(t, 16000));
    }
}

struct part {
    struct truth t;
    void *kept[500];
    pthread_t thread;
};

static void *burst_and_keep(void *arg) {
    struct part *part = arg;
    current_site = 1;
    for (int i = 0; i < 500; i++) {
        burst(&part->t, 10000, 40);
        part->kept[i] = take(&part->t, 10000);
    }
    return NULL;
}

/* What they keep only grows, so the sum of their peaks is the peak. */
static void many_threads(struct truth *t) {
    static struct part part[8];
    for (int i = 0; i < 8; i++) {
        part[i].t = (struct truth){.period = t->period};
        assert_int_equal(pthread_create(&part[i].thread, NULL, burst_and_keep, &part[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(part[i].thread, NULL), 0);
        add_figure(&t->live, part[i].t.live.exact, part[i].t.live.variance);
        add_figure(&t->alloc, part[i].t.alloc.exact, part[i].t.alloc.variance);
        add_figure(&t->peak, part[i].t.peak.exact, part[i].t.peak.variance);
        for (int k = 0; k < 500; k++) keep(part[i].kept[k]);
    }
}

static void large_blocks(struct truth *t) {
    for (int i = 0; i < 300; i++) {
        burst(t, 70000 + unit_random(&t->rng) % 400000, 20);
        keep(take(t, 70000 + unit_random(&t->rng) % 400000));
    }
}

static void short_lived_and_kept_of_the_same_size(struct truth *t) {
    for (int i = 0; i < 20000; i++) {
        give(t, take(t, 2000));
        keep(take(t, 2000));
    }
}

/* Each step that moves is an allocation; so is one where it is, of a large block. */
static void growth_by_realloc(struct truth *t) {
    for (int i = 0; i < 60; i++) {
        void *p = take(t, 100);
        for (size_t n = 150; n < 1000000; n += n / 2) {
            double before = (double)vt__usable_size(p);
            void *to = vt__realloc(p, n);
            bool is_new = to != p || n > 65536 || (double)vt__usable_size(to) != before;
            if (to == p && is_new) add_figure(&t->live, -before, -variance_of(t, before));
            if (is_new) is_born(t, to); /* while it is copied there are both */
            if (to != p) add_figure(&t->live, -before, -variance_of(t, before));
            p = to;
        }
        keep(p);
    }
}

static void bursts_that_come_and_go(struct truth *t) {
    for (int turn = 0; turn < 10; turn++) {
        burst(t, 60000, 5000);
        int first = n_kept;
        for (int i = 0; i < 200; i++) keep(take(t, 60000));
        burst(t, 500, 20000);
        for (; n_kept > first + 100;) give(t, kept[--n_kept]);
    }
}

/* Blocks of 40 KiB take slices of 64 KiB each: 16 MiB for 10 MiB. Later 13.5 MiB are in use, in less memory. */
static void more_in_less_memory(struct truth *t) {
    for (int i = 0; i < 256; i++) keep(take(t, KiB(40)));
    while (n_kept > 0) give(t, kept[--n_kept]);
    for (int i = 0; i < 432; i++) keep(take(t, KiB(32)));
}

static const struct pattern {
    const char *name;
    void (*run)(struct truth *t);
    bool has_threads; /* each run is another one, whatever the seeds */
} patterns[] = {
    {"steady", steady, false},
    {"burst, then keep", burst_then_keep, false},
    {"keep during a burst", keep_during_a_burst, false},
    {"many threads", many_threads, true},
    {"large blocks", large_blocks, false},
    {"short-lived and kept", short_lived_and_kept_of_the_same_size, false},
    {"growth by realloc", growth_by_realloc, false},
    {"bursts that come and go", bursts_that_come_and_go, false},
    {"more in less memory", more_in_less_memory, false},
};

/* ---- the judgement ---- */

struct column {
    const char *name;
    double sum, squares; /* of what was seen less what is right */
    double variance;     /* of Poisson sampling, added up */
};

static void count(struct column *c, double seen, const struct figure *f) {
    c->sum += seen - f->exact;
    c->squares += (seen - f->exact) * (seen - f->exact);
    c->variance += f->variance;
}

static bool judge(const struct pattern *p, uint64_t period, const struct column *c, int n_runs,
                  double bias_most, double error_most) {
    double mean = c->sum / n_runs, deviation = sqrt(c->squares / n_runs - mean * mean);
    double poisson = sqrt(c->variance / n_runs);
    double bias = mean / (poisson / sqrt(n_runs)), error = deviation / poisson;
    print_message("%-24s %4" PRIu64
                  " KiB  %-10s bias %+5.2f standard errors, error %.2f of Poisson's, %d runs\n",
                  p->name, period / 1024, c->name, bias, error, n_runs);
    return fabs(bias) <= bias_most && error <= error_most;
}

/* True: bias and error are as they should be, of all three figures. Each first run has numbers of its own. */
static bool is_fine(const struct pattern *p, uint64_t period, bool is_short, int first_run,
                    int n_runs) {
    struct column columns[] = {{"in use", 0, 0, 0}, {"allocated", 0, 0, 0}, {"peak", 0, 0, 0}};
    for (int run = first_run; run < first_run + n_runs; run++) {
        struct truth t = {.rng = (uint64_t)run + 1, .period = (double)period, .is_short = is_short};
        struct vt_sample_totals seen;
        vt__chance_seed((uint64_t)run * 1000003 + 17);
        vt__sample_set_period(period);
        vt__heap_release_all();
        vt__sample_forget();
        current_site = 0;
        n_kept = 0;
        p->run(&t);
        vt__sample_settle_peak();
        vt__sample_totals(&seen);
        count(&columns[0], seen.live_bytes, &t.live);
        count(&columns[1], seen.alloc_bytes, &t.alloc);
        count(&columns[2], seen.peak_bytes, &t.peak);
        while (n_kept > 0) vt__free(kept[--n_kept]);
    }
    /* of 30 runs the deviation itself is off by 13 %: 5 times that, and 5 standard errors, are one in two millions */
    /* with threads each turn has new random numbers: one of six figures is beyond 2 by chance every sixth time */
    double bias_most = is_short ? 5 : p->has_threads ? 3.5 : 2;
    bool all_are = true;
    for (unsigned i = 0; i < vt_countof(columns); i++)
        all_are &= judge(p, period, &columns[i], n_runs, bias_most, is_short ? 1.3 * 1.65 : 1.3);
    return all_are;
}

/* One figure in twenty-two is beyond 2 standard errors by chance, and there are 54. A bias that is one is beyond three times as many
 * of ten times the runs. */
static void check(const struct pattern *p, uint64_t period, bool is_short) {
    int n_runs = is_short ? 30 : 200;
    vt__free(vt__malloc(1));
    if (is_fine(p, period, is_short, 0, n_runs)) return;
    assert_false(is_short);
    assert_true(is_fine(p, period, is_short, n_runs, 10 * n_runs));
}

static void check_both(unsigned i) {
    bool is_short = getenv("VT_SOAK") == NULL;
    check(&patterns[i], KiB(512), is_short);
    if (!is_short) check(&patterns[i], KiB(64), is_short);
}

TEST(patterns, steady_is_estimated) { check_both(0); }
TEST(patterns, burst_then_keep_is_estimated) { check_both(1); }
TEST(patterns, keep_during_a_burst_is_estimated) { check_both(2); }
TEST(patterns, many_threads_is_estimated) { check_both(3); }
TEST(patterns, large_blocks_is_estimated) { check_both(4); }
TEST(patterns, short_lived_and_kept_of_the_same_size_is_estimated) { check_both(5); }
TEST(patterns, growth_by_realloc_is_estimated) { check_both(6); }
TEST(patterns, bursts_that_come_and_go_is_estimated) { check_both(7); }
TEST(patterns, more_in_less_memory_is_estimated) { check_both(8); }

UNIT_MAIN()
