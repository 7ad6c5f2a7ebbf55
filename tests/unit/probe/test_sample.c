/* test_sample.c - samples and what they stand for: the truth of the estimate, births, deaths, peaks, labels, rates.
 * Many runs with other random numbers must agree with the exact answer on average. */
#include <math.h>

#include "made_up.h"

#include "probe/growth.c"
#include "probe/sample.c"
#include "probe/sample_sites.c"

#define N_SITES 8

/* The library starts with the period of its options; whatever is in lists by then was drawn with that. */
static void start_with_period(uint64_t n_bytes) {
    vt__free(vt__malloc(1));
    vt__sample_set_period(n_bytes);
    vt__heap_release_all();
}

static void *allocate(unsigned site, size_t n_bytes) {
    current_site = site;
    void *p = vt__malloc(n_bytes);
    assert_non_null(p);
    return p;
}

static unsigned site_of_stack(uint32_t stack) {
    const uintptr_t *pc;
    assert_int_equal(vt__depot_get(stack, &pc), 1);
    return (unsigned)pc[0] - 1;
}

struct sums {
    double alloc_bytes[N_SITES], live_bytes[N_SITES], alloc_requested[N_SITES];
};

static struct sums estimates(void) {
    struct sums e = {{0}, {0}, {0}};
    struct vt_site s;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);) {
        unsigned i = site_of_stack(s.stack);
        e.alloc_bytes[i] += s.alloc.bytes;
        e.alloc_requested[i] += s.alloc.requested_bytes;
        e.live_bytes[i] += s.alloc.bytes - s.freed.bytes;
    }
    return e;
}

/* ---- truth ---- */

/* A pattern allocates and frees, and adds the exact answer up. */
struct truth {
    struct sums exact;
    uint64_t rng;
};

static void *note(struct truth *t, unsigned site, size_t n_bytes) {
    void *p = allocate(site, n_bytes);
    t->exact.alloc_bytes[site] += (double)vt__usable_size(p);
    t->exact.alloc_requested[site] += (double)n_bytes;
    t->exact.live_bytes[site] += (double)vt__usable_size(p);
    return p;
}

static void forget_block(struct truth *t, unsigned site, void *p) {
    t->exact.live_bytes[site] -= (double)vt__usable_size(p);
    vt__free(p);
}

static void alternating_sites(struct truth *t) {
    for (int i = 0; i < 20000; i++) {
        forget_block(t, 0, note(t, 0, 64));
        forget_block(t, 1, note(t, 1, 64));
    }
}

static void mixed_sizes(struct truth *t) {
    for (int i = 0; i < 6000; i++) {
        size_t n_bytes = (size_t)16 << unit_random(&t->rng) % 14;
        n_bytes += unit_random(&t->rng) % n_bytes;
        unsigned site = n_bytes < 1000 ? 2 : 3;
        forget_block(t, site, note(t, site, n_bytes));
    }
}

/* As many as a page of fresh blocks has: whoever comes first after a refill is always the same site. */
static void page_periodic(struct truth *t) {
    static void *at[64];
    for (int turn = 0; turn < 400; turn++) {
        for (unsigned i = 0; i < 64; i++) at[i] = note(t, i == 0 ? 4 : 5, 64);
        for (unsigned i = 0; i < 64; i++) forget_block(t, i == 0 ? 4 : 5, at[i]);
    }
}

static void live_set(struct truth *t) {
    static struct {
        void *at;
        unsigned site;
    } live[500];
    for (int i = 0; i < 8000; i++) {
        unsigned k = (unsigned)(unit_random(&t->rng) % 500);
        if (live[k].at != NULL) forget_block(t, live[k].site, live[k].at);
        live[k].site = i % 3 == 0 ? 6 : 7;
        live[k].at = note(t, live[k].site, 16 + unit_random(&t->rng) % 3000);
    }
    for (unsigned k = 0; k < 500; k += 2) { /* the others stay: an answer that is not 0 */
        forget_block(t, live[k].site, live[k].at);
        live[k].at = NULL;
    }
}

static void *free_in_another(void *p) {
    vt__free(p);
    return NULL;
}

static void *free_a_hundred(void *blocks) {
    for (int i = 0; i < 100; i++) vt__free(((void **)blocks)[i]);
    return NULL;
}

