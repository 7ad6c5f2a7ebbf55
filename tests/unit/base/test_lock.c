/* test_lock.c - the lock under contention, its sleepers, and the order that the audit build watches. */
#include "unit.h"

#include "base/lock.h"
#include "os/os.h"

#define N_THREADS 4
#define N_TURNS 20000

static struct vt_lock lock = VT_LOCK_INIT(VT_LOCK_POOL);
static unsigned long guarded[2]; /* plain on purpose: only the lock keeps it whole */

static void *add_many(void *unused) {
    for (int i = 0; i < N_TURNS; i++) {
        vt_lock(&lock);
        guarded[0]++;
        guarded[1]++;
        vt_unlock(&lock);
    }
    return unused;
}

TEST(lock, no_increment_is_lost_under_contention) {
    pthread_t id[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&id[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(id[i], NULL);
    assert_int_equal(guarded[0], N_THREADS * N_TURNS);
    assert_int_equal(guarded[1], N_THREADS * N_TURNS);
    assert_int_equal(atomic_load(&lock.word), 0);
}

static _Atomic int n_through;

static void *pass_once(void *unused) {
    vt_lock(&lock);
    atomic_fetch_add(&n_through, 1);
    vt_unlock(&lock);
    return unused;
}

TEST(lock, every_sleeper_is_woken_by_somebody) {
    pthread_t id[N_THREADS];
    for (int turn = 0; turn < 50; turn++) {
        vt_lock(&lock);
        for (int i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_create(&id[i], NULL, pass_once, NULL), 0);
        while (atomic_load(&lock.word) != 2) vt_pause(); /* at least one went to sleep */
        vt_unlock(&lock);
        for (int i = 0; i < N_THREADS; i++) pthread_join(id[i], NULL);
    }
    assert_int_equal(atomic_load(&n_through), 50 * N_THREADS);
    assert_int_equal(atomic_load(&lock.word), 0);
}

static struct vt_lock lower = VT_LOCK_INIT(VT_LOCK_HEAPS);
static struct vt_lock higher = VT_LOCK_INIT(VT_LOCK_ARENA);

static void take_downwards(void *unused) {
    (void)unused;
    vt_lock(&higher);
    vt_lock(&lower);
}

static void take_upwards(void *unused) {
    (void)unused;
    vt_lock(&lower);
    vt_lock(&higher);
    vt_unlock(&lower); /* given back in any order */
    vt_unlock(&higher);
    vt_lock(&lower);
    vt_unlock(&lower);
}

TEST(lock, taking_a_lower_rank_while_holding_a_higher_one_ends_the_audit_build) {
    unit_dies_saying(take_downwards, NULL, "audit failed");
}

static struct vt_lock first = VT_LOCK_INIT(VT_LOCK_START);
_Static_assert(VT_LOCK_ARENA >= 64, "a word of bits apart from the first rank");

static void take_first_and_last(void *unused) {
    (void)unused;
    vt_lock(&first);
    vt_lock(&higher);
    vt_unlock(&first);
    vt_unlock(&higher);
    vt_lock(&first);
    vt_unlock(&first);
}

TEST(lock, ranks_that_are_a_word_apart_are_told_apart) {
    int status;
    assert_string_equal(unit_stderr_of(take_first_and_last, NULL, &status), "");
    assert_int_equal(status, 0);
}

TEST(lock, taking_ranks_upwards_is_fine) {
    int status;
    assert_string_equal(unit_stderr_of(take_upwards, NULL, &status), "");
    assert_int_equal(status, 0);
}

/* As a fork's parent and child between them: taken here, and given up by a reset there. */
static void take_and_reset(void *unused) {
    (void)unused;
    vt_lock(&lower);
    vt_lock(&higher);
    vt_lock_reset(&higher);
    vt_lock_reset(&lower);
    take_upwards(NULL); /* free again, and the audit build knows it */
}

TEST(lock, locks_that_were_reset_can_be_used_again) {
    int status;
    assert_string_equal(unit_stderr_of(take_and_reset, NULL, &status), "");
    assert_int_equal(status, 0);
}

UNIT_MAIN()
