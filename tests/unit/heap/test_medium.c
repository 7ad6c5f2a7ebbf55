/* test_medium.c - blocks of 1 to 64 KiB: slabs that all threads share, and those that are a thread's own. */
#include "look.h"

#include "heap/medium.c"

#include <pthread.h>

static void start_empty(void) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
}

TEST(medium, a_slab_is_used_up_before_another_one_is_taken) {
    start_empty();
    for (unsigned c = VT_N_SMALL; c < VT_N_CLASSES; c++) {
        const struct vt_class *k = &vt__classes[c];
        size_t before = n_used_slices();
        struct blocks b = take_blocks(k->capacity, k->block_bytes);
        assert_int_equal(n_used_slices(), before + k->n_slices);
        assert_int_equal(medium_of(c)->queue.first, 0); /* used up: in no queue */
        free_blocks(b);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

/* ---- many threads ---- */

static pthread_barrier_t all_hold, all_seen;

static void *hold_one_of_each(void *unused) {
    void *at[N_MEDIUM];
    for (unsigned i = 0; i < N_MEDIUM; i++) at[i] = vt__malloc(vt__class_bytes(VT_N_SMALL + i));
    pthread_barrier_wait(&all_hold);
    pthread_barrier_wait(&all_seen);
    for (unsigned i = 0; i < N_MEDIUM; i++) vt__free(at[i]);
    return unused;
}

TEST(medium, threads_share_slabs) {
    enum { N = 8 };
    pthread_t id[N];
    start_empty();
    size_t before = n_used_slices(), least = 0;
    for (unsigned c = VT_N_SMALL; c < VT_N_CLASSES; c++)
        least += vt_div_up(N, vt__classes[c].capacity) * vt__classes[c].n_slices;
    pthread_barrier_init(&all_hold, NULL, N + 1);
    pthread_barrier_init(&all_seen, NULL, N + 1);
    for (int i = 0; i < N; i++) pthread_create(&id[i], NULL, hold_one_of_each, NULL);
    pthread_barrier_wait(&all_hold);
    assert_int_equal(n_used_slices() - before, least); /* as one thread would need */
    pthread_barrier_wait(&all_seen);
    for (int i = 0; i < N; i++) pthread_join(id[i], NULL);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
}

/* ---- a thread's own ---- */

static uintptr_t owner_of_block(const void *p) {
    return atomic_load_explicit(&slab_of(p)->owner, memory_order_relaxed);
}

static void *come_back(void *unused) {
    void *at[2 * SHARED_TRIPS + 1];
    for (int i = 0; i <= 2 * SHARED_TRIPS; i++) at[i] = vt__malloc(9000);
    assert_int_equal(owner_of_block(at[0]), VT_OWNER_MEDIUM); /* used up by the first few */
    assert_int_equal(owner_of_block(at[2 * SHARED_TRIPS]), own(vt__tls.real));
    for (int i = 0; i <= 2 * SHARED_TRIPS; i++) vt__free(at[i]);
    vt__shelves_clear(vt__tls.real);
    assert_int_equal(own_queue(vt__tls.real, vt__class_of(9000))->first, 0);
    return unused;
}

TEST_WITH(medium, a_thread_that_comes_back_gets_slabs_of_its_own, "VITRINE_SAMPLE=0") {
    start_empty();
    size_t before = n_used_slices();
    unit_in_thread(come_back, NULL);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
}

#define N_HANDED 200
static _Atomic(void *) handed[N_HANDED];
static pthread_barrier_t turn;

static void *free_handed(void *unused) {
    for (int i = 0; i < N_HANDED; i++) {
        pthread_barrier_wait(&turn);
        vt__free(atomic_load(&handed[i]));
        vt__shelves_clear(vt__tls.real); /* home */
        pthread_barrier_wait(&turn);
    }
    return unused;
}

static void *hand_over(void *unused) {
    pthread_t id;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&id, NULL, free_handed, NULL);
    unsigned n_own = 0;
    for (int i = 0; i < N_HANDED; i++) {
        void *p = vt__malloc(9000); /* more than two in a slab: not by the exchange */
        n_own += owner_of_block(p) != VT_OWNER_MEDIUM;
        atomic_store(&handed[i], p);
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
    pthread_join(id, NULL);
    assert_true_msg(n_own > 0 && n_own <= HOME_MIN + 2,
                    "expected up to %u blocks of own slabs, seen %u", HOME_MIN + 2, n_own);
    return unused;
}

/* What others freed would wait with its owner until that comes again, perhaps never. */
TEST_WITH(medium, a_thread_that_hands_its_blocks_over_shares_slabs, "VITRINE_SAMPLE=0") {
    start_empty();
    size_t before = n_used_slices();
    unit_in_thread(hand_over, NULL);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
}

static void *make_and_end(void *blocks) {
    struct blocks *b = blocks;
    *b = take_blocks(40, 9000);
    return NULL;
}

static void *take_what_was_left(void *blocks) {
    struct blocks *theirs = blocks;
    vt__heap_release_all();
    for (size_t i = 0; i < theirs->n; i += 2) vt__free(theirs->at[i]);
    vt__shelves_clear(vt__tls.real); /* home, to a heap without a thread */
    size_t n_slices = n_used_slices();
    struct blocks ours = take_blocks(15, 9000);
    assert_int_equal(n_used_slices(), n_slices);
    free_blocks(ours);
    for (size_t i = 1; i < theirs->n; i += 2) vt__free(theirs->at[i]);
    return NULL;
}

TEST_WITH(medium, what_an_ended_thread_left_is_used_again, "VITRINE_SAMPLE=0") {
    struct blocks theirs;
    start_empty();
    unit_in_thread(make_and_end, &theirs);
    unit_in_thread(take_what_was_left, &theirs);
}

/* ---- blocks that change hands ---- */

#define N_SLOTS 64
static _Atomic(void *) slots[N_SLOTS];

static void *swap_blocks(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    for (int i = 0; i < 20000; i++) {
        size_t n_bytes = 1025 + unit_random(&rng) % (i % 8 == 0 ? 64000 : 4000);
        void *p = fill(vt__malloc(n_bytes), 40);
        void *old = atomic_exchange(&slots[unit_random(&rng) % N_SLOTS], p);
        if (old != NULL) check_filled(old, old, 40);
        vt__free(old);
    }
    return NULL;
}

TEST(medium, threads_that_free_each_others_blocks_lose_nothing) {
    pthread_t id[3];
    start_empty();
    size_t before = n_used_slices();
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&id[i], NULL, swap_blocks, (void *)(i + 1));
    for (int i = 0; i < 3; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < N_SLOTS; i++) vt__free(atomic_load(&slots[i]));
    assert_int_equal(stats_now().allocated, 0);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
}

/* ---- mistakes ---- */

static void *free_one(void *p) {
    vt__free(p);
    return NULL;
}

static void twice_here(void *p) {
    vt__free(p);
    vt__free(p);
}

static void twice_elsewhere(void *p) {
    unit_in_thread(free_one, p); /* which sends it home when it ends */
    unit_in_thread(free_one, p);
}

static void here_and_elsewhere(void *p) {
    vt__free(p); /* on our shelf */
    unit_in_thread(free_one, p);
}

TEST(medium, a_second_free_is_found_whoever_frees_and_wherever_the_block_is) {
    static const size_t rows[] = {1100, 9000, 30000};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        struct blocks b = take_blocks(4, rows[i]);
        unit_dies_saying(twice_here, b.at[0], "double free of");
        unit_dies_saying(twice_elsewhere, b.at[1], "double free of");
        unit_dies_saying(here_and_elsewhere, b.at[2], "double free of");
    }
}