static void freed_by_another_thread(struct truth *t) {
    for (int i = 0; i < 40; i++) {
        void *at[100];
        for (int k = 0; k < 100; k++) at[k] = note(t, 0, 500);
        unit_in_thread(free_a_hundred, at);
        t->exact.live_bytes[0] -= 100 * 512;
    }
    for (int i = 0; i < 10; i++) {
        void *p = note(t, 1, 10000);
        unit_in_thread(free_in_another, p);
        t->exact.live_bytes[1] -= 10240;
    }
}

/* Each step that moves is an allocation of its own; one that stays in place is not, but for what a run grows by. */
static void growing(struct truth *t) {
    for (int i = 0; i < 60; i++) {
        void *p = note(t, 2, 100);
        for (size_t n = 200; n <= 8000; n *= 2) {
            size_t before = vt__usable_size(p);
            current_site = 2;
            void *to = vt__realloc(p, n);
            assert_non_null(to);
            t->exact.live_bytes[2] += (double)vt__usable_size(to) - (double)before;
            if (to != p) {
                t->exact.alloc_bytes[2] += (double)vt__usable_size(to);
                t->exact.alloc_requested[2] += (double)n;
            }
            p = to;
        }
        forget_block(t, 2, p);
    }
}

static unsigned n_in_place, n_moved; /* runs that were given another size */

/* Wherever it is then, it is freed by the old site and allocated by the new one. */
static void *note_again(struct truth *t, unsigned site, unsigned new_site, void *p,
                        size_t n_bytes) {
    t->exact.live_bytes[site] -= (double)vt__usable_size(p);
    current_site = new_site;
    void *to = vt__realloc(p, n_bytes);
    assert_non_null(to);
    *(to == p ? &n_in_place : &n_moved) += 1;
    t->exact.alloc_bytes[new_site] += (double)vt__usable_size(to);
    t->exact.alloc_requested[new_site] += (double)n_bytes;
    t->exact.live_bytes[new_site] += (double)vt__usable_size(to);
    return to;
}

static void resized_runs(struct truth *t) {
    for (int i = 0; i < 40; i++) {
        void *p = note(t, 3, 200000);
        p = note_again(t, 3, 4, p, 500000);
        p = note_again(t, 4, 5, p, 180000);
        if (i % 4 != 0) {
            forget_block(t, 5, p);
            continue;
        }
        void *q = note_again(t, 5, 6, p, 250000); /* stays */
        (void)q;
    }
}

static void check_ages(void) {
    struct vt_site s;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);) {
        uint64_t n = 0;
        for (unsigned i = 0; i < VT_LIFETIMES; i++) n += s.lifetimes[i];
        assert_int_equal(n, s.freed.n_seen);
    }
}

static void check_truth_of(const char *what, void (*pattern)(struct truth *t), uint64_t period) {
    enum { N_RUNS = 600 };
    double mean[3][N_SITES] = {{0}}, square[3][N_SITES] = {{0}};
    start_with_period(period);
    for (int run = 0; run < N_RUNS; run++) {
        struct truth t = {.rng = (uint64_t)run + 1};
        struct sums before = estimates();
        vt__chance_seed((uint64_t)run * 1000003 + 17);
        vt__heap_sampling_changed();
        vt__heap_release_all();
        pattern(&t);
        struct sums after = estimates();
        const double *exact[3] = {t.exact.alloc_bytes, t.exact.live_bytes, t.exact.alloc_requested};
        const double *from[3] = {before.alloc_bytes, before.live_bytes, before.alloc_requested};
        const double *to[3] = {after.alloc_bytes, after.live_bytes, after.alloc_requested};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < N_SITES; i++) {
                double off = (to[k][i] - from[k][i]) - exact[k][i];
                mean[k][i] += off / N_RUNS;
                square[k][i] += off * off / N_RUNS;
            }
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N_SITES; i++) {
            double error = sqrt((square[k][i] - mean[k][i] * mean[k][i]) / N_RUNS);
            assert_true_msg(
                fabs(mean[k][i]) <= 4.5 * error + 0.5,
                "%s, value %d of site %d: expected 0 within 4.5 standard errors of %g, seen %g",
                what, k, i, error, mean[k][i]);
        }
    check_ages();
}

static void check_truth(const char *what, void (*pattern)(struct truth *t)) {
    check_truth_of(what, pattern, KiB(8));
}

