/* test_tract.c - a tract's blocks are in it, nobody else's are, and what comes back stays its own. */
#include "look.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "heap/tract.c"
#include "os/os.h"

static struct vt_tract *new_tract(size_t n_bytes, bool at_once) {
    unsigned number = 0;
    assert_int_equal(vt__tract_new(n_bytes, at_once, &number), 0);
    assert_non_null(vt__tract(number));
    return vt__tract(number);
}

static bool is_inside(const struct vt_tract *t, const void *p, size_t n) {
    size_t n_bytes;
    const char *at = vt__tract_area(t, &n_bytes);
    return (const char *)p >= at && (const char *)p + n <= at + n_bytes;
}

/* All of its chunks are in the bins of its shard, by what is free in them. */
static void check_bins(const struct vt_tract *t, size_t n_used_slices) {
    size_t n_used = 0;
    for (size_t i = t->first; i < t->first + t->n_chunks; i++) {
        const struct chunk *c = &vt__chunks[i];
        bool is_listed = c->free_slices == 0;
        assert_false(vt__pool_has(i));
        assert_ptr_equal(vt__shard_of(c), shard_of(t));
        for (uint32_t k = shard_of(t)->bin[c->longest]; c->longest != 0 && k != 0;
             k = vt__chunks[k - 1].next)
            is_listed |= k - 1 == i;
        assert_true(is_listed);
        n_used += VT_CHUNK_SLICES - vt_count_bits(c->free_slices);
    }
    assert_int_equal(n_used, n_used_slices);
}

TEST(tract, is_a_row_of_whole_chunks_with_a_number) {
    unsigned first = 0, second = 0;
    size_t n_bytes;
    assert_int_equal(vt__tract_new(MiB(5), /* at_once */ true, &first), 0);
    assert_int_equal(vt__tract_new(1, /* at_once */ false, &second), 0);
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    char *at = vt__tract_area(vt__tract(1), &n_bytes);
    assert_int_equal(n_bytes, MiB(6));
    assert_int_equal((uintptr_t)at % MiB(2), 0);
    for (size_t i = 0; i < n_bytes; i += VT_OS_PAGE) at[i] = 1;
    assert_null(vt__tract(0));
    assert_null(vt__tract(3));
    assert_null(vt__tract(VT_MAX_TRACTS + 1));
    assert_int_equal(vt__tract_new(0, true, &first), -EINVAL);
    assert_int_equal(vt__tract_new(SIZE_MAX, true, &first), -ENOMEM);
}

TEST_WITH(tract, one_that_does_not_fit_leaves_its_number_to_the_next, "VITRINE_LIMIT=64M") {
    unsigned number;
    for (unsigned i = 0; i < 2 * VT_MAX_TRACTS; i++)
        assert_int_equal(vt__tract_new(MiB(100), true, &number), -ENOMEM);
    assert_int_equal(vt__tract_new(MiB(4), true, &number), 0);
    assert_int_equal(number, 1);
    assert_null(vt__tract(2));
}

TEST(tract, one_in_the_making_is_not_to_be_had) {
    new_tract(MiB(4), /* at_once */ true);
    assert_ptr_equal(take_row(), &tracts[1]);
    assert_null(vt__tract(2)); /* as in the child of a fork that comes here */
    assert_ptr_equal(new_tract(MiB(4), /* at_once */ true), &tracts[2]);
}

TEST(tract, there_are_so_many_and_no_more) {
    unsigned number;
    for (unsigned i = 0; i < VT_MAX_TRACTS; i++)
        assert_int_equal(vt__tract_new(1, i % 2 != 0, &number), 0);
    assert_int_equal(number, VT_MAX_TRACTS);
    assert_int_equal(vt__tract_new(1, true, &number), -ENOMEM);
    vt__free(vt__malloc(MiB(3)));
}

static const size_t sizes[] = {1, 100, 1024, 5000, 65536, 65537, 300000, MiB(2), MiB(3) + 1};

TEST(tract, a_heaps_blocks_are_in_it_and_nobody_elses) {
    struct vt_tract *t = new_tract(MiB(64), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t);
    void *at[200], *elsewhere[200];
    for (unsigned i = 0; i < 200; i++) {
        size_t n = sizes[i % vt_countof(sizes)];
        at[i] = vt__own_alloc(o, 16, n, i % 2 != 0);
        elsewhere[i] = vt__malloc(n);
        if (at[i] == NULL) fail_msg("no block of %zu bytes, number %u", n, i);
        assert_true(is_inside(t, at[i], vt__usable_size(at[i])));
        assert_false(is_inside(t, elsewhere[i], 1));
        if (i % 2 != 0) check_zero(at[i], n);
        fill(at[i], n);
        if (i >= vt_countof(sizes) && i % 3 != 0) vt__free(at[i]);
    }
    for (unsigned i = 0; i < vt_countof(sizes); i++) check_filled(at[i], at[i], sizes[i]);
    for (unsigned i = 0; i < 200; i++) vt__free(elsewhere[i]);
    vt__own_audit(o);
    vt__own_destroy(o);
    check_bins(t, 0);
}

