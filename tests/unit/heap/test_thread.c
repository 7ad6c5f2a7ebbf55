/* test_thread.c - heaps and the threads that come and go: one per thread, handed on, adopted, borrowed at the very end. */
#include "look.h"

#include "heap/upcalls.h"
#include "probe/impl.h"

/* glibc keeps the values of the first 32 keys in the thread, and callocs a table for later ones: being told of a thread's end
 * then allocates in the middle of attaching. */
static bool attaching_allocates;
static void *key_table;

static bool attached_and_allocated(void) {
    if (attaching_allocates && (key_table = vt__calloc(32, 16)) == NULL) return false;
    return vt__life_thread_attached();
}

#define vt__life_thread_attached attached_and_allocated
#include "heap/thread.c"
#undef vt__life_thread_attached

static void *use_a_little(void *unused) {
    vt__free(vt__malloc(100));
    return unused;
}

TEST(thread, threads_one_after_the_other_share_one_heap) {
    vt__free(vt__malloc(1));
    unit_in_thread(use_a_little, NULL);
    uint64_t n_heaps = stats_now().n_heaps;
    for (int i = 0; i < 200; i++) unit_in_thread(use_a_little, NULL);
    assert_int_equal(stats_now().n_heaps, n_heaps);
    assert_int_equal(stats_now().n_threads, 1);
}

static pthread_barrier_t all_there;

static void *use_and_wait(void *unused) {
    void *p = vt__malloc(100);
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    vt__free(p);
    return unused;
}

TEST(thread, threads_at_once_have_a_heap_each_and_leave_all_of_them_for_later_ones) {
    pthread_t id[12];
    vt__free(vt__malloc(1));
    pthread_barrier_init(&all_there, NULL, 13);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 12; i++)
            assert_int_equal(pthread_create(&id[i], NULL, use_and_wait, NULL), 0);
        pthread_barrier_wait(&all_there);
        assert_int_equal(stats_now().n_threads, 13);
        assert_true(stats_now().n_heaps <= 13 + 1); /* and one that threads share */
        pthread_barrier_wait(&all_there);
        for (int i = 0; i < 12; i++) pthread_join(id[i], NULL);
        assert_int_equal(stats_now().n_threads, 1);
    }
}

static void *only_free(void *p) {
    vt__free(p);
    return NULL;
}

TEST(thread, a_thread_that_only_frees_leaves_nothing_behind) {
    uint64_t n_heaps = 0;
    for (int i = 0; i < 20; i++) {
        unit_in_thread(only_free, vt__malloc(100));
        if (i == 0) n_heaps = stats_now().n_heaps;
    }
    assert_int_equal(stats_now().n_heaps, n_heaps);
    assert_int_equal(stats_now().n_threads, 1);
    assert_int_equal(stats_now().allocated, 0);
}

static void *leave_half_full(void *blocks) {
    struct blocks *b = blocks;
    *b = take_blocks(b->n, b->n_bytes);
    for (size_t i = 0; i < b->n; i += 2) vt__free(b->at[i]);
    return NULL;
}

TEST(thread, slabs_of_a_thread_that_ended_are_adopted_before_new_memory_is_taken) {
    static const size_t rows[] = {16, 400, 3000, 7000};
    vt__free(vt__malloc(1));
    for (size_t i = 0; i < vt_countof(rows); i++) {
        struct blocks b = {NULL, 8u * class_row(rows[i])->capacity, rows[i]};
        vt__heap_release_all();
        unit_in_thread(leave_half_full, &b);
        size_t before = n_used_slices();
        struct blocks mine = take_blocks(b.n / 2 - class_row(rows[i])->capacity, rows[i]);
        assert_true_msg(n_used_slices() <= before,
                        "%zu bytes: expected at most %zu slices, seen %zu", rows[i], before,
                        n_used_slices());
        for (size_t k = 1; k < b.n; k += 2) assert_ptr_equal(*(void **)b.at[k], b.at[k]);
        for (size_t k = 1; k < b.n; k += 2) vt__free(b.at[k]);
        free_blocks(mine);
        vt__heap_audit();
    }
}

TEST(thread, everything_a_thread_used_goes_back_when_it_ends) {
    size_t before = 0;
    vt__free(vt__malloc(1));
    for (int turn = 0; turn < 3; turn++) {
        struct blocks b = {NULL, 5000, 100};
        unit_in_thread(leave_half_full, &b);
        for (size_t i = 1; i < b.n; i += 2) vt__free(b.at[i]);
        vt__heap_release_all();
        if (turn == 0) before = n_used_slices(); /* a slab for threads to share is there to stay */
    }
    assert_int_equal(n_used_slices(), before);
}