TEST(sample, alternating_sites_are_told_apart) { check_truth("alternating", alternating_sites); }
TEST(sample, mixed_sizes_are_weighed_right) { check_truth("mixed sizes", mixed_sizes); }
TEST(sample, sites_in_step_with_refills_are_told_apart) { check_truth("periodic", page_periodic); }
TEST(sample, a_live_set_is_estimated) { check_truth("live set", live_set); }
TEST(sample, frees_by_other_threads_count) {
    check_truth("other threads", freed_by_another_thread);
}
TEST(sample, growing_blocks_are_estimated) { check_truth("growing", growing); }
TEST(sample, runs_that_grow_and_shrink_in_place_are_estimated) {
    check_truth_of("resized", resized_runs, KiB(512));
    assert_true_msg(n_in_place > n_moved, "expected most in place, seen %u of %u", n_in_place,
                    n_in_place + n_moved);
}

/* ---- the rest ---- */

static struct vt_sample_totals totals(void) {
    struct vt_sample_totals t;
    vt__sample_totals(&t);
    return t;
}

TEST(sample, a_period_of_one_byte_samples_everything_and_every_free_is_seen) {
    static void *at[2000];
    uint64_t rng = 3;
    start_with_period(1);
    uint64_t before = totals().n_samples, live = totals().n_live;
    for (int i = 0; i < 2000; i++)
        at[i] = allocate(0, 1 + unit_random(&rng) % (i % 10 == 0 ? 200000 : 2000));
    assert_int_equal(totals().n_samples - before, 2000);
    for (int i = 0; i < 2000; i++) vt__free(at[i]);
    assert_int_equal(totals().n_live, live);
    assert_true(fabs(totals().live_bytes) < 1);
}

TEST(sample, sampled_blocks_are_aligned_usable_and_zero_for_calloc) {
    start_with_period(1);
    for (size_t n = 1; n < 70000; n += n / 16 + 1) {
        char *p = vt__calloc(1, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        check_zero(p, n);
        assert_true(vt__usable_size(p) >= n);
        memset(p, 0x5a, vt__usable_size(p));
        p = vt__realloc(p, n + 100);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0x5a);
        vt__free(p);
        void *aligned = vt__aligned_alloc(256, n);
        assert_int_equal((uintptr_t)aligned % 256, 0);
        vt__free(aligned);
    }
}

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

static void free_inside(void *p) { vt__free((char *)p + 16); }

TEST(sample, mistakes_with_sampled_blocks_are_found) {
    static const size_t rows[] = {64, 1000, 5000, 300000};
    start_with_period(1);
    for (size_t i = 0; i < vt_countof(rows); i++) {
        void *p = vt__malloc(rows[i]);
        assert_int_not_equal(vt__record_find(p), 0);
        unit_dies_saying(free_twice, p, "double free of");
        unit_dies_saying(free_inside, p, "not the start of a block");
    }
}

TEST(sample, nothing_is_sampled_at_a_period_of_0_and_a_new_one_is_noticed) {
    start_with_period(0);
    uint64_t before = totals().n_samples;
    for (int i = 0; i < 100000; i++) vt__free(vt__malloc((size_t)i % 5000));
    assert_int_equal(totals().n_samples, before);
    vt__sample_set_period(KiB(4));
    for (int i = 0; i < 100000; i++) vt__free(vt__malloc((size_t)i % 5000));
    assert_true(totals().n_samples > before + 100);
}

TEST(sample, the_peak_is_what_was_in_use_when_most_was) {
    static void *at[1000];
    start_with_period(KiB(1));
    for (int i = 0; i < 1000; i++) at[i] = allocate(1, 2000);
    vt__sample_settle_peak();
    double most = totals().live_bytes;
    assert_true_msg(totals().peak_bytes == most, "expected %g, seen %g", most, totals().peak_bytes);
    for (int i = 0; i < 1000; i++) vt__free(at[i]);
    for (int i = 0; i < 100; i++) at[i] = allocate(2, 2000);
    vt__sample_settle_peak();
    assert_true_msg(totals().peak_bytes == most, "expected %g, seen %g", most, totals().peak_bytes);
    double peak[N_SITES] = {0};
    struct vt_site s;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);)
        peak[site_of_stack(s.stack)] += s.peak.bytes;
    assert_true_msg(peak[1] > 1.5e6 && peak[1] < 2.6e6, "expected some 2 MB, seen %g", peak[1]);
    assert_true_msg(peak[2] == 0, "expected 0, seen %g", peak[2]);
    for (int i = 0; i < 100; i++) vt__free(at[i]);
}

