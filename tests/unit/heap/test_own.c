/* test_own.c - heaps beside the threads': all of it goes at once, or moves on, and no block is lost or given twice. */
#include "look.h"

#include "heap/own.c"
#include "probe/probe.h"

static void start_empty(void) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
}

static void *take_from(struct vt_own *o, size_t n_bytes) {
    void *p = vt__own_alloc(o, 16, n_bytes, /* zero */ false);
    assert_non_null(p);
    return fill(p, n_bytes);
}

static const size_t sizes[] = {0,    1,     16,    100,   1024,   1025,
                               5000, 40000, 65536, 65537, 300000, 5000000};

TEST(own, its_blocks_hold_what_was_written_and_are_freed_by_anybody) {
    start_empty();
    struct vt_own *o = vt__own_new();
    void *at[vt_countof(sizes)];
    size_t before = n_used_slices();
    for (unsigned i = 0; i < vt_countof(sizes); i++) at[i] = take_from(o, sizes[i]);
    for (unsigned i = 0; i < vt_countof(sizes); i++) {
        check_filled(at[i], at[i], sizes[i]);
        assert_ptr_equal(vt__own_of(at[i]), o);
        assert_true(vt__usable_size(at[i]) >= sizes[i]);
        vt__own_audit(o);
        vt__free(at[i]);
    }
    vt__own_audit(o);
    vt__own_collect(o);
    assert_int_equal(n_used_slices(), before);
    vt__own_destroy(o);
}

TEST(own, blocks_of_the_thread_are_in_no_such_heap) {
    void *p = vt__malloc(100), *large = vt__malloc(300000);
    assert_null(vt__own_of(p));
    assert_null(vt__own_of(large));
    assert_null(vt__own_of(&p));
    assert_null(vt__own_of(NULL));
    vt__free(p);
    vt__free(large);
}

static void add_run(void *arg, size_t n_bytes) { *(size_t *)arg += n_bytes; }

static size_t n_live(struct vt_own *o, uint64_t *n_taken, size_t *run_bytes) {
    static struct vt_own_stats s;
    size_t n = 0;
    *n_taken = *run_bytes = 0;
    vt__own_stats(o, &s, add_run, run_bytes);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        n += s.classes[c].n_live;
        *n_taken += s.n_taken[c];
    }
    *n_taken += s.n_runs_taken;
    return n;
}

TEST(own, resetting_frees_all_and_the_heap_stays) {
    start_empty();
    size_t before = n_used_slices(), run_bytes;
    struct vt_own *o = vt__own_new_counted();
    uint64_t n_taken;
    for (unsigned round = 1; round <= 3; round++) {
        for (unsigned i = 0; i < 1000; i++) take_from(o, i * 3);
        vt__free(take_from(o, 50));
        take_from(o, 300000);
        assert_int_equal(n_live(o, &n_taken, &run_bytes), 1000);
        assert_int_equal(n_taken, round * 1002);
        assert_true(run_bytes >= 300000 && run_bytes < 310000);
        vt__own_audit(o);
        vt__own_reset(o);
        assert_int_equal(n_live(o, &n_taken, &run_bytes), 0);
        assert_int_equal(n_taken, round * 1002);
        assert_int_equal(run_bytes, 0);
        assert_int_equal(n_used_slices(), before);
    }
    vt__own_destroy(o);
    o = vt__own_new_counted(); /* the same one, as if it were new */
    assert_int_equal(n_live(o, &n_taken, &run_bytes), 0);
    assert_int_equal(n_taken, 0);
    vt__own_destroy(o);
    vt__heap_audit();
}

