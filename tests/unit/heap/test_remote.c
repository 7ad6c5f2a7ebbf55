/* test_remote.c - blocks freed by another thread come home: batched, counted, checked, and to the right owner. */
#include "look.h"

#include "heap/remote.c"
#include "os/os.h"

static void start_empty(void) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
}

TEST(remote, blocks_freed_by_another_thread_are_used_again_by_their_owner) {
    static const size_t rows[] = {16, 64, 1000, 1500, 9000, 40000, 65536};
    start_empty();
    for (size_t i = 0; i < vt_countof(rows); i++) {
        size_t n = 3u * class_row(rows[i])->capacity;
        struct blocks b = take_blocks(n, rows[i]);
        size_t peak = n_used_slices();
        unit_in_thread(free_in_thread, &b);
        for (int turn = 0; turn < 5; turn++) {
            b = take_blocks(n, rows[i]);
            assert_true_msg(n_used_slices() <= peak,
                            "%zu bytes: expected at most %zu slices, seen %zu", rows[i], peak,
                            n_used_slices());
            unit_in_thread(free_in_thread, &b);
        }
        vt__heap_release_all();
    }
}

TEST(remote, slabs_emptied_by_another_thread_are_given_back) {
    start_empty();
    size_t before = n_used_slices();
    for (unsigned c = 0; c < VT_N_CLASSES; c += 3) {
        struct blocks b = take_blocks(2u * vt__classes[c].capacity, vt__class_bytes(c));
        unit_in_thread(free_in_thread, &b);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
    vt__heap_audit();
}

TEST(remote, every_block_is_counted_once) {
    start_empty();
    assert_int_equal(stats_now().n_remote, 0);
    struct blocks b = take_blocks(1000, 48);
    unit_in_thread(free_in_thread, &b);
    vt__heap_release_all(); /* they are here by now */
    assert_int_equal(stats_now().n_remote, 1000);
}

static void *free_some_and_attach(void *blocks) {
    struct blocks *b = blocks;
    vt__free(vt__malloc(30)); /* a heap of our own, so that frees are batched */
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    return (void *)(uintptr_t)vt__tls.real->shelf_bytes;
}

static size_t shelf_bytes_after(size_t n, size_t n_bytes) {
    struct blocks b = take_blocks(n, n_bytes);
    pthread_t id;
    void *left;
    assert_int_equal(pthread_create(&id, NULL, free_some_and_attach, &b), 0);
    pthread_join(id, &left);
    return (size_t)(uintptr_t)left;
}

TEST(remote, a_freeing_thread_holds_back_no_more_than_its_shelves_may) {
    static const size_t rows[] = {16, 512, 4096, 30000, 65536};
    start_empty();
    for (size_t i = 0; i < vt_countof(rows); i++)
        for (size_t n = 1; n < 200; n += 13)
            assert_true(shelf_bytes_after(n, rows[i]) <= VT_SHELVES_BYTES);
    assert_int_equal(shelf_bytes_after(5, 64),
                     5 * 64); /* and a few blocks do wait: that is the point */
}

TEST(remote, a_thread_that_ends_sends_home_what_it_held_back) {
    start_empty();
    shelf_bytes_after(1, 64); /* the heap that threads share has its slabs from now on */
    vt__heap_release_all();
    size_t before = n_used_slices();
    for (size_t n = 1; n < 40; n += 7) {
        shelf_bytes_after(n, 64);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

/* ---- owners that ended ---- */

static void *allocate_and_end(void *blocks) {
    struct blocks *b = blocks;
    *b = take_blocks(b->n, b->n_bytes);
    return NULL;
}

TEST(remote, blocks_of_a_thread_that_ended_are_freed_and_their_slabs_given_back) {
    static const size_t rows[] = {16, 300, 2000, 65536};
    start_empty();
    size_t before = 0;
    for (size_t i = 0; i < 2 * vt_countof(rows); i++) {
        if (i == vt_countof(rows))
            before = n_used_slices(); /* the first time leaves a slab each for threads to share */
        size_t n_bytes = rows[i % vt_countof(rows)];
        struct blocks b = {NULL, 2u * class_row(n_bytes)->capacity, n_bytes};
        unit_in_thread(allocate_and_end, &b);
        assert_true(n_used_slices() > before);
        free_blocks(b);
        vt__heap_release_all(); /* empties our shelves; there is nobody else to do it */
    }
    assert_int_equal(n_used_slices(), before);
}

/* A slab whose notice went to a heap that no longer owns it. */
TEST(remote, a_notice_at_the_wrong_heap_is_forwarded_to_the_owner) {
    start_empty();
    struct blocks b = {NULL, class_row(512)->capacity, 512};
    unit_in_thread(allocate_and_end, &b);
    vt__heaps_cool(); /* else it waits with its current slab, also when that is empty */
    struct slab *s =
        slab_of(b.at[b.n - 1]); /* the first few blocks are of a slab that threads share */
    struct heap *pooled = (struct heap *)atomic_load(&s->owner);
    struct heap *mine = vt__tls.real;
    assert_ptr_not_equal(pooled, mine);
    size_t before = n_used_slices();

    /* as if the owner had changed between the read of it and the push */
    for (size_t i = 0; i < b.n; i++) {
        struct block *block = b.at[i];
        if (slab_of(block) != s) continue;
        uint64_t old = atomic_load(&s->remote);
        block->link = link_salted(block_of(old), block, VT_SALT_REMOTE);
        block->mark = shelf_mark(block);
        atomic_store(&s->remote,
                     (count_of(old) + 1) << COUNT_SHIFT | QUEUED | (uint64_t)(uintptr_t)block);
    }
    atomic_store(&s->pending_next, 0);
    atomic_store(&mine->pending, vt__slab_id(s));

    vt__remote_collect(mine, /* has_heaps_lock */ false);
    assert_int_equal(atomic_load(&mine->pending), 0);
    assert_int_equal(atomic_load(&pooled->pending), 0);
    assert_int_equal(atomic_load(&s->remote), 0);
    assert_int_equal(n_used_slices(), before - class_row(512)->n_slices);
}

/* ---- the inbox ---- */

/* Blocks of many classes come home at once, whatever their order. */
TEST_WITH(remote, what_one_thread_freed_is_one_batch, "VITRINE_SAMPLE=0") {
    enum { N = VT_SHELVES_BLOCKS };
    void *at[N];
    struct blocks b = {calloc(N, sizeof(void *)), N, 0};
    start_empty();
    for (size_t i = 0; i < N; i++) b.at[i] = at[i] = vt__malloc(1 + i * 7 % 500);
    unit_in_thread(free_in_thread, &b);
    struct heap *h = vt__tls.real;
    assert_int_equal(mailed(atomic_load(&h->inbox)), N);
    assert_int_equal(atomic_load(&h->pending), 0);
    for (size_t i = 0; i < N; i++) assert_int_equal(atomic_load(&slab_of(at[i])->remote), 0);
    vt__remote_collect(h, /* has_heaps_lock */ false);
    assert_int_equal(atomic_load(&h->inbox), 0);
    assert_int_equal(stats_now().allocated, 0);
    assert_int_equal(stats_now().n_remote, N);
    vt__heap_audit();
}

/* Who counts finds each block at its slab. */
TEST_WITH(remote, statistics_know_what_waits_in_an_inbox, "VITRINE_SAMPLE=0") {
    start_empty();
    struct blocks b = take_blocks(100, 200);
    size_t cached = stats_now().cached;
    unit_in_thread(free_in_thread, &b);
    assert_int_equal(mailed(atomic_load(&vt__tls.real->inbox)), 100);
    assert_int_equal(stats_now().allocated, 0);
    assert_int_equal(stats_now().cached, cached + 100 * 208);
    assert_int_equal(atomic_load(&vt__tls.real->inbox), 0);
}

TEST_WITH(remote, blocks_whose_slab_has_moved_are_forwarded, "VITRINE_SAMPLE=0") {
    start_empty();
    struct blocks b = {NULL, class_row(512)->capacity, 512};
    unit_in_thread(allocate_and_end, &b);
    vt__heaps_cool();
    struct block *block = b.at[b.n - 1];
    struct slab *s = slab_of(block);
    struct heap *mine = vt__tls.real;
    uint32_t before = s->room;
    assert_ptr_not_equal((struct heap *)atomic_load(&s->owner), mine);
    block->mark = shelf_mark(block); /* as if it had been ours */
    block->link = link_salted(NULL, block, VT_SALT_REMOTE);
    atomic_store(&mine->inbox, UINT64_C(1) << MAILED_SHIFT | (uint64_t)(uintptr_t)block);
    vt__remote_collect(mine, /* has_heaps_lock */ false);
    assert_int_equal(atomic_load(&mine->inbox), 0);
    assert_int_equal(s->room, before - 1);
}

/* Sorting may want the heaps lock for a heap without a thread: who has it leaves that to the next. */
TEST_WITH(remote, who_has_the_heaps_lock_sorts_no_inbox, "VITRINE_SAMPLE=0") {
    enum { N = ASLEEP_BLOCKS + 88 };
    start_empty();
    struct heap *h = vt__tls.real;
    struct blocks b = take_blocks(N, 64);
    struct block *late = vt__malloc(64);
    unit_in_thread(free_in_thread, &b);
    assert_int_equal(mailed(atomic_load(&h->inbox)), N);
    usleep((ASLEEP_MS + 10) * 1000);
    late->mark = shelf_mark(late);
    vt_lock(&vt__heaps_lock);
    post(h, late, late, 1, /* has_heaps_lock */ true);
    vt_unlock(&vt__heaps_lock);
    assert_int_equal(mailed(atomic_load(&h->inbox)), N + 1);
    assert_int_equal(stats_now().allocated, 0);
}

/* ---- owners that sleep ---- */

static size_t resident_of(const struct slab *s) {
    size_t n = 0;
    void *at = (void *)vt__slice_address(vt__slab_id(s));
    assert_int_equal(vt__os_resident_bytes(at, vt__classes[s->cls].n_slices * VT_SLICE, &n), 0);
    return n;
}

/* Every other block by one thread, the rest by another: the second finds each slab announced already, and completes it. */
static void *free_even(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i += 2) vt__free(b->at[i]);
    return NULL;
}

static void *free_odd(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 1; i < b->n; i += 2) vt__free(b->at[i]);
    return NULL;
}

/* Longer than one may take it for busy. */
static void sleep_long(void) { usleep((ASLEEP_MS + 10) * 1000); }

TEST(remote, slabs_that_come_back_whole_to_a_sleeping_owner_lose_their_pages_at_once) {
    start_empty();
    size_t n = 40u * class_row(1024)->capacity;
    struct blocks b = take_blocks(n, 1024);
    for (size_t i = 0; i < n; i++) memset(b.at[i], 0x77, 1024);
    unit_in_thread(free_even, &b);
    sleep_long();
    unit_in_thread(free_odd, &b); /* and we never look */
    size_t n_gone = 0;
    for (size_t i = 0; i < n; i += class_row(1024)->capacity)
        n_gone += resident_of(slab_of(b.at[i])) == 0;
    assert_true_msg(n_gone >= 20, "expected most of 40 slabs gone, seen %zu", n_gone);
    assert_int_equal(stats_now().allocated, 0);

    for (size_t i = 0; i < n; i++) { /* awake: all of it is there again, and zero for who asks */
        b.at[i] = vt__calloc(1, 1024);
        check_zero(b.at[i], 1024);
        memset(b.at[i], 0x77, 1024);
    }
    vt__heap_audit();
    free_blocks(b);
}

static void complete_by_a_double_free(void *blocks) {
    struct blocks *b = blocks;
    size_t capacity = class_row(1024)->capacity;
    struct blocks all_but_one_slab = {b->at + capacity, b->n - capacity, 1024};
    unit_in_thread(free_even, &all_but_one_slab);
    sleep_long();
    unit_in_thread(free_odd, &all_but_one_slab);
    /* of the last slab one block stays in use, and another is freed twice */
    struct blocks first = {b->at, capacity / 2, 1024};
    struct blocks rest = {b->at + capacity / 2, capacity - capacity / 2, 1024};
    rest.at[rest.n - 1] = rest.at[0];
    unit_in_thread(free_even, &first);
    unit_in_thread(free_odd, &first);
    unit_in_thread(free_even, &rest);
    unit_in_thread(free_odd, &rest);
}

TEST(remote, a_double_free_does_not_make_a_slab_whole) {
    start_empty();
    struct blocks b = take_blocks(40u * class_row(1024)->capacity, 1024);
    unit_dies_saying(complete_by_a_double_free, &b, "double free of");
}

/* ---- mistakes ---- */

static void *free_one(void *p) {
    vt__free(p);
    return NULL;
}

static void *free_one_twice(void *p) {
    vt__free(p);
    vt__free(p);
    return NULL;
}

static void twice_by_another(void *p) {
    unit_in_thread(free_one_twice, p);
    vt__heap_release_all();
}

static void by_another_and_by_me(void *p) {
    unit_in_thread(free_one, p);
    vt__free(p);
    vt__heap_release_all();
}

static void by_two_others(void *p) {
    unit_in_thread(free_one, p);
    unit_in_thread(free_one, p);
    vt__heap_release_all();
}

static void inside_by_another(void *p) { unit_in_thread(free_one, (char *)p + 16); }

TEST(remote, a_second_free_is_found_whoever_frees) {
    struct blocks b = take_blocks(100, 100);
    unit_dies_saying(twice_by_another, b.at[50], "double free of");
    unit_dies_saying(by_another_and_by_me, b.at[51], "double free of");
    unit_dies_saying(by_two_others, b.at[52], "double free of");
}

TEST(remote, a_pointer_into_a_block_is_found_whoever_frees) {
    struct blocks b = take_blocks(100, 100);
    unit_dies_saying(inside_by_another, b.at[50], "not the start of a block");
    struct blocks medium = take_blocks(20, 9000);
    unit_dies_saying(inside_by_another, medium.at[19], "not the start of a block");
}

/* ---- both sides at once ---- */

#define N_SLOTS 64
#define N_TURNS 40000

static _Atomic(void *) slots[N_SLOTS];
static _Atomic bool is_done;

static void *swap_and_free(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    while (!atomic_load(&is_done)) {
        void *p = atomic_exchange(&slots[unit_random(&rng) % N_SLOTS], NULL);
        if (p == NULL) continue;
        check_filled(p, p, 40);
        vt__free(p);
    }
    return NULL;
}

TEST(remote, owner_and_freeing_threads_at_once_lose_nothing) {
    pthread_t id[3];
    uint64_t rng = 9;
    start_empty();
    size_t before = n_used_slices();
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&id[i], NULL, swap_and_free, (void *)(i + 1));
    for (int i = 0; i < N_TURNS; i++) {
        size_t n_bytes = 40 + unit_random(&rng) % (i % 50 == 0 ? 20000 : 500);
        void *p = fill(vt__malloc(n_bytes), 40);
        vt__free(atomic_exchange(&slots[unit_random(&rng) % N_SLOTS], p));
    }
    atomic_store(&is_done, true);
    for (int i = 0; i < 3; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < N_SLOTS; i++) vt__free(atomic_load(&slots[i]));
    vt__heap_audit();
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
}

UNIT_MAIN()