static unsigned places_of(unsigned site, double *live_bytes) {
    unsigned n = 0;
    struct vt_site s;
    *live_bytes = 0;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);) {
        if (site_of_stack(s.stack) != site) continue;
        n++;
        *live_bytes += s.alloc.bytes - s.freed.bytes;
        if (s.alloc.n_seen == 0) continue;
        double mean = s.alloc.bytes / s.alloc.objects;
        assert_true_msg(mean <= (double)s.block_bytes && mean > (double)s.block_bytes * 7 / 8,
                        "expected a size of %zu and less, seen %g", s.block_bytes, mean);
    }
    return n;
}

TEST(sample, a_large_block_of_many_sizes_makes_a_place_for_each_eighth_of_a_doubling) {
    enum { DOUBLINGS = 8 };
    double live_bytes;
    start_with_period(1);
    current_site = 7;
    void *p = vt__malloc(KiB(65));
    for (size_t n = KiB(72); n <= KiB(64) << DOUBLINGS; n += KiB(8)) p = vt__realloc(p, n);
    unsigned n_places = places_of(7, &live_bytes);
    assert_in_range(n_places, 8 * (DOUBLINGS - 1), 8 * DOUBLINGS);
    assert_true(fabs(live_bytes - (double)vt__usable_size(p)) < 1);
    vt__free(p);
    (void)places_of(7, &live_bytes);
    assert_true(fabs(live_bytes) < 1);
}

static bool label_of(const void *p, uint32_t *label) {
    uint32_t id = vt__record_find(p);
    if (id != 0) *label = site(vt__record(id)->site)->s.label;
    return id != 0;
}

TEST(sample, samples_carry_the_labels_of_their_thread) {
    start_with_period(1);
    assert_int_equal(vt__label_push("request", "42"), 0);
    assert_int_equal(vt__label_push("phase", "parse"), 0);
    void *p = allocate(3, 100);
    vt__label_pop();
    void *q = allocate(4, 100);
    vt__label_pop();
    void *r = allocate(5, 100);
    struct vt_label l;
    uint32_t label = 0;
    assert_true(label_of(p, &label));
    assert_true(vt__label_get(label, &l));
    assert_string_equal(l.key, "phase");
    assert_string_equal(l.value, "parse");
    assert_true(vt__label_get(l.parent, &l));
    assert_string_equal(l.value, "42");
    assert_int_equal(l.parent, 0);
    assert_true(label_of(q, &label) && vt__label_get(label, &l));
    assert_string_equal(l.key, "request");
    assert_true(label_of(r, &label));
    assert_int_equal(label, 0);
}

static int find_object(const struct vt_heap_object *o, void *wanted) {
    if (o->at != wanted) return 0;
    assert_int_equal(o->requested_bytes, 100);
    assert_int_equal(o->block_bytes, 112);
    assert_int_equal(o->n_pcs, 1);
    assert_int_equal(o->pcs[0], 3 + 1);
    return 7;
}

static int count_object(const struct vt_heap_object *o, void *n) {
    assert_non_null(o->at);
    ++*(uint64_t *)n;
    return 0;
}

TEST(sample, what_is_in_use_can_be_visited) {
    uint64_t n = 0;
    start_with_period(1);
    void *p = allocate(3, 100), *q = allocate(3, 100);
    vt__free(q);
    assert_int_equal(vt_heap_visit(count_object, &n), 0);
    assert_int_equal(n, totals().n_live);
    assert_int_equal(vt_heap_visit(find_object, p), 7);
    assert_int_equal(vt_heap_visit(find_object, q), 0);
}

static bool asks_for_a_dump(double alloc_bytes, double live_bytes) {
    vt__totals_pull(alloc_bytes, live_bytes);
    return atomic_exchange(&vt__dump_is_wanted, false);
}