/* ---- heaps that wait warm ---- */

static void *use_some(void *n_blocks) {
    for (size_t n_bytes = 64; n_bytes <= 1024; n_bytes += 64)
        free_blocks(take_blocks(*(size_t *)n_blocks, n_bytes));
    return NULL;
}

static size_t n_with_lists(void) {
    size_t n = 0, n_bytes = 0;
    for (const struct heap *h = heaps.pool; h != NULL; h = h->pool_next) {
        bool has_some = false;
        for (unsigned c = 0; c < VT_N_SMALL; c++) has_some |= h->bin[c].current != 0;
        assert_int_equal(h->warm_bytes != 0, has_some);
        n += has_some;
        n_bytes += h->warm_bytes;
    }
    assert_int_equal(n_bytes, heaps.warm_bytes);
    return n;
}

TEST(thread, a_thread_finds_the_lists_of_the_one_before_it) {
    size_t n_blocks = 2;
    vt__free(vt__malloc(1));
    for (int i = 0; i < 8; i++) unit_in_thread(use_some, &n_blocks);
    assert_int_equal(n_with_lists(), 1);
    uint32_t n_refills = heaps.pool->n_refills;
    for (int i = 0; i < 20; i++) unit_in_thread(use_some, &n_blocks);
    n_refills = heaps.pool->n_refills - n_refills; /* each of 20 threads uses 16 classes */
    assert_true_msg(n_refills < 160, "%u refills", n_refills);
}

TEST(thread, a_thread_that_used_much_leaves_no_lists) {
    size_t n_blocks = 2000;
    vt__free(vt__malloc(1));
    unit_in_thread(use_some, &n_blocks);
    assert_non_null(heaps.pool);
    assert_int_equal(n_with_lists(), 0);
}

static void *use_some_and_wait(void *n_blocks) {
    use_some(n_blocks);
    pthread_barrier_wait(&all_there);
    return NULL;
}

TEST(thread, few_heaps_wait_warm_and_none_when_memory_is_asked_back) {
    enum { N = 24 };
    pthread_t id[N];
    size_t n_blocks = 16; /* 136 KiB of each */
    vt__free(vt__malloc(1));
    pthread_barrier_init(&all_there, NULL, N);
    for (int i = 0; i < N; i++)
        assert_int_equal(pthread_create(&id[i], NULL, use_some_and_wait, &n_blocks), 0);
    for (int i = 0; i < N; i++) pthread_join(id[i], NULL);
    size_t n = n_with_lists();
    assert_true_msg(n > 3 && n < 12, "%zu", n);
    assert_true_msg(heaps.warm_bytes <= WARM_BYTES_ALL + 2 * WARM_BYTES, /* some may pass at once */
                    "%zu", (size_t)heaps.warm_bytes);
    vt__heap_release_all();
    assert_int_equal(n_with_lists(), 0);
}

TEST(thread, the_current_slab_of_a_heap_that_waits_is_adopted) {
    size_t n_blocks = 8;
    vt__free(vt__malloc(1));
    unit_in_thread(use_some, &n_blocks);
    const struct heap *warm = heaps.pool;
    unsigned cls = vt__class_of(512);
    slab_id theirs = warm->bin[cls].current;
    assert_int_not_equal(theirs, 0);
    void *p = vt__malloc(512);
    assert_int_equal(vt__tls.real->bin[cls].current, theirs);
    assert_int_equal(warm->bin[cls].current, 0);
    assert_true(warm->list[cls] == &vt__nil);
    vt__heap_audit();
    vt__free(p);
}

/* ---- after the end: destructors of other keys go on allocating ---- */

#define N_LATE_THREADS (UNIT_HAS_SHADOW ? 3 : 20)
static pthread_key_t late_key;
static _Atomic int n_late_rounds;

