/* test_depot.c - distinct stacks: each once, found again, by many threads and from signal handlers. */
#include "unit.h"

#include <sys/time.h>

#include "base/base.h"

#include "stack/depot.c"

static void make(struct vt_frames *f, uint64_t seed) { /* equal seeds make equal frames */
    uintptr_t leaf = 0x10000000 + seed * 16;
    f->n = 1 + (unsigned)(seed % 40);
    for (unsigned i = 0; i < f->n; i++) f->pc[i] = 0x400000 + unit_random(&seed) % 100000;
    f->pc[0] = leaf;
    f->hash = vt__frames_hash(f->pc, f->n);
}

static void is_kept(vt_stack_id id, const struct vt_frames *f) {
    const uintptr_t *pc;
    assert_int_equal(vt__depot_get(id, &pc), f->n);
    assert_memory_equal(pc, f->pc, f->n * sizeof(f->pc[0]));
}

TEST(depot, equal_stacks_have_one_id_and_different_ones_two) {
    struct vt_frames a, b;
    make(&a, 1);
    make(&b, 2);
    vt_stack_id id_a = vt__depot_put(&a), id_b = vt__depot_put(&b);
    assert_int_equal(id_a, 1);
    assert_int_equal(id_b, 2);
    assert_int_equal(vt__depot_put(&a), id_a);
    assert_int_equal(vt__depot_put(&b), id_b);
    assert_int_equal(vt__depot_count(), 2);
    is_kept(id_a, &a);
    is_kept(id_b, &b);
}

TEST(depot, stacks_of_equal_hash_are_told_apart_by_their_frames) {
    struct vt_frames f;
    make(&f, 39); /* 40 frames */
    for (unsigned i = 0; i < 30; i++) {
        f.pc[f.n - 1 - i] ^= 8; /* and the hash as it was */
        assert_int_equal(vt__depot_put(&f), i + 1);
    }
    f.n--;
    assert_int_equal(vt__depot_put(&f), 31);
    is_kept(31, &f);
}

TEST(depot, ids_that_nobody_has_have_no_frames) {
    struct vt_frames f = {.n = 0};
    const uintptr_t *pc;
    assert_int_equal(vt__depot_put(&f), 0);
    assert_int_equal(vt__depot_get(0, &pc), 0);
    assert_int_equal(vt__depot_get(1, &pc), 0);
    assert_int_equal(vt__depot_get(UINT32_MAX, &pc), 0);
    assert_int_equal(vt__depot_count(), 0);
}

TEST(depot, stacks_are_found_again_after_the_table_has_doubled_many_times) {
    enum { N = 60000 };
    struct vt_frames f;
    for (uint32_t i = 0; i < N; i++) {
        make(&f, i + 1);
        assert_int_equal(vt__depot_put(&f), i + 1);
    }
    assert_true(level_now() > FIRST_LEVEL + 5);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < N; i++) {
            make(&f, i + 1);
            assert_int_equal(vt__depot_put(&f), i + 1);
            is_kept(i + 1, &f);
        }
    assert_int_equal(vt__depot_count(), N);
}

TEST(depot, a_full_depot_answers_none_counts_what_is_lost_and_keeps_serving) {
    struct vt_frames f = {.n = 1};
    struct vt_stack_stats s;
    for (uint32_t i = 0; i < MAX_STACKS + 100; i++) {
        f.pc[0] = i * 16 + 1;
        f.hash = vt__frames_hash(f.pc, 1);
        vt_stack_id id = vt__depot_put(&f);
        if (id != (i < MAX_STACKS ? i + 1 : 0))
            fail_msg("stack %u: expected id %u, seen %u", i, i < MAX_STACKS ? i + 1 : 0, id);
    }
    vt__depot_stats(&s);
    assert_int_equal(s.n_stacks, MAX_STACKS);
    assert_int_equal(s.n_lost, 100);
    f.pc[0] = 16 + 1;
    f.hash = vt__frames_hash(f.pc, 1);
    assert_int_equal(vt__depot_put(&f), 2);
}

TEST_WITH(depot, without_address_space_every_stack_is_lost_and_counted,
          "VITRINE_FAIL_ALWAYS=reserve") {
    struct vt_frames f;
    struct vt_stack_stats s;
    const uintptr_t *pc;
    make(&f, 1);
    for (int i = 0; i < 5; i++) assert_int_equal(vt__depot_put(&f), 0);
    vt__depot_stats(&s);
    assert_int_equal(s.n_lost, 5);
    assert_int_equal(vt__depot_get(1, &pc), 0);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_SHARED = 5000 };
static vt_stack_id seen[N_THREADS][N_SHARED];

static void *put_shared(void *arg) {
    size_t self = (size_t)arg;
    uint64_t rng = self + 1;
    struct vt_frames f;
    for (size_t i = 0; i < N_SHARED; i++) { /* nearly the same order, so that they meet */
        size_t k = (i & ~(size_t)7) | (unit_random(&rng) & 7);
        make(&f, k + 1);
        seen[self][k] = vt__depot_put(&f);
    }
    for (size_t k = 0; k < N_SHARED; k++) {
        make(&f, k + 1);
        seen[self][k] = vt__depot_put(&f);
    }
    return NULL;
}

TEST(depot, threads_that_put_the_same_stacks_get_the_same_ids) {
    pthread_t id[N_THREADS];
    struct vt_frames f;
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&id[i], NULL, put_shared, (void *)i), 0);
    for (size_t i = 0; i < N_THREADS; i++) pthread_join(id[i], NULL);
    unsigned n_doubled = 0;
    for (size_t k = 0; k < N_SHARED; k++) {
        make(&f, k + 1);
        for (size_t t = 0; t < N_THREADS; t++) {
            is_kept(seen[t][k], &f);
            n_doubled += seen[t][k] != seen[0][k];
        }
    }
    assert_true_msg(n_doubled < N_SHARED / 100, "expected hardly any stack with two ids, seen %u",
                    n_doubled);
}

/* ---- signals ---- */

static _Atomic unsigned n_ticks;
static _Atomic bool is_wrong;

static void on_tick(int sig) {
    static uint64_t rng = 99;
    static struct vt_frames f;
    const uintptr_t *pc;
    int saved = errno;
    (void)sig;
    make(&f, 1 + unit_random(&rng) % 20000);
    vt_stack_id id = vt__depot_put(&f);
    if (vt__depot_get(id, &pc) != f.n || memcmp(pc, f.pc, f.n * 8) != 0 || errno != saved)
        is_wrong = true;
    n_ticks++;
}

TEST(depot, handlers_that_interrupt_a_put_may_put_the_same_stack) {
    struct vt_frames f;
    struct sigaction act = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct itimerval t = {{0, 100}, {0, 100}};
    uint64_t rng = 7;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
    while (n_ticks < 2000) {
        make(&f, 1 + unit_random(&rng) % 20000);
        is_kept(vt__depot_put(&f), &f);
    }
    t = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &t, NULL);
    assert_false(is_wrong);
    assert_true(vt__depot_count() <= 20000 + n_ticks);
}

UNIT_MAIN()
