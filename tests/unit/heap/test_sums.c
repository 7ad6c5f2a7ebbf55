/* test_sums.c - the sums for those who ask all the time, against the walk class by class. */
#define vt__os_now_ms ms_by_our_clock /* os.h declares it by this name, too */
#include "look.h"

static uint64_t clock_ms = 1000;
uint64_t ms_by_our_clock(void) { return clock_ms; }

#include "heap/sums.c"

static struct vt_stats sums_now(size_t n_short) {
    struct vt_stats s = {.size = sizeof(s)};
    vt__heap_sums(&s, n_short);
    return s;
}

static struct vt_stats walk_now(void) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats s = {.size = sizeof(s)};
    vt__heap_stats(&s, classes);
    s.n_remote = 0; /* sums do not have it */
    return s;
}

static void check_same(struct vt_stats a, struct vt_stats b) {
    assert_int_equal(a.allocated, b.allocated);
    assert_int_equal(a.cached, b.cached);
    assert_int_equal(a.fragmented, b.fragmented);
    assert_int_equal(a.large, b.large);
    assert_int_equal(a.n_large, b.n_large);
    assert_memory_equal(&a, &b, sizeof(a));
}

TEST(sums, are_what_the_walk_tells) {
    struct blocks b[VT_N_CLASSES];
    check_same(sums_now(SIZE_MAX), walk_now());
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        b[c] = take_blocks(1 + c * 37 % 200, vt__class_bytes(c) - 3);
        check_same(sums_now(SIZE_MAX), walk_now());
    }
    void *large = vt__malloc(MiB(3));
    check_same(sums_now(SIZE_MAX), walk_now());
    vt__free(large);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        free_blocks(b[c]);
        check_same(sums_now(SIZE_MAX), walk_now());
    }
}

static pthread_barrier_t step;

static void *free_and_linger(void *arg) {
    struct blocks *b = arg;
    struct blocks mine = take_blocks(500, 64);
    free_blocks(*b); /* another's: to our shelves, and home */
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    free_blocks(mine);
    return NULL;
}

TEST(sums, count_what_other_threads_keep) {
    struct blocks b = take_blocks(3000, 64);
    pthread_t t;
    pthread_barrier_init(&step, NULL, 2);
    assert_int_equal(pthread_create(&t, NULL, free_and_linger, &b), 0);
    pthread_barrier_wait(&step);
    check_same(sums_now(SIZE_MAX), walk_now());
    pthread_barrier_wait(&step);
    pthread_join(t, NULL);
    check_same(sums_now(SIZE_MAX), walk_now());
}

TEST(sums, count_what_threads_keep_of_heaps_beside_theirs) {
    struct vt_own *o = vt__own_new();
    for (int i = 0; i < 1000; i++) {
        void *p = vt__own_alloc(o, 1, 1 + (size_t)i % 1000, /* zero */ false);
        if (i % 2 == 0) vt__free(p);
    }
    check_same(sums_now(SIZE_MAX), walk_now());
    vt__own_destroy(o);
    check_same(sums_now(SIZE_MAX), walk_now());
}

/* A long walk is not taken for each question; what is large is seen at once all the same. */
TEST(sums, of_a_large_heap_are_seen_again_after_a_while) {
    enum { N_SHORT = 8 };
    struct blocks b = take_blocks(200000, 100);
    struct vt_stats before = sums_now(SIZE_MAX);
    clock_ms += 1000;
    check_same(sums_now(N_SHORT), before);
    void *large = vt__malloc(MiB(8));
    assert_int_equal(sums_now(N_SHORT).allocated, before.allocated + MiB(8));
    vt__free(large);
    assert_int_equal(sums_now(N_SHORT).allocated, before.allocated);
    for (size_t i = 0; i < b.n; i += 2) vt__free(b.at[i]);
    assert_int_equal(sums_now(N_SHORT).allocated, before.allocated);
    clock_ms += 1 + lately.pace.n_steps / VT_STEPS_PER_MS;
    struct vt_stats now = sums_now(N_SHORT);
    check_same(now, walk_now());
    assert_int_equal(now.allocated, before.allocated - b.n / 2 * 112);
    free(b.at);
}

UNIT_MAIN()