static void allocate_late(void *value) {
    static const size_t rows[] = {0, 1, 100, 1024, 1025, 9000, 65536, 65537, MiB(2), MiB(5)};
    void *at[vt_countof(rows) * 3];
    size_t n = 0;
    atomic_fetch_add(&n_late_rounds, 1);
    for (size_t i = 0; i < vt_countof(rows); i++) {
        at[n++] = fill(vt__malloc(rows[i]), rows[i]);
        at[n] = vt__calloc(1, rows[i]);
        check_zero(at[n++], rows[i]);
        at[n++] = vt__aligned_alloc(4096, rows[i]);
    }
    for (size_t i = 0; i < vt_countof(rows); i++) check_filled(at[i * 3], at[i * 3], rows[i]);
    at[0] = vt__realloc(at[0], 5000);
    at[3] = vt__realloc(at[3], 500000);
    for (size_t i = 0; i < n; i++) vt__free(at[i]);
#ifdef VT_FLAVOUR_tsan
    (void)
        value; /* the sanitizer's own end of a thread comes in the last rounds, and nothing may follow it */
#else
    pthread_setspecific(late_key, value); /* once more, as long as libc goes round */
#endif
}

static void *arm_late(void *unused) {
    vt__free(vt__malloc(10));
    pthread_setspecific(late_key, &late_key);
    return unused;
}

TEST(thread, a_thread_may_allocate_in_every_round_of_destructors) {
    assert_int_equal(pthread_key_create(&late_key, allocate_late),
                     0); /* before ours: runs first in each round */
    for (int i = 0; i < N_LATE_THREADS; i++) unit_in_thread(arm_late, NULL);
#ifndef VT_FLAVOUR_tsan
    assert_true(atomic_load(&n_late_rounds) >= N_LATE_THREADS * 4);
#endif
    unit_in_thread(use_a_little, NULL);
    assert_int_equal(
        stats_now().n_threads,
        0); /* this thread never allocated; no heap stayed with a thread that is gone */
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    assert_int_equal(stats_now().allocated, 0);
}

TEST(thread, a_destructor_that_runs_after_ours_may_allocate_too) {
    vt__free(vt__malloc(1));
    assert_int_equal(pthread_key_create(&late_key, allocate_late), 0); /* after ours */
    for (int i = 0; i < N_LATE_THREADS; i++) unit_in_thread(arm_late, NULL);
    assert_int_equal(stats_now().n_threads, 1);
    vt__heap_release_all();
    assert_int_equal(stats_now().allocated, 0);
}

TEST(thread, a_heap_that_was_borrowed_is_not_borrowed_by_its_next_thread) {
    vt__free(vt__malloc(1));
    struct heap *h = vt__tls.real;
    h->is_borrowed = true; /* as its last thread left it */
    vt__heap_detach_thread();
    attaching_allocates = true;
    void *p = vt__malloc(1);
    assert_ptr_equal(vt__tls.real, h); /* ours, and not in the pool as well */
    assert_false(h->is_borrowed);
    assert_int_equal(atomic_load(&h->state), HEAP_LIVE);
    vt__free(p);
    vt__free(key_table);
}

/* ---- fork ---- */

static _Atomic bool is_over;

static void *churn(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    void *at[64] = {NULL};
    while (!atomic_load(&is_over)) {
        uint64_t r = unit_random(&rng);
        vt__free(at[r % 64]);
        at[r % 64] = vt__malloc((r >> 8) % (r % 32 == 0 ? 300000 : 2000));
    }
    for (int i = 0; i < 64; i++) vt__free(at[i]);
    return NULL;
}

static void allocate_in_child(void *blocks) {
    struct blocks *inherited = blocks;
    for (size_t i = 0; i < inherited->n; i++)
        assert_ptr_equal(*(void **)inherited->at[i], inherited->at[i]);
    for (size_t i = 0; i < inherited->n; i++) vt__free(inherited->at[i]);
    for (int i = 0; i < 3; i++) free_blocks(take_blocks(3000, 100));
    vt__free(vt__malloc(MiB(3)));
#if !UNIT_HAS_SHADOW /* a sanitizer's own locks may be held at the fork */
    unit_in_thread(use_a_little, NULL);
#endif
    vt__heap_audit();
    vt__heap_release_all();
}