TEST(own, destroying_gives_all_back_though_blocks_are_in_use) {
    start_empty();
    size_t before = n_used_slices();
    struct vt_own *o = vt__own_new();
    for (unsigned i = 0; i < 5000; i++) take_from(o, sizes[i % (vt_countof(sizes) - 1)] % 3000);
    for (unsigned i = 0; i < vt_countof(sizes); i++) take_from(o, sizes[i]);
    assert_true(n_used_slices() > before + 100);
    vt__own_audit(o);
    vt__own_destroy(o);
    assert_int_equal(n_used_slices(), before);
    vt__heap_audit();
    assert_ptr_equal(vt__own_new(), o); /* used again */
}

TEST(own, deleting_leaves_blocks_in_use_alone) {
    start_empty();
    struct vt_own *o = vt__own_new();
    enum { N = 3000 };
    static void *at[N];
    for (unsigned i = 0; i < N; i++) at[i] = take_from(o, 1 + i * 7 % 3000);
    void *large = take_from(o, 300000);
    for (unsigned i = 0; i < N; i += 3) vt__free(at[i]);
    vt__own_delete(o);
    vt__heap_audit();
    for (unsigned i = 0; i < N; i++)
        if (i % 3 != 0) check_filled(at[i], at[i], 1 + i * 7 % 3000);
    check_filled(large, large, 300000);
    assert_null(vt__own_of(large));
    for (unsigned i = 0; i < N; i++)
        if (i % 3 != 0) vt__free(at[i]);
    vt__free(large);
    vt__heap_audit();
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

TEST(own, memory_that_came_with_a_deleted_heap_is_used_by_the_thread) {
    start_empty();
    struct vt_own *o = vt__own_new();
    void *kept = take_from(o, 64);
    vt__own_delete(o);
    size_t before = n_used_slices();
    struct blocks b = take_blocks(100, 64);
    assert_int_equal(n_used_slices(), before);
    free_blocks(b);
    vt__free(kept);
}

TEST(own, aligned_and_zeroed_blocks_are_that) {
    struct vt_own *o = vt__own_new();
    for (unsigned round = 0; round < 3; round++)
        for (size_t align = 1; align <= MiB(4); align *= 2)
            for (unsigned i = 0; i < vt_countof(sizes) - 1; i++) {
                void *p = vt__own_alloc(o, align, sizes[i], /* zero */ true);
                assert_non_null(p);
                assert_int_equal((uintptr_t)p % vt_max(align, 16), 0);
                size_t usable = vt__usable_size(p);
                assert_true(usable >= sizes[i]);
                check_zero(p, vt_min(usable, 70000));
                memset(p, 0xaa, vt_min(usable, 70000));
                if (round < 2) vt__free(p);
            }
    vt__own_audit(o);
    vt__own_destroy(o);
}

TEST(own, a_block_may_begin_behind_the_start_of_its_run) {
    struct vt_own *o = vt__own_new();
    for (unsigned i = 0; i < vt_countof(sizes); i++)
        for (size_t skipped = 0; skipped < VT_SLICE; skipped = skipped * 3 + 8) {
            void *p = i % 2 == 0 ? vt__own_alloc_behind(o, skipped, sizes[i], true)
                                 : vt__alloc_behind(skipped, sizes[i], true);
            assert_int_equal((uintptr_t)p % VT_SLICE, skipped);
            assert_true(vt__usable_size(p) >= sizes[i]);
            assert_true(vt__own_of(p) == (i % 2 == 0 ? o : NULL));
            check_zero(p, vt_min(vt__usable_size(p), 70000));
            fill(p, sizes[i]);
            void *to = vt__realloc(p, sizes[i] + 100000);
            check_filled(to, p, sizes[i]);
            if (to != p || i % 2 != 0) vt__free(to);
        }
    void *kept = vt__own_alloc_behind(o, 24, 100, false);
    struct vt_own_area a;
    assert_true(vt__own_area(o, 0, &a));
    assert_ptr_equal(a.at, kept);
    vt__own_destroy(o);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

TEST(own, what_cannot_be_is_refused) {
    struct vt_own *o = vt__own_new();
    errno = 0;
    assert_null(vt__own_alloc(o, 16, (size_t)PTRDIFF_MAX + 1, false));
    assert_int_equal(errno, ENOMEM);
    assert_null(vt__own_alloc(o, 16, TiB(100), false));
    assert_null(vt__own_alloc(o, (size_t)1 << 62, 1, false));
    vt__own_destroy(o);
}

TEST_WITH(own, no_memory_is_told_and_harms_nothing, "VITRINE_LIMIT=64M") {
    start_empty();
    struct vt_own *o = vt__own_new();
    unsigned n = 0;
    while (n < 100000 && vt__own_alloc(o, 16, 5000, false) != NULL) n++;
    assert_true(n > 1000 && n < 100000);
    assert_int_equal(errno, ENOMEM);
    vt__own_audit(o);
    vt__own_destroy(o);
    assert_int_equal(n_used_slices(), 0);
    vt__free(vt__malloc(5000));
}

/* ---- realloc, by the thread's name ---- */

TEST(own, realloc_keeps_what_is_in_it) {
    struct vt_own *o = vt__own_new();
    for (unsigned i = 1; i < vt_countof(sizes) - 1; i++) {
        void *p = take_from(o, sizes[i]);
        void *to = vt__realloc(p, sizes[i] * 3);
        check_filled(to, p, sizes[i]);
        vt__free(to);
    }
    void *huge = take_from(o, MiB(3)); /* its pages may move */
    void *moved = vt__realloc(huge, MiB(40));
    check_filled(moved, huge, MiB(3));
    vt__own_audit(o);
    vt__own_destroy(o);
    if (moved == huge) return; /* it grew where it was: gone with its heap */
    vt__free(moved);
}

/* ---- mistakes ---- */

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

static bool dies(void (*f)(void *), void *arg) {
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        f(arg);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(own, a_second_free_is_noticed) {
    struct vt_own *o = vt__own_new();
    for (unsigned i = 1; i < vt_countof(sizes); i++) {
        void *p = take_from(o, sizes[i]), *other = take_from(o, sizes[i]);
        assert_true(dies(free_twice, p));
        assert_true(dies(vt__free, (char *)p + (sizes[i] > 16 ? 16 : 8)));
        vt__free(other);
        vt__free(p);
    }
    vt__own_destroy(o);
}

/* ---- threads ---- */

#define N_SLOTS 64
static _Atomic(void *) slots[N_SLOTS];
static struct vt_own *shared;

static void *swap_blocks(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t r = unit_random(&rng);
        size_t n = r % 50 == 0 ? 70000 : r % 8 == 0 ? 3000 : 16 + (r >> 8) % 500;
        uint64_t *p = vt__own_alloc(shared, 16, n, false);
        assert_non_null(p);
        p[0] = p[1] = (uintptr_t)p;
        uint64_t *old = atomic_exchange(&slots[(r >> 32) % N_SLOTS], p);
        if (old == NULL) continue;
        assert_int_equal(old[0], (uintptr_t)old);
        assert_int_equal(old[1], (uintptr_t)old);
        vt__free(old);
    }
    return NULL;
}

TEST(own, threads_share_one) {
    enum { N = 4 };
    pthread_t id[N];
    start_empty();
    shared = vt__own_new();
    for (uintptr_t i = 0; i < N; i++) pthread_create(&id[i], NULL, swap_blocks, (void *)(i + 1));
    for (unsigned i = 0; i < N; i++) pthread_join(id[i], NULL);
    vt__own_audit(shared);
    vt__own_destroy(shared);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

/* A heap is deleted while other threads free what they hold of it. */
struct handful {
    void *at[400];
};

static void *free_handful(void *arg) {
    struct handful *f = arg;
    for (unsigned i = 0; i < vt_countof(f->at); i++) vt__free(f->at[i]);
    return NULL;
}

TEST(own, others_may_free_while_it_is_deleted) {
    enum { N = 3 };
    static struct handful hands[N];
    for (unsigned round = 0; round < 40; round++) {
        pthread_t id[N];
        struct vt_own *o = vt__own_new();
        for (unsigned i = 0; i < vt_countof(hands[0].at); i++)
            for (unsigned k = 0; k < N; k++)
                hands[k].at[i] = take_from(o, i % 40 == 0 ? 70000 : i % 8 == 0 ? 2000 : 48);
        for (unsigned k = 0; k < N; k++) pthread_create(&id[k], NULL, free_handful, &hands[k]);
        vt__own_delete(o);
        for (unsigned k = 0; k < N; k++) pthread_join(id[k], NULL);
        vt__heap_audit();
    }
    vt__heap_release_all();
}

/* ---- what threads keep at hand ---- */

static size_t n_in_use(struct vt_own *o) {
    struct vt_own_area a;
    size_t n_used = 0;
    for (size_t n = 0; vt__own_area(o, n, &a); n++) n_used += a.n_used;
    return n_used;
}

TEST(own, what_a_thread_keeps_is_not_in_use_and_is_given_again) {
    start_empty();
    struct vt_own *o = vt__own_new();
    static void *at[50];
    for (unsigned i = 0; i < 50; i++) at[i] = take_from(o, 64);
    struct slab *s = slab_of(at[0]);
    assert_int_equal(n_in_use(o), 50);
    for (unsigned i = 0; i < 50; i++) vt__free(at[i]);
    assert_int_equal(n_in_use(o), 0);
    uint32_t n_out = s->room;
    assert_true(n_out > 0); /* for the slab they are still out */
    unsigned n_moved = 0;
    for (unsigned i = 0; i < 1000; i++) {
        void *p = take_from(o, 64);
        n_moved += s->room != n_out; /* the slow path, which comes now and then */
        vt__free(p);
        n_out = s->room;
    }
    assert_true(n_moved < 1000 / 8);
    vt__own_collect(o);
    vt__own_destroy(o);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

TEST(own, what_a_thread_keeps_counts_as_cached) {
    start_empty();
    struct vt_own *o = vt__own_new();
    void *at[20];
    for (unsigned i = 0; i < vt_countof(at); i++) at[i] = take_from(o, 100);
    assert_int_equal(stats_now().allocated, 20 * 112);
    for (unsigned i = 0; i < vt_countof(at); i++) vt__free(at[i]);
    assert_int_equal(stats_now().allocated, 0);
    assert_in_range(stats_now().cached, 20 * 112, MiB(1));
    struct blocks others = take_blocks(100, 100);
    vt__own_destroy(o); /* what is kept of it is void, and counts no more */
    assert_int_equal(stats_now().allocated, 100 * 112);
    free_blocks(others);
}

TEST(own, a_thread_keeps_only_so_much) {
    struct vt_own *o = vt__own_new();
    static void *at[5000];
    for (unsigned i = 0; i < 5000; i++) at[i] = take_from(o, 32);
    for (unsigned i = 0; i < 5000; i++) vt__free(at[i]);
    const struct own_shelf *f = &own_cache_place(vt__tls.real, o)->shelf[vt__class_of(32)];
    assert_true(f->room > 0 && f->room <= f->max && f->max <= 128);
    vt__own_audit(o);
    vt__own_destroy(o);
}

TEST(own, more_heaps_than_places_for_them) {
    enum { N_HEAPS = 11, N = 300 };
    static struct vt_own *heap[N_HEAPS];
    static void *at[N];
    static size_t size[N];
    uint64_t rng = 7;
    start_empty();
    for (unsigned i = 0; i < N_HEAPS; i++) heap[i] = vt__own_new();
    for (unsigned round = 0; round < 30000; round++) {
        uint64_t r = unit_random(&rng);
        unsigned k = r % N;
        if (at[k] != NULL) {
            check_filled(at[k], at[k], size[k]);
            vt__free(at[k]);
        }
        size[k] = 1 + (r >> 16) % 1100;
        at[k] = take_from(heap[(r >> 40) % 100 < 80 ? 0 : (r >> 48) % N_HEAPS], size[k]);
    }
    for (unsigned i = 0; i < N_HEAPS; i++) vt__own_audit(heap[i]);
    for (unsigned i = 0; i < N_HEAPS; i++) vt__own_destroy(heap[i]);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

/* A thread that keeps blocks of `shared`, and goes on when it is told. */
static _Atomic int step;

static void wait_for(int n) {
    while (atomic_load(&step) < n) sched_yield();
}

static void *keep_and_go_on(void *uses_it_again) {
    static void *at[200];
    for (unsigned i = 0; i < 200; i++) at[i] = take_from(shared, 16 * (1 + i % 8));
    for (unsigned i = 0; i < 200; i++) vt__free(at[i]);
    atomic_store(&step, 1);
    wait_for(2);
    if (uses_it_again == NULL) return NULL;
    for (unsigned i = 0; i < 200; i++) at[i] = take_from(shared, 16 * (1 + i % 8));
    for (unsigned i = 0; i < 200; i++) check_filled(at[i], at[i], 16 * (1 + i % 8));
    for (unsigned i = 0; i < 200; i++) vt__free(at[i]);
    return NULL;
}

/* A new heap, and a thread that keeps blocks of it until it may end. */
static pthread_t share_with_a_keeper(void *uses_it_again) {
    pthread_t id;
    start_empty();
    shared = vt__own_new();
    assert_int_equal(pthread_create(&id, NULL, keep_and_go_on, uses_it_again), 0);
    wait_for(1);
    return id;
}

static void end_keeper(pthread_t id) {
    atomic_store(&step, 2);
    pthread_join(id, NULL);
}

TEST(own, a_deleted_heap_goes_when_the_last_thread_that_kept_blocks_of_it_is_gone) {
    pthread_t id = share_with_a_keeper(NULL);
    void *mine = take_from(shared, 16);
    vt__own_delete(shared);
    struct vt_own *other = vt__own_new();
    assert_ptr_not_equal(other, shared); /* it still has slabs */
    check_filled(mine, mine, 16);
    vt__free(mine);
    end_keeper(id);
    assert_ptr_equal(vt__own_new(), shared);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

TEST(own, what_a_thread_keeps_of_a_destroyed_heap_is_void) {
    static void *at[3000];
    pthread_t id = share_with_a_keeper((void *)1);
    vt__own_destroy(shared);
    assert_ptr_equal(vt__own_new(), shared);
    for (unsigned i = 0; i < 3000; i++) at[i] = take_from(shared, 16 * (1 + i % 8));
    end_keeper(id);
    for (unsigned i = 0; i < 3000; i++) check_filled(at[i], at[i], 16 * (1 + i % 8));
    assert_int_equal(n_in_use(shared), 3000);
    for (unsigned i = 0; i < 3000; i++) vt__free(at[i]);
    assert_int_equal(n_in_use(shared), 0);
    vt__own_audit(shared);
    vt__own_destroy(shared);
}

TEST(own, a_thread_may_end_after_a_heap_was_destroyed_that_it_kept_blocks_of) {
    pthread_t id = share_with_a_keeper(NULL);
    vt__own_destroy(shared);
    struct blocks b = take_blocks(5000, 64); /* where the heap's were */
    end_keeper(id);
    vt__heap_audit();
    assert_ptr_equal(vt__own_new(), shared);
    vt__own_audit(shared);
    assert_int_equal(n_in_use(shared), 0);
    free_blocks(b);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), 0);
}

TEST(own, memory_of_a_destroyed_heap_is_as_good_as_any_though_marks_are_in_it) {
    static void *at[20000];
    pthread_t id = share_with_a_keeper(NULL);
    vt__own_destroy(shared);
    shared = vt__own_new();
    for (unsigned i = 0; i < 20000; i++) /* what is in them is not ours */
        at[i] = i % 2 == 0 ? vt__malloc(16 * (1 + i % 8)) : vt__own_alloc(shared, 16, 16, false);
    end_keeper(id);
    for (unsigned i = 0; i < 20000; i++) vt__free(at[i]);
    vt__own_destroy(shared);
    vt__heap_audit();
}

TEST_WITH(own, blocks_that_are_kept_and_given_again_are_sampled_as_any, "VITRINE_SAMPLE=4K") {
    struct vt_own *o = vt__own_new();
    enum { N = 200000 };
    uint64_t before = stats_now().n_samples;
    for (unsigned i = 0; i < N; i++) vt__free(vt__own_alloc(o, 16, 64, false));
    double n = (double)(stats_now().n_samples - before), expected = N * 64.0 / 4096;
    assert_true(n > 0.8 * expected && n < 1.2 * expected);
    vt__own_destroy(o);
}

/* ---- samples ---- */

static size_t n_samples_live(void) { return stats_now().n_samples_live; }

TEST_WITH(own, samples_go_with_their_blocks, "VITRINE_SAMPLE=1K") {
    start_empty();
    size_t before = n_samples_live();
    struct vt_own *o = vt__own_new();
    static void *at[2000];
    for (unsigned i = 0; i < 2000; i++) at[i] = take_from(o, i % 50 == 0 ? 70000 : 10 + i % 2000);
    size_t n = n_samples_live() - before;
    assert_true(n > 200);
    for (unsigned i = 0; i < 2000; i += 2) vt__free(at[i]);
    size_t half = n_samples_live() - before;
    assert_true(half < n && half > 0);
    vt__own_destroy(o);
    assert_int_equal(n_samples_live(), before);
}

TEST_WITH(own, samples_outlive_a_deleted_heap_and_go_with_their_blocks, "VITRINE_SAMPLE=4K") {
    start_empty();
    size_t before = n_samples_live();
    size_t n_slices = n_used_slices(); /* 1, if the very first block was sampled */
    struct vt_own *o = vt__own_new();
    static void *at[2000];
    for (unsigned i = 0; i < 2000; i++) at[i] = take_from(o, i % 50 == 0 ? 70000 : 10 + i % 2000);
    size_t n = n_samples_live();
    vt__own_delete(o);
    assert_int_equal(n_samples_live(), n);
    assert_ptr_not_equal(vt__own_new(), o); /* it still has slabs */
    for (unsigned i = 0; i < 2000; i++) vt__free(at[i]);
    assert_int_equal(n_samples_live(), before);
    assert_ptr_equal(vt__own_new(), o);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), n_slices);
}

TEST_WITH(own, a_slab_knows_when_its_last_sample_is_gone, "VITRINE_SAMPLE=1K") {
    struct vt_own *o = vt__own_new();
    static void *at[200];
    for (unsigned i = 0; i < 200; i++) at[i] = take_from(o, 100);
    struct slab *s = slab_of(at[0]);
    assert_true(n_sampled(s) > 0);
    for (unsigned i = 0; i < 200; i++) vt__free(at[i]);
    assert_int_equal(n_sampled(s), 0); /* kept, as the last of its class */
    assert_int_equal(o->slabs[s->cls].first, vt__slab_id(s));
    vt__own_destroy(o);
}

TEST_WITH(own, samples_tell_how_much_there_is, "VITRINE_SAMPLE=16K") {
    struct vt_own *o = vt__own_new();
    size_t n_bytes = 0;
    for (unsigned i = 0; i < 60000; i++) {
        void *p = vt__own_alloc(o, 16, 16 * (1 + i % 60), false);
        n_bytes += vt__usable_size(p);
    }
    double estimate = (double)stats_now().sampled;
    assert_true(estimate > 0.85 * (double)n_bytes && estimate < 1.15 * (double)n_bytes);
    vt__own_destroy(o);
    assert_true(stats_now().sampled < MiB(1));
}

TEST_WITH(own, exact_counts_go_with_their_blocks, "VITRINE_EXACT=on") {
    struct vt_own *o = vt__own_new();
    for (unsigned i = 0; i < 1000; i++) take_from(o, i % 50 == 0 ? 70000 : 10 + i % 2000);
    vt__free(take_from(o, 50));
    vt__own_destroy(o);
    o = vt__own_new();
    void *p = take_from(o, 10);
    vt__own_delete(o);
    vt__free(p);
}

/* ---- looking ---- */

TEST(own, every_block_in_use_is_in_an_area_once) {
    struct vt_own *o = vt__own_new();
    enum { N = 1000 };
    static void *at[N];
    for (unsigned i = 0; i < N; i++) at[i] = take_from(o, 1 + i * 97 % 80000);
    for (unsigned i = 0; i < N; i += 2) vt__free(at[i]);
    struct vt_own_area a;
    size_t n_used = 0, n_seen = 0;
    for (size_t n = 0; vt__own_area(o, n, &a); n++) {
        n_used += a.n_used;
        for (size_t k = 0; k < a.n_carved; k++) {
            if ((a.is_used[k / 32] >> (k % 32) & 1) == 0) continue;
            unsigned i = 1;
            while (i < N && at[i] != a.at + k * a.block_bytes) i += 2;
            assert_true(i < N);
            n_seen++;
        }
    }
    assert_int_equal(n_used, N / 2);
    assert_int_equal(n_seen, N / 2);
    vt__own_destroy(o);
}

/* The locks are ours, as they may be when a handler comes: whoever takes one would wait for ever. */
TEST(own, in_a_handler_nothing_waits_and_nothing_changes) {
    struct vt_own *o = vt__own_new(), *made_last = vt__own_next(NULL);
    struct vt_own_area area;
    uint64_t n_taken;
    size_t run_bytes;
    void *small = take_from(o, 100), *kept = take_from(o, 40000), *large = take_from(o, 300000);
    assert_true(vt__enter());
    vt_lock(&vt__heaps_lock);
    vt_lock(o->lock);
    assert_null(vt__own_new());
    assert_null(vt__own_next(NULL));
    assert_false(vt__own_use(o, NULL));
    assert_false(vt__own_area(o, 0, &area));
    for (unsigned i = 0; i < vt_countof(sizes); i++) {
        errno = 0;
        assert_null(vt__own_alloc(o, 16, sizes[i], /* zero */ true));
        assert_int_equal(errno, ENOMEM);
    }
    assert_null(vt__own_alloc_behind(o, 16, 300000, /* zero */ false));
    assert_int_equal(n_live(o, &n_taken, &run_bytes), 0);
    vt__own_brought_stats(o, &(struct vt_own_stats){0}, add_run, &run_bytes);
    vt__free(small);
    vt__free(large);
    vt__own_collect(o);
    vt__own_reset(o);
    vt__own_delete(o);
    vt__own_destroy(o);
    vt_unlock(o->lock);
    vt_unlock(&vt__heaps_lock);
    vt__leave();
    assert_ptr_equal(vt__own_next(NULL), made_last); /* it is there, */
    check_filled(kept, kept, 40000);                 /* and so is what was not freed */
    vt__poll();
    vt__own_collect(o);
    assert_int_equal(n_live(o, &n_taken, &run_bytes), 1);
    assert_int_equal(run_bytes, 0);
    vt__own_audit(o);
    vt__own_destroy(o);
}

TEST(own, a_forked_child_goes_on_with_it) {
    struct vt_own *o = vt__own_new();
    void *p = take_from(o, 100);
    pid_t pid = fork();
    if (pid == 0) {
        check_filled(p, p, 100);
        vt__free(p);
        take_from(o, 100);
        vt__own_audit(o);
        vt__own_destroy(o);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    vt__own_destroy(o);
}

UNIT_MAIN()