static void free_never_handed_out(void *p) { vt__free((char *)p + class_row(2048)->block_bytes); }

TEST(medium, a_block_that_was_never_handed_out_cannot_be_freed) {
    start_empty();
    unit_dies_saying(free_never_handed_out, vt__malloc(2048), "double free of");
}

/* What a slab leaves behind in memory is no sign of a double free in its next use. */
TEST(medium, memory_of_a_released_slab_bears_no_marks) {
    start_empty();
    struct blocks before = take_blocks(300, 2048);
    for (size_t i = 0; i < before.n; i++) memset(before.at[i], 0, 2048);
    free_blocks(before);
    vt__shelves_clear(vt__tls.real);
    static void *small[20000]; /* over the same slices; nothing is written into them */
    for (size_t i = 0; i < vt_countof(small); i++) small[i] = vt__malloc(32);
    for (size_t i = 0; i < vt_countof(small); i += 100) unit_in_thread(free_one, small[i]);
    for (size_t i = 0; i < vt_countof(small); i++)
        if (i % 100 != 0) vt__free(small[i]);
}

/* ---- sampled ones ---- */

static struct slab *slab_around(const void *p) { return vt__slab(vt__slice_of(p)); }

TEST(medium, of_empty_sampled_slabs_the_last_one_stays) {
    bool is_zero;
    start_empty();
    struct block *a = vt__sampled_take(10, &is_zero), *b = vt__sampled_take(70, &is_zero);
    struct slab *of_a = slab_around(a), *of_b = slab_around(b);
    vt__sampled_give(of_a, a);
    assert_int_equal(owner_of(of_a), VT_OWNER_SAMPLED);
    vt__sampled_give(of_b, b);
    assert_int_equal(owner_of(of_a), VT_OWNER_NONE);
    assert_int_equal(owner_of(of_b), VT_OWNER_SAMPLED);
    b = vt__sampled_take(70, &is_zero); /* in use again, it does not go */
    assert_ptr_equal(slab_around(b), of_b);
    a = vt__sampled_take(10, &is_zero);
    vt__sampled_give(slab_around(a), a);
    assert_int_equal(owner_of(of_b), VT_OWNER_SAMPLED);
    vt__sampled_give(of_b, b);
    b = vt__sampled_take(70, &is_zero); /* twice the last one */
    vt__sampled_give(of_b, b);
    assert_int_equal(owner_of(of_b), VT_OWNER_SAMPLED);
}

static void free_sampled_again(void *p) {
    vt__free(p);
    for (size_t i = 1; i <= VT_N_SMALL; i++) assert_non_null(vt__malloc(16 * i)); /* in new slabs */
    vt__free(p);
}

TEST_WITH(medium, a_lone_sampled_block_cannot_be_freed_twice, "VITRINE_SAMPLE=0") {
    bool is_zero;
    start_empty();
    unit_dies_saying(free_sampled_again, vt__sampled_take(70, &is_zero), "double free of");
}

UNIT_MAIN()
