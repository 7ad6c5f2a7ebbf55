/* test_exchange.c - blocks that go from a thread that frees to one that allocates: as they are, bounded, counted, and back when asked. */
#include "look.h"

#include "heap/exchange.c"

#define N_BYTES 40000 /* one block in a slab */

static unsigned n_full_cells(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < N_CELLS; i++) n += exchange.state[i] == CELL_FULL;
    return n;
}

static size_t n_waiting(void) {
    uint32_t n[VT_N_CLASSES] = {0};
    size_t sum = 0;
    vt__exchange_count(n);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) sum += n[c];
    return sum;
}

/* The blocks of a thread that has ended, in slabs that all share. */
static void *make(void *blocks) {
    struct blocks *b = blocks;
    *b = take_blocks(VT_PARCEL_BLOCKS, N_BYTES);
    return NULL;
}

static struct blocks start_with_blocks(void) {
    struct blocks b;
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    unit_in_thread(make, &b);
    return b;
}

static void *free_all(void *blocks) {
    free_blocks(*(struct blocks *)blocks);
    return NULL;
}

TEST_WITH(exchange, a_block_that_one_thread_frees_another_gets, "VITRINE_SAMPLE=0") {
    struct blocks b = start_with_blocks();
    void *at[VT_PARCEL_BLOCKS];
    size_t n = b.n, n_same = 0;
    for (size_t i = 0; i < n; i++) at[i] = b.at[i];
    unit_in_thread(free_all, &b);
    assert_true(n_full_cells() > 0);
    size_t n_before = n_waiting();
    void *p = vt__malloc(N_BYTES);
    for (size_t i = 0; i < n; i++) n_same += at[i] == p;
    assert_int_equal(n_same, 1);
    assert_true(n_waiting() < n_before);
    vt__free(p);
    vt__heap_release_all();
    assert_int_equal(n_waiting(), 0);
}

TEST_WITH(exchange, what_waits_is_counted_as_cached, "VITRINE_SAMPLE=0") {
    size_t allocated = stats_now().allocated;
    struct blocks b = start_with_blocks();
    size_t n = b.n, bytes = class_row(N_BYTES)->block_bytes;
    assert_true(stats_now().allocated >= allocated + n * bytes);
    unit_in_thread(free_all, &b);
    assert_true(n_waiting() > 0);
    assert_true(stats_now().allocated < allocated + bytes);
    assert_true(stats_now().cached >= n_waiting() * bytes);
}

TEST_WITH(exchange, releasing_all_memory_empties_the_cells, "VITRINE_SAMPLE=0") {
    size_t before;
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    before = n_used_slices();
    struct blocks b = start_with_blocks();
    unit_in_thread(free_all, &b);
    assert_true(n_waiting() > 0);
    vt__heap_release_all();
    assert_int_equal(n_waiting(), 0);
    assert_int_equal(n_used_slices(), before);
}

/* The other cells are for programs that have more. */
TEST_WITH(exchange, a_small_program_has_two_parcels_at_most, "VITRINE_SAMPLE=0") {
    struct blocks b = start_with_blocks(); /* 2.6 MB */
    unit_in_thread(free_all, &b);
    assert_true(n_full_cells() <= 2);
}

static void free_twice(void *p) {
    vt__free(p);
    vt__shelves_clear(vt__tls.real); /* to a cell */
    if (n_waiting() == 0) return;    /* the test fails: nobody dies */
    vt__free(p);
}

TEST_WITH(exchange, a_second_free_of_a_block_that_waits_is_found, "VITRINE_SAMPLE=0") {
    if (VT_HARDEN == 0) skip();
    struct blocks b = start_with_blocks();
    unit_dies_saying(free_twice, b.at[0], "double free");
    free_blocks(b);
}

/* All that the limit allows. */
static struct blocks take_all(size_t n_bytes) {
    struct blocks b = {calloc(1000, sizeof(void *)), 0, n_bytes};
    while (b.n < 1000 && (b.at[b.n] = vt__malloc(n_bytes)) != NULL) b.n++;
    return b;
}

TEST_WITH(exchange, what_waits_makes_room_for_who_finds_no_memory,
          "VITRINE_SAMPLE=0 VITRINE_LIMIT=24M") {
    vt__free(vt__malloc(1));
    struct blocks all = take_all(KiB(96));
    size_t n = all.n;
    free_blocks(all);
    struct blocks b = start_with_blocks();
    unit_in_thread(free_all, &b);
    assert_true(n_waiting() > 0);
    all = take_all(KiB(96));
    assert_true_msg(all.n >= n, "expected %zu blocks, seen %zu", n, all.n);
    free_blocks(all);
}

/* What goes to magazines is marked anew there. */
static void write_to_freed(void *blocks) {
    void *at[4];
    unit_in_thread(free_all, blocks);
    for (unsigned i = 0; i < N_CELLS; i++)
        for (unsigned k = 1; k < exchange.cell[i].n; k++) exchange.cell[i].block[k]->mark = 0;
    for (unsigned i = 0; i < vt_countof(at); i++) at[i] = vt__malloc(N_BYTES);
    for (unsigned i = 0; i < vt_countof(at); i++) vt__free(at[i]);
}

TEST_WITH(exchange, a_block_that_was_written_to_while_it_waited_is_found, "VITRINE_SAMPLE=0") {
    if (VT_HARDEN == 0) skip();
    struct blocks b = start_with_blocks();
    unit_dies_saying(write_to_freed, &b, "was written to");
    free_blocks(b);
}

TEST_WITH(exchange, a_cell_whose_thread_is_gone_is_free_in_the_child, "VITRINE_SAMPLE=0") {
    struct blocks b = start_with_blocks();
    unit_in_thread(free_all, &b);
    unsigned i = 0;
    while (!claim(i, CELL_FULL)) i++;
    vt__exchange_forked();
    assert_int_equal(exchange.state[i], CELL_EMPTY);
    assert_true(claim(i, CELL_EMPTY));
    leave(i);
}

UNIT_MAIN()