TEST(thread, the_child_of_a_fork_goes_on_while_others_were_allocating) {
    pthread_t id[2];
    struct blocks b = take_blocks(500, 200);
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&id[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < (UNIT_HAS_SHADOW ? 3 : 15); i++) {
        int status;
        const char *said = unit_stderr_of(allocate_in_child, &b, &status);
        if (status != 0)
            fail_msg("child %d: expected status 0, seen 0x%x: %s", i, (unsigned)status, said);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    vt__heap_audit();
}

/* A handler of the program that forks as well, while our locks are held for the fork around it. */
TEST(thread, a_fork_in_a_handler_of_a_fork_does_not_let_go_of_the_locks) {
    vt__free(vt__malloc(1));
    vt__heap_fork_prepare();
    vt__heap_fork_prepare();
    vt__heap_fork_done(/* is_child */ false);
    assert_int_not_equal(atomic_load(&vt__heaps_lock.word), 0);
    assert_int_not_equal(atomic_load(&vt__pool.lock.word), 0);
    vt__free(vt__malloc(100000)); /* handlers may allocate */
    vt__heap_fork_done(/* is_child */ false);
    assert_int_equal(atomic_load(&vt__heaps_lock.word), 0);
    assert_int_equal(atomic_load(&vt__pool.lock.word), 0);
    unit_in_thread(use_a_little, NULL);
}

/* ---- signal handlers that come in the middle of a slow path ---- */

TEST(thread, a_handler_that_forks_in_a_slow_path_does_not_wait_for_itself) {
    vt__free(vt__malloc(1));
    assert_true(vt__enter());
    vt_lock(&vt__heaps_lock); /* where the slow path was interrupted */
    vt__heap_fork_prepare();
    vt__heap_fork_done(/* is_child */ false);
    vt__heap_fork_prepare();
    vt__heap_fork_done(/* is_child */ true);
    assert_int_not_equal(atomic_load(&vt__heaps_lock.word), 0); /* still the slow path's, in both */
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    vt__free(vt__malloc(100000));
}

static void *attach_while_busy(void *unused) {
    assert_true(vt__enter()); /* this thread is in a slow path, and has no heap yet */
    vt_lock(&vt__heaps_lock);
    errno = 0;
    assert_null(vt__malloc(100));
    assert_int_equal(errno, ENOMEM);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    vt__free(vt__malloc(100));
    return unused;
}

static pthread_t who_forks;
static _Atomic bool heaps_are_locked, is_handled;

static void ask_the_probes(int number) {
    struct vt_sample_totals t;
    (void)number;
    vt__sample_totals(&t); /* takes the probes' lock, if that may be waited for */
    atomic_store(&is_handled, true);
}

/* Holds one of the locks that fork takes, until a handler has run in the thread that waits for it and has the one before. */
static void *hold_up_the_fork(void *unused) {
    assert_true(vt__enter());
    vt_lock(&vt__heaps_lock);
    atomic_store(&heaps_are_locked, true);
    while (atomic_load(&vt__probe_lock.word) == 0) usleep(1000);
    pthread_kill(who_forks, SIGUSR1);
    while (!atomic_load(&is_handled)) usleep(1000);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    return unused;
}

TEST(thread, a_handler_that_comes_while_fork_takes_the_locks_does_not_wait_for_its_own_thread) {
    pthread_t id;
    vt__free(vt__malloc(1));
    signal(SIGUSR1, ask_the_probes);
    who_forks = pthread_self();
    assert_int_equal(pthread_create(&id, NULL, hold_up_the_fork, NULL), 0);
    while (!atomic_load(&heaps_are_locked)) usleep(1000);
    alarm(20);
    pid_t pid = fork();
    if (pid ==
        0) { /* by a signal: at _exit the thread sanitizer would miss the thread that is not here */
        if (vt__malloc(100000) != NULL) raise(SIGKILL);
        _exit(1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    pthread_join(id, NULL);
    assert_true(atomic_load(&is_handled));
}

TEST(thread, a_handler_that_allocates_while_its_thread_attaches_does_not_wait_for_itself) {
    vt__free(vt__malloc(1));
    unit_in_thread(attach_while_busy, NULL);
}

/* Whatever it frees first: a thread that only frees sends its blocks in batches, and leaves none behind. */
static void *free_all_of(void *blocks) {
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    assert_non_null(vt__tls.real);
    assert_false(vt__tls.real->is_borrowed);
    return NULL;
}

TEST(thread, a_thread_that_only_frees_is_noticed_when_it_ends) {
    struct blocks b = take_blocks(100, 200);
    attaching_allocates = true;
    unit_in_thread(free_all_of, &b);
    assert_int_equal(stats_now().n_threads, 1);
    vt__free(key_table);
    vt__heap_release_all();
    assert_int_equal(stats_now().allocated, 0);
}

UNIT_MAIN()
