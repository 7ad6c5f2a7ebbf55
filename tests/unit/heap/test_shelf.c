/* test_shelf.c - what a thread keeps at hand: bounded, newest first, and sent home when it is too much or the thread ends. */
#include "look.h"

#include "heap/shelf.c"

static size_t n_on_shelf(size_t n_bytes) { return vt__tls.real->shelf[vt__class_of(n_bytes)].n; }

TEST(shelf, the_block_freed_last_is_handed_out_next) {
    static const size_t rows[] = {1100, 5000, 8192, 30000, 65536};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        void *a = vt__malloc(rows[i]), *b = vt__malloc(rows[i]);
        vt__free(a);
        vt__free(b);
        if (n_on_shelf(rows[i]) == 2) {
            assert_ptr_equal(vt__malloc(rows[i]), b);
            assert_ptr_equal(vt__malloc(rows[i]), a);
        } else { /* there is room for one */
            assert_true(class_row(rows[i])->shelf_max == 1);
        }
    }
}

TEST(shelf, no_shelf_holds_more_than_its_class_allows_and_all_together_no_more_than_a_thread_may) {
    uint64_t rng = 5;
    vt__free(vt__malloc(1));
    for (int turn = 0; turn < 200; turn++) {
        struct blocks b = take_blocks(20, 1100 + unit_random(&rng) % 60000);
        free_blocks(b);
        size_t sum = 0;
        for (unsigned c = 0; c < VT_N_CLASSES; c++) {
            size_t n = vt__tls.real->shelf[c].n;
            assert_true_msg(n <= vt__classes[c].shelf_max, "class %u: expected %u, seen %zu", c,
                            vt__classes[c].shelf_max, n);
            sum += n * vt__classes[c].block_bytes;
        }
        assert_int_equal(vt__tls.real->shelf_bytes, sum);
        assert_true(sum <= VT_SHELVES_BYTES);
    }
}

TEST(shelf, statistics_count_what_is_on_a_shelf_as_cached) {
    void *p = vt__malloc(5000);
    size_t allocated = stats_now().allocated, cached = stats_now().cached;
    vt__free(p);
    assert_int_equal(stats_now().allocated, allocated - 5120);
    assert_int_equal(stats_now().cached, cached + 5120);
}

TEST(shelf, releasing_all_memory_empties_the_shelves) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    size_t before = n_used_slices();
    for (size_t n = 1100; n < 60000; n += 777) vt__free(vt__malloc(n));
    assert_true(vt__tls.real->shelf_bytes > 0);
    vt__heap_release_all();
    assert_int_equal(vt__tls.real->shelf_bytes, 0);
    assert_int_equal(n_used_slices(), before);
}

static void *free_and_end(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    assert_true(vt__tls.real->shelf_bytes > 0);
    return NULL;
}

TEST(shelf, a_thread_that_ends_leaves_nothing_on_its_shelves) {
    static const size_t rows[] = {64, 1024, 2000, 9000, 40000};
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    size_t before = n_used_slices();
    for (size_t i = 0; i < vt_countof(rows); i++) {
        struct blocks b = take_blocks(1, rows[i]);
        unit_in_thread(free_and_end, &b);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

static void write_into_a_shelved_block(void *p) {
    vt__free(p);
    ((volatile uintptr_t *)p)[0] = 0x4141414141414141u;
    (void)vt__malloc(5000);
    (void)vt__malloc(5000);
}

TEST(shelf, a_write_into_a_block_on_the_shelf_is_found) {
    if (VT_HARDEN == 0) skip();
    unit_dies_saying(write_into_a_shelved_block, vt__malloc(5000), "free list corrupted");
}

UNIT_MAIN()
