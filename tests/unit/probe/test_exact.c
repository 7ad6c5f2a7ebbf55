/* test_exact.c - every allocation and free counted: sums are the truth to the byte, on and off at any time, in every thread. */
#include "made_up.h"

#include "probe/exact.c"

static struct vt_exact_row of_site(uintptr_t site) {
    struct vt_exact_row r, sum = {0};
    for (uint32_t cursor = 0; vt__exact_next(&cursor, &r);) {
        const uintptr_t *pc;
        assert_int_equal(vt__depot_get(r.stack, &pc), 1);
        if (pc[0] == site + 1) add_row(&sum, &r);
    }
    return sum;
}

static void start_exact(void) {
    vt__free(vt__malloc(1));
    assert_int_equal(vt__exact_set(true), 0);
}

static void check_site(uintptr_t site, uint64_t n_alloc, uint64_t alloc_bytes, uint64_t n_freed,
                       uint64_t freed_bytes) {
    struct vt_exact_row r = of_site(site);
    assert_int_equal(r.n_alloc, n_alloc);
    assert_int_equal(r.alloc_requested_bytes, alloc_bytes);
    assert_int_equal(r.n_freed, n_freed);
    assert_int_equal(r.freed_requested_bytes, freed_bytes);
}

TEST(exact, every_allocation_and_free_of_every_size_is_counted) {
    enum { N = 3000 };
    static void *at[N];
    static size_t size[N];
    uint64_t rng = 8, bytes = 0, freed = 0, n_freed = 0;
    start_exact();
    current_site = 1;
    for (int i = 0; i < N; i++) {
        size[i] = 1 + unit_random(&rng) % (i % 50 == 0 ? 500000 : i % 5 == 0 ? 30000 : 1000);
        at[i] = i % 3 == 0 ? vt__calloc(1, size[i]) : vt__malloc(size[i]);
        assert_non_null(at[i]);
        bytes += size[i];
    }
    current_site = 2; /* who frees does not matter */
    for (int i = 0; i < N; i += 2) {
        vt__free(at[i]);
        freed += size[i];
        n_freed++;
    }
    check_site(1, N, bytes, n_freed, freed);
    check_site(2, 0, 0, 0, 0);
    for (int i = 1; i < N; i += 2) vt__free(at[i]);
    check_site(1, N, bytes, N, bytes);
    struct vt_exact_row r = of_site(1);
    assert_int_equal(r.alloc_bytes, r.freed_bytes);
    assert_true(r.alloc_bytes >= bytes);
}

TEST(exact, what_was_allocated_before_or_while_it_was_off_is_not_counted) {
    void *before = vt__malloc(100);
    start_exact();
    current_site = 3;
    void *during = vt__malloc(100);
    vt__free(before);
    check_site(3, 1, 100, 0, 0);
    assert_int_equal(vt__exact_set(false), 0);
    vt__free(during); /* unseen */
    void *unseen = vt__malloc(100);
    assert_int_equal(vt__exact_set(true), 0);
    vt__free(unseen); /* at the place of `during`, whose note is still there */
    check_site(3, 1, 100, 0, 0);
    vt__free(vt__malloc(50));
    check_site(3, 2, 150, 1, 50);
}

static _Atomic int step;

static void wait_for(int n) {
    while (atomic_load(&step) < n) usleep(1000);
}

static void *allocate_in_steps(void *unused) {
    current_site = 4;
    void *p = vt__malloc(64);
    atomic_store(&step, 1);
    wait_for(2);
    for (int i = 0; i < 100; i++) vt__free(vt__malloc(64));
    vt__free(p);
    atomic_store(&step, 3);
    wait_for(4);
    for (int i = 0; i < 100; i++) vt__free(vt__malloc(64));
    return unused;
}

TEST(exact, a_thread_that_runs_already_is_switched_too) {
    pthread_t id;
    vt__free(vt__malloc(1));
    assert_int_equal(pthread_create(&id, NULL, allocate_in_steps, NULL), 0);
    wait_for(1);
    assert_int_equal(vt__exact_set(true), 0);
    atomic_store(&step, 2);
    wait_for(3);
    check_site(4, 100, 6400, 100, 6400);
    assert_int_equal(vt__exact_set(false), 0);
    atomic_store(&step, 4);
    pthread_join(id, NULL);
    check_site(4, 100, 6400, 100, 6400);
}

static void *free_these(void *blocks) {
    for (int i = 0; i < 100; i++) vt__free(((void **)blocks)[i]);
    return NULL;
}

TEST(exact, a_free_by_another_thread_counts_for_the_stack_that_allocated) {
    void *at[100];
    start_exact();
    current_site = 5;
    for (int i = 0; i < 100; i++) at[i] = vt__malloc(i % 2 == 0 ? 40 : 4000);
    unit_in_thread(free_these, at);
    check_site(5, 100, 50 * 4040, 100, 50 * 4040);
    vt__heap_release_all();
    vt__heap_audit();
}

TEST(exact, many_stacks_find_room) {
    enum { N = 20000 };
    start_exact();
    for (uintptr_t i = 0; i < N; i++) {
        current_site = 1000 + i;
        (void)vt__malloc(16);
    }
    struct vt_exact_row r;
    uint64_t n = 0;
    for (uint32_t cursor = 0; vt__exact_next(&cursor, &r);) n += r.n_alloc;
    assert_int_equal(n, N);
}

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

TEST(exact, mistakes_are_found_as_ever) {
    static const size_t rows[] = {40, 5000, 200000};
    start_exact();
    for (size_t i = 0; i < vt_countof(rows); i++)
        unit_dies_saying(free_twice, vt__malloc(rows[i]), "double free of");
}

UNIT_MAIN()