TEST(sample, dumps_are_asked_for_by_bytes_allocated_by_growth_and_by_peaks) {
    static const struct {
        struct vt_triggers wanted;
        double alloc_mib, live_mib;
        bool asks;
    } rows[] = {
        {{.alloc_bytes = MiB(10)}, 9.9, 100, false},
        {{0}, 10, 0, true},
        {{0}, 19.9, 100, false},
        {{0}, 35, 0, true},
        {{0}, 44.9, 0, false},
        {{.growth_bytes = MiB(10)}, 100, 9.9, false},
        {{0}, 0, 10, true},
        {{0}, 0, 5, false},
        {{0}, 0, 19.9, false},
        {{0}, 0, 20, true},
        {{.peak_percent = 10}, 100, 0.99, false}, /* too small to be a peak */
        {{0}, 0, 1, true},
        {{0}, 0, 1.09, false},
        {{0}, 0, 1.11, true},
        {{0}, 0, 0.1, false},
        {{0}, 0, 1.2, false}, /* higher, but not by so much */
        {{0}, 0, 200, true},
        {{0}, 0, 219, false},
    };
    start_with_period(0);
    for (unsigned i = 0; i < vt_countof(rows); i++) {
        const struct vt_triggers *w = &rows[i].wanted;
        if (w->alloc_bytes + w->growth_bytes + w->peak_percent != 0) vt__sample_set_triggers(w);
        bool asks = asks_for_a_dump(rows[i].alloc_mib * MiB(1), rows[i].live_mib * MiB(1));
        assert_true_msg(asks == rows[i].asks, "row %u: expected %d, seen %d", i, rows[i].asks,
                        asks);
    }
    vt__sample_set_triggers(&(struct vt_triggers){0});
    assert_false(asks_for_a_dump(1e12, 1e12));
}

/* By site, and in all where that is N_SITES. */
static uint64_t grown(unsigned site) {
    uint64_t n_bytes = 0;
    struct vt_growth g;
    for (uint32_t cursor = 0; vt__growth_next(&cursor, &g);)
        if (site == N_SITES || site_of_stack(g.stack) == site) n_bytes += g.n_bytes;
    return n_bytes;
}

TEST(sample, where_the_heap_grew_is_known_and_never_becomes_less) {
    void *at[3];
    vt__free(vt__malloc(1));
    uint64_t before = grown(N_SITES);
    for (unsigned i = 0; i < 3; i++) at[i] = allocate(i < 2 ? 1 : 2, MiB(64)); /* twice at one */
    assert_true(grown(N_SITES) >= before + 3 * MiB(64));
    assert_in_range(grown(1), 2 * MiB(64), 2 * MiB(80));
    assert_in_range(grown(2), MiB(64), MiB(80));
    before = grown(N_SITES);
    for (unsigned i = 0; i < 3; i++) vt__free(at[i]);
    vt__heap_release_all();
    assert_int_equal(grown(N_SITES), before);
    vt__free(allocate(3, MiB(64))); /* its place was there already */
    assert_int_equal(grown(N_SITES), before);
    vt__free(allocate(3, MiB(512)));
    assert_in_range(grown(3), MiB(512 - 3 * 80), MiB(600));
    assert_true(grown(1) >= 2 * MiB(64));
}

static size_t requested_of(const void *p) {
    struct vt_heap_object o;
    for (uint32_t cursor = 0; vt__sample_next_object(&cursor, &o);)
        if (o.at == p) return o.requested_bytes;
    return 0;
}

static double requested_in_use(void) {
    struct vt_site s;
    double n = 0;
    for (uint32_t cursor = 0; vt__sample_next_site(&cursor, &s);)
        n += s.alloc.requested_bytes - s.freed.requested_bytes;
    return n;
}

static void *free_it(void *p) {
    vt__free(p);
    return NULL;
}

TEST_WITH(sample, a_block_resized_where_it_is_counts_what_was_asked_for_last, "VITRINE_SAMPLE=1") {
    static const size_t rows[][2] = {{600, 605}, {5000, 4000}, {100000, 101000}};
    vt__free(vt__malloc(1));
    for (size_t i = 0; i < vt_countof(rows); i++)
        for (int is_others = 0; is_others < 2; is_others++) {
            double before = requested_in_use();
            void *p = vt__malloc(rows[i][0]);
            assert_int_equal(requested_of(p), rows[i][0]);
            assert_ptr_equal(vt__realloc(p, rows[i][1]), p);
            assert_int_equal(requested_of(p), rows[i][1]);
            assert_true(fabs(requested_in_use() - before - (double)rows[i][1]) < 1);
            if (is_others)
                unit_in_thread(free_it, p);
            else
                vt__free(p);
            assert_true(fabs(requested_in_use() - before) < 1);
        }
}

UNIT_MAIN()