TEST(tract, alignment_and_runs_of_several_chunks_are_kept_to) {
    struct vt_tract *t = new_tract(MiB(32), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t);
    for (size_t align = 16; align <= MiB(8); align *= 2) {
        char *p[2]; /* of two neighbours at most one has the alignment of several chunks */
        for (unsigned i = 0; i < 2; i++) {
            assert_non_null(p[i] = vt__own_alloc(o, align, 1000, false));
            assert_int_equal((uintptr_t)p[i] % align, 0);
            assert_true(is_inside(t, p[i], 1000));
        }
        vt__free(p[0]);
        vt__free(p[1]);
    }
    char *large = vt__own_alloc(o, 16, MiB(20), false),
         *behind = vt__own_alloc_behind(o, 48, 99, 0);
    assert_true(is_inside(t, large, MiB(20)) && is_inside(t, behind, 99));
    assert_int_equal((uintptr_t)behind % VT_SLICE, 48);
    vt__free(large);
    vt__free(behind);
    vt__own_destroy(o);
    check_bins(t, 0);
}

TEST(tract, when_it_is_full_its_heap_gets_nothing_and_others_do) {
    struct vt_tract *t = new_tract(MiB(4), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t), *other = vt__own_new();
    size_t n = 0;
    void *p;
    while ((p = vt__own_alloc(o, 16, 30000, false)) != NULL) {
        assert_true(is_inside(t, p, 30000));
        n++;
    }
    assert_int_equal(errno, ENOMEM);
    assert_true(n > 100 && n < 150);
    assert_null(vt__own_alloc(o, 16, MiB(1), false));
    assert_non_null(p = vt__own_alloc(other, 16, MiB(1), false));
    assert_false(is_inside(t, p, 1));
    vt__own_reset(o);
    for (size_t i = 0; i < n; i++) assert_non_null(vt__own_alloc(o, 16, 30000, false));
    vt__own_destroy(o);
    vt__own_destroy(other);
    check_bins(t, 0);
}

TEST(tract, a_block_grows_in_its_chunk_and_else_moves_out) {
    struct vt_tract *t = new_tract(MiB(4), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t);
    char *p = vt__own_alloc(o, 16, MiB(3), false);
    assert_true(vt__resize_in_place(p, MiB(4) - 1));
    assert_true(is_inside(t, p, vt__usable_size(p)));
    assert_false(vt__resize_in_place(p, MiB(4) + 1)); /* the chunks behind may be free */
    fill(p, MiB(3));
    char *to = vt__realloc(p, MiB(7));
    assert_false(is_inside(t, to, 1));
    check_filled(to, p, MiB(3));
    check_bins(t, 0);
    vt__free(to);
    vt__own_destroy(o);
}

TEST(tract, what_is_deleted_goes_back_to_it_with_the_last_block) {
    struct vt_tract *t = new_tract(MiB(16), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t);
    enum { N = 1000 };
    static void *at[N];
    for (unsigned i = 0; i < N; i++)
        at[i] = fill(vt__own_alloc(o, 16, 1 + i * 3, false), 1 + i * 3);
    void *large = vt__own_alloc(o, 16, MiB(3), false);
    vt__own_delete(o);
    for (unsigned i = 0; i < N; i++) /* the thread's new blocks of these sizes are not in it */
        assert_false(is_inside(t, vt__malloc(1 + i * 3), 1));
    for (unsigned i = 0; i < N; i++) {
        check_filled(at[i], at[i], 1 + i * 3);
        vt__free(at[i]);
    }
    vt__free(large);
    check_bins(t, 0);
    assert_ptr_equal(vt__own_new(), o); /* gone, so used again: as one that is in no tract */
    assert_false(is_inside(t, vt__own_alloc(o, 16, 100, false), 1));
}

