/* test_magazine.c - medium blocks that a thread keeps at hand: newest first, as many as go round, bounded, and back when it is too much. */
#include "look.h"

#include "heap/magazine.c"

static unsigned n_for(size_t n_bytes) { return magazine_n(vt__tls.real, vt__class_of(n_bytes)); }

static unsigned most_for(size_t n_bytes) {
    return most_of(vt__tls.real, magazine_of(vt__class_of(n_bytes)));
}

static void start_empty(void) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
}

TEST(magazine, the_block_freed_last_is_handed_out_next) {
    static const size_t rows[] = {1100, 5000, 8192, 30000, 65536};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        void *a = vt__malloc(rows[i]), *b = vt__malloc(rows[i]);
        vt__free(a);
        vt__free(b);
        assert_int_equal(n_for(rows[i]), 2);
        assert_ptr_equal(vt__malloc(rows[i]), b);
        assert_ptr_equal(vt__malloc(rows[i]), a);
    }
}

/* As many as the slabs of the thread are worth. */
TEST_WITH(magazine, what_goes_up_and_down_stays_in_the_magazine, "VITRINE_SAMPLE=0") {
    enum { N_BYTES = 8192, N_UP = 60 };
    start_empty();
    struct blocks kept = take_blocks(200, N_BYTES);
    for (int turn = 0; turn < 20; turn++) free_blocks(take_blocks(N_UP, N_BYTES));
    assert_true_msg(n_for(N_BYTES) >= N_UP, "expected at least %d blocks, seen %u", N_UP,
                    n_for(N_BYTES));
    size_t n_slices = atomic_load(&vt__pool.used_slices);
    for (int turn = 0; turn < 20; turn++) {
        struct blocks b = take_blocks(N_UP, N_BYTES);
        assert_true(n_for(N_BYTES) <= most_for(N_BYTES) - N_UP);
        free_blocks(b);
    }
    assert_int_equal(atomic_load(&vt__pool.used_slices), n_slices);
    free_blocks(kept);
}

TEST(magazine, all_together_hold_no_more_than_a_thread_may) {
    uint64_t rng = 5;
    start_empty();
    for (int turn = 0; turn < 300; turn++) {
        struct blocks b = take_blocks(40, 1100 + unit_random(&rng) % 60000);
        free_blocks(b);
        size_t most = 0;
        for (unsigned i = 0; i < VT_N_MEDIUM; i++) {
            unsigned n = magazine_n(vt__tls.real, VT_N_SMALL + i),
                     n_most = most_of(vt__tls.real, i);
            assert_true_msg(n <= n_most, "class %u: expected at most %u, seen %u", i, n_most, n);
            most += n_most * bytes_of(i);
        }
        assert_int_equal(vt__tls.real->magazines.most_bytes, most);
        assert_true(most <= BYTES_MAX);
    }
    vt__heap_release_all();
    assert_int_equal(vt__tls.real->magazines.most_bytes, 0);
    for (int turn = 0; turn < 300; turn++) /* with no slabs that are worth more: a fixed little */
        vt__free(vt__malloc(1100 + unit_random(&rng) % 60000));
    assert_true(vt__tls.real->magazines.most_bytes <= BYTES_MIN);
}

TEST(magazine, units_are_the_sizes_of_the_classes) {
    start_empty();
    for (unsigned i = 0; i < VT_N_MEDIUM; i++)
        assert_int_equal((units[i / 4 % 2][2 * (i % 4)] << i / 8) * UNIT, bytes_of(i));
}

TEST(magazine, statistics_count_what_is_in_a_magazine_as_cached) {
    void *p = vt__malloc(5000);
    size_t allocated = stats_now().allocated, cached = stats_now().cached;
    vt__free(p);
    assert_int_equal(stats_now().allocated, allocated - 5120);
    assert_int_equal(stats_now().cached, cached + 5120);
}

TEST(magazine, releasing_all_memory_empties_the_magazines) {
    start_empty();
    size_t before = n_used_slices();
    for (size_t n = 1100; n < 60000; n += 777) vt__free(vt__malloc(n));
    assert_true(vt__magazines_bytes(vt__tls.real) > 0);
    vt__heap_release_all();
    assert_int_equal(vt__magazines_bytes(vt__tls.real), 0);
    assert_int_equal(vt__tls.real->medium_held, 0);
    assert_int_equal(n_used_slices(), before);
}

static void *free_and_end(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    assert_true(vt__magazines_bytes(vt__tls.real) > 0);
    return NULL;
}

TEST(magazine, a_thread_that_ends_leaves_nothing_in_its_magazines) {
    static const size_t rows[] = {2000, 9000, 40000};
    start_empty();
    size_t before = n_used_slices();
    for (size_t i = 0; i < vt_countof(rows); i++) {
        struct blocks b = take_blocks(1, rows[i]);
        unit_in_thread(free_and_end, &b);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

/* The link is not looked at: nothing depends on it. */
static void write_over_the_mark(void *p) {
    vt__free(p);
    ((volatile uintptr_t *)p)[1] = 0x4141414141414141u;
    (void)vt__malloc(5000);
}

TEST(magazine, a_write_over_the_mark_of_a_free_block_is_found) {
    if (VT_HARDEN == 0) skip();
    unit_dies_saying(write_over_the_mark, vt__malloc(5000), "free list corrupted");
}

UNIT_MAIN()
