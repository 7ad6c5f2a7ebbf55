/* test_shelf.c - small blocks of other threads that a thread keeps: bounded, and sent home when it is too much or the thread ends. */
#include "look.h"

#include "heap/shelf.c"

#include <pthread.h>

enum { N = 2000 };
static void *made[N];

static void *make(void *n_bytes) {
    for (int i = 0; i < N; i++) made[i] = vt__malloc((uintptr_t)n_bytes + (size_t)(i % 32) * 16);
    return NULL;
}

TEST(shelf, all_shelves_together_hold_no_more_than_a_thread_may) {
    vt__free(vt__malloc(1));
    unit_in_thread(make, (void *)16);
    for (int i = 0; i < N; i++) {
        size_t sum = 0, n_all = 0;
        vt__free(made[i]);
        for (unsigned c = 0; c < VT_N_SMALL; c++) {
            n_all += vt__tls.real->shelf[c].n;
            sum += vt__tls.real->shelf[c].n * vt__classes[c].block_bytes;
        }
        assert_int_equal(vt__tls.real->shelf_bytes, sum);
        assert_int_equal(vt__tls.real->shelf_n, n_all);
        assert_true(sum <= VT_SHELVES_BYTES && n_all < VT_SHELVES_BLOCKS);
    }
}

TEST(shelf, statistics_count_what_is_on_a_shelf_as_cached) {
    vt__free(vt__malloc(1));
    unit_in_thread(make, (void *)16);
    size_t allocated = stats_now().allocated, cached = stats_now().cached;
    vt__free(made[9]);
    assert_int_equal(stats_now().allocated, allocated - 160);
    assert_int_equal(stats_now().cached, cached + 160);
}

TEST(shelf, releasing_all_memory_empties_the_shelves) {
    vt__free(vt__malloc(1));
    unit_in_thread(make, (void *)16);
    for (int i = 0; i < N; i++) vt__free(made[i]);
    assert_true(vt__tls.real->shelf_bytes > 0);
    vt__heap_release_all();
    assert_int_equal(vt__tls.real->shelf_bytes, 0);
}

static void *free_and_end(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    assert_true(vt__tls.real->shelf_bytes > 0);
    return NULL;
}

TEST(shelf, a_thread_that_ends_leaves_nothing_on_its_shelves) {
    static const size_t rows[] = {64, 1024};
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
    vt__shelves_clear(vt__tls.real);
}

TEST(shelf, a_write_into_a_block_on_the_shelf_is_found) {
    if (VT_HARDEN == 0) skip();
    vt__free(vt__malloc(1));
    unit_in_thread(make, (void *)64);
    unit_dies_saying(write_into_a_shelved_block, made[0], "free list corrupted");
}

UNIT_MAIN()