TEST(tract, everybody_uses_one_that_is_not_set_apart_until_a_heap_is_made_in_it) {
    struct vt_tract *t = new_tract(MiB(8), /* at_once */ false);
    char *early = vt__malloc(MiB(2));
    assert_true(is_inside(t, early, MiB(2))); /* the lowest free chunk */
    struct vt_own *o = vt__own_new_in(t);
    char *late = vt__malloc(MiB(2));
    assert_false(is_inside(t, late, 1));
    size_t n = 0;
    while (vt__own_alloc(o, 16, MiB(2), false) != NULL) n++;
    assert_int_equal(n, 3);
    vt__free(early);
    vt__free(late);
    vt__own_destroy(o);
    assert_non_null(o = vt__own_new_in(t)); /* a second one finds it as it is */
    assert_non_null(vt__own_alloc(o, 16, MiB(6), false));
    vt__own_destroy(o);
}

TEST_WITH(tract, its_free_memory_goes_back_to_the_system,
          "VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0") {
    struct vt_tract *t = new_tract(MiB(16), /* at_once */ true);
    struct vt_own *o = vt__own_new_in(t);
    for (unsigned round = 0; round < 3; round++) {
        fill(vt__own_alloc(o, 16, MiB(9), false), MiB(9));
        fill(vt__own_alloc(o, 16, KiB(100), false), KiB(100));
        vt__own_reset(o);
        vt__heap_release_all();
        assert_int_equal(n_dirty_slices(), 0);
        check_bins(t, 0);
        check_zero(vt__own_alloc(o, 16, MiB(9), true), MiB(9));
        vt__own_reset(o);
    }
    vt__own_destroy(o);
}

static struct vt_own *shared;
static void *take_and_give(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    void *held[32] = {NULL};
    for (unsigned i = 0; i < 20000; i++) {
        unsigned k = (unsigned)(unit_random(&rng) % 32);
        size_t n = 1 + unit_random(&rng) % (i % 16 == 0 ? 200000 : 900);
        vt__free(held[k]);
        held[k] = vt__own_alloc(shared, 16, n, false);
        if (held[k] != NULL) *(char *)held[k] = 1;
        if (i % 1000 == 0) vt__heap_release_all();
    }
    for (unsigned k = 0; k < 32; k++) vt__free(held[k]);
    return NULL;
}

TEST(tract, threads_may_share_a_heap_in_it) {
    pthread_t id[4];
    struct vt_tract *t = new_tract(MiB(6), /* at_once */ true);
    shared = vt__own_new_in(t);
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&id[i], NULL, take_and_give, (void *)(i + 1));
    for (unsigned i = 0; i < 4; i++) pthread_join(id[i], NULL);
    vt__own_audit(shared);
    vt__own_destroy(shared);
    check_bins(t, 0);
}

/* The thread sanitizer's _exit misses the threads that the parent has. */
static void leave(int status) { syscall(SYS_exit_group, status); }

static void in_child(void) { /* it finds every tract free to use, or waits for ever */
    alarm(20);
    for (unsigned k = 1; vt__tract(k) != NULL; k++)
        if (vt__own_alloc(vt__own_new_in(vt__tract(k)), 16, 100, false) == NULL) leave(1);
    leave(0);
}

static int status_of_child(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) in_child();
    waitpid(pid, &status, 0);
    return status;
}

static _Atomic bool is_held, was_given;
static void *hold_lock(void *tract) {
    vt_lock(&shard_of(tract)->lock);
    atomic_store(&is_held, true);
    usleep(100000); /* long enough for the fork to begin */
    atomic_store(&was_given, true);
    vt_unlock(&shard_of(tract)->lock);
    return NULL;
}

TEST(tract, a_fork_waits_for_who_has_its_lock) {
    pthread_t id;
    pthread_create(&id, NULL, hold_lock, new_tract(MiB(4), /* at_once */ true));
    while (!atomic_load(&is_held)) usleep(1000);
    pid_t pid = fork();
    if (pid == 0) leave(atomic_load(&was_given) ? 0 : 1);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    pthread_join(id, NULL);
}

static void *make_many(void *unused) {
    unsigned number;
    for (unsigned i = 0; i < VT_MAX_TRACTS; i++) {
        assert_int_equal(vt__tract_new(MiB(2), true, &number), 0);
        vt__own_destroy(vt__own_new_in(vt__tract(number)));
    }
    return unused;
}

TEST(tract, a_forked_child_goes_on_while_others_are_made) {
    pthread_t id;
    vt__free(vt__malloc(1));
    pthread_create(&id, NULL, make_many, NULL);
    for (unsigned i = 0; i < 20; i++) assert_int_equal(status_of_child(), 0);
    pthread_join(id, NULL);
}

UNIT_MAIN()
