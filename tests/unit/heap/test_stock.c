/* test_stock.c - slices that a thread keeps for its next slabs: as many as go round, no more, and back with the thread. */
#include "look.h"

#include "heap/stock.c"

#define N_BYTES 1024 /* 32 blocks in a slab */
enum { PER_SLAB = 32, N_SLABS = 12 };

static struct stock *singles(void) { return &vt__tls.real->stock[0]; }
static size_t n_taken(void) { return atomic_load(&vt__pool.used_slices); }

static void start_empty(void) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
}

TEST_WITH(stock, a_program_that_only_shrinks_keeps_few_slices, "VITRINE_SAMPLE=0") {
    start_empty();
    struct blocks b = take_blocks(100 * PER_SLAB, N_BYTES);
    assert_int_equal(singles()->n, 0);
    free_blocks(b);
    assert_true(singles()->n <= FETCH_MAX);
}

TEST_WITH(stock, what_goes_up_and_down_stays, "VITRINE_SAMPLE=0") {
    start_empty();
    for (int turn = 0; turn < 20; turn++) free_blocks(take_blocks(N_SLABS * PER_SLAB, N_BYTES));
    assert_true_msg(singles()->n >= N_SLABS - 2, "expected 10 or more, seen %u", singles()->n);
    size_t before = n_taken();
    for (int turn = 0; turn < 20; turn++) {
        struct blocks b = take_blocks(N_SLABS * PER_SLAB, N_BYTES);
        assert_int_equal(n_taken(), before); /* nobody else was asked */
        free_blocks(b);
    }
    assert_int_equal(n_taken(), before);
}

TEST_WITH(stock, holds_no_more_than_it_may_and_gives_it_up_after_a_great_fall, "VITRINE_SAMPLE=0") {
    start_empty();
    for (int turn = 0; turn < 20; turn++) {
        struct blocks b = take_blocks(200 * PER_SLAB, N_BYTES);
        free_blocks(b);
        assert_true(singles()->n <= VT_STOCK_MAX);
    }
    free_blocks(take_blocks(1000 * PER_SLAB, N_BYTES));
    assert_true_msg(singles()->n <= FETCH_MIN, "expected at most 4, seen %u", singles()->n);
}

/* As a thread whose blocks others free: no slab comes back to it. */
TEST_WITH(stock, who_only_takes_gets_some_at_a_time, "VITRINE_SAMPLE=0") {
    start_empty();
    free_blocks(take_blocks(64 * PER_SLAB, N_BYTES)); /* resident slices in the shard */
    vt__stock_clear(vt__tls.real);
    slab_id first;
    for (int i = 0; i < FETCHES_OFTEN - 1; i++)
        assert_false(vt__stock_take(vt__tls.real, 1, vt__class_of(N_BYTES), &first));
    size_t before = n_taken();
    assert_true(vt__stock_take(vt__tls.real, 1, vt__class_of(N_BYTES), &first));
    assert_int_equal(n_taken(), before + FETCH_MAX / 2);
    assert_int_equal(singles()->n, FETCH_MAX / 2 - 1);
    vt__slices_give(first, 1);
}

TEST_WITH(stock, a_slab_gets_the_slices_of_its_class, "VITRINE_SAMPLE=0") {
    start_empty();
    for (int turn = 0; turn < 20; turn++) {
        struct blocks a = take_blocks(5 * PER_SLAB, N_BYTES), b = take_blocks(5 * 64, 512);
        free_blocks(a);
        free_blocks(b);
    }
    unsigned n = 0, cls = vt__class_of(N_BYTES);
    for (unsigned i = 0; i < singles()->n; i++) n += vt__slab(singles()->slab[i])->cls == cls;
    assert_true(n > 0);
    slab_id first;
    for (; n > 0; n--) {
        assert_true(vt__stock_take(vt__tls.real, 1, cls, &first));
        assert_int_equal(vt__slab(first)->cls, cls);
        vt__slices_give(first, 1);
    }
}

TEST_WITH(stock, statistics_count_it_as_retained, "VITRINE_SAMPLE=0") {
    start_empty();
    for (int turn = 0; turn < 20; turn++) free_blocks(take_blocks(N_SLABS * PER_SLAB, N_BYTES));
    struct vt_stats with = stats_now();
    size_t n_bytes = vt__stock_slices(vt__tls.real) * VT_SLICE;
    assert_true(n_bytes >= (N_SLABS - 2) * VT_SLICE);
    assert_true(with.retained >= n_bytes);
    vt__stock_clear(vt__tls.real);
    assert_int_equal(stats_now().retained, with.retained);
    assert_int_equal(stats_now().active, with.active);
}

static void *go_up_and_down(void *unused) {
    for (int turn = 0; turn < 20; turn++) free_blocks(take_blocks(N_SLABS * PER_SLAB, N_BYTES));
    return unused;
}

TEST_WITH(stock, goes_back_with_the_thread_and_with_all_free_memory, "VITRINE_SAMPLE=0") {
    start_empty();
    unit_in_thread(go_up_and_down, NULL); /* the heap that threads share has its slab from now on */
    vt__heap_release_all();
    size_t before = n_taken();
    unit_in_thread(go_up_and_down, NULL);
    vt__heap_release_all();
    assert_int_equal(n_taken(), before);
    go_up_and_down(NULL);
    assert_true(vt__stock_slices(vt__tls.real) > 0);
    vt__heap_release_all();
    assert_int_equal(n_taken(), before);
}

UNIT_MAIN()
