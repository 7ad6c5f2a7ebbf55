/* test_region.c - address space that grows without a lock, and asking whether an address can be read. */
#include "unit.h"

#include <sys/resource.h>

#include "base/base.h"

#include "os/region.c"

TEST(region, grows_to_its_limit_and_not_beyond) {
    static struct vt_region r = VT_REGION(MiB(1), KiB(64));
    char *base = vt__region_base(&r);
    assert_non_null(base);
    for (size_t n = 1; n <= MiB(1); n += 4097) {
        assert_true(vt__region_ready(&r, n));
        assert_int_equal(base[n - 1], 0);
        base[n - 1] = 1;
    }
    assert_true(vt__region_ready(&r, MiB(1)));
    assert_false(vt__region_ready(&r, MiB(1) + 1));
    assert_ptr_equal(vt__region_base(&r), base);
}

TEST(region, all_that_are_reserved_can_be_listed) {
    static struct vt_region r = VT_REGION(MiB(1), KiB(64));
    const struct vt_region *cursor = NULL;
    void *at;
    size_t n_bytes, n_found = 0;
    assert_true(vt__region_ready(&r, 1));
    while (vt__regions_next(&cursor, &at, &n_bytes))
        if (at == vt__region_base(&r)) n_found += n_bytes;
    assert_int_equal(n_found, KiB(64));
}

TEST_WITH(region, without_address_space_there_is_none, "VITRINE_FAIL_ALWAYS=reserve") {
    static struct vt_region r = VT_REGION(MiB(1), KiB(64));
    assert_null(vt__region_base(&r));
    assert_false(vt__region_ready(&r, 1));
}

TEST_WITH(region, a_step_that_fails_may_be_tried_again, "VITRINE_FAIL_NTH=2:commit") {
    static struct vt_region r = VT_REGION(MiB(1), KiB(64));
    assert_true(vt__region_ready(&r, 1));
    assert_false(vt__region_ready(&r, KiB(65)));
    assert_true(vt__region_ready(&r, KiB(65)));
    vt__region_base(&r)[KiB(65) - 1] = 1;
}

#if !UNIT_HAS_SHADOW
TEST(region, under_an_address_limit_it_is_smaller) {
    static struct vt_region r = VT_REGION(GiB(4), KiB(64));
    struct rlimit limit = {GiB(1), GiB(1)};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_non_null(vt__region_base(&r));
    assert_true(atomic_load(&r.n_bytes) < GiB(1));
    assert_true(vt__region_ready(&r, MiB(1)));
    assert_false(vt__region_ready(&r, GiB(2)));
}
#endif

TEST(region, where_addresses_are_few_it_gives_back_what_it_does_not_use) {
    static struct vt_region r = VT_REGION(GiB(1), KiB(64));
    assert_true(vt__region_ready(&r, MiB(3)));
    char *base = vt__region_base(&r);
    base[MiB(3) - 1] = 5;
    vt__os_tell_address_limit(MiB(100));
    vt__regions_shrink();
    assert_int_equal(atomic_load(&r.n_bytes), MiB(6));
    assert_int_equal(base[MiB(3) - 1], 5);
    /* somebody else's from now on, and not touched */
    assert_int_equal(vt__os_map_at(base + MiB(6), VT_OS_PAGE), 0);
    base[MiB(6)] = 7;
    assert_true(vt__region_ready(&r, MiB(6)));
    base[MiB(6) - 1] = 6;
    assert_false(vt__region_ready(&r, MiB(6) + 1));
    assert_int_equal(base[MiB(6)], 7);
}

TEST(region, one_that_is_growing_just_now_stays_as_it_is) {
    static struct vt_region r = VT_REGION(GiB(1), KiB(64));
    assert_true(vt__region_ready(&r, KiB(64)));
    atomic_fetch_add(&r.n_growing, 1);
    vt__os_tell_address_limit(MiB(100));
    vt__regions_shrink();
    assert_int_equal(atomic_load(&r.n_bytes), GiB(1));
    assert_true(vt__region_ready(&r, MiB(100)));
}

static struct vt_region shared = VT_REGION(MiB(16), KiB(4));
static void *fill(void *arg) {
    size_t self = (size_t)arg;
    for (size_t n = 0; n < MiB(1); n += KiB(4)) {
        if (!vt__region_ready(&shared, n + KiB(4))) return NULL;
        vt__region_base(&shared)[n + self] = 1;
    }
    return arg;
}

TEST(region, threads_may_grow_it_at_once) {
    pthread_t id[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&id[i], NULL, fill, (void *)(i + 1)), 0);
    for (size_t i = 0; i < 4; i++) {
        void *seen;
        assert_int_equal(pthread_join(id[i], &seen), 0);
        assert_ptr_equal(seen, (void *)(i + 1));
    }
    for (size_t n = 0; n < MiB(1); n += KiB(4))
        for (size_t i = 1; i < 5; i++) assert_int_equal(vt__region_base(&shared)[n + i], 1);
}

TEST(readable, tells_memory_from_none_and_leaves_errno_and_signals_alone) {
    char *at =
        mmap(NULL, 3 * VT_OS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigset_t before, after;
    assert_true(at != MAP_FAILED);
    assert_int_equal(mprotect(at + VT_OS_PAGE, VT_OS_PAGE, PROT_NONE), 0);
    assert_int_equal(munmap(at + 2 * VT_OS_PAGE, VT_OS_PAGE), 0);
    memset(at, 0xff, VT_OS_PAGE); /* as a signal set: all of them */
    sigprocmask(SIG_SETMASK, NULL, &before);
    errno = 77;
    assert_true(vt__os_is_readable(at));
    assert_true(vt__os_is_readable(at + VT_OS_PAGE - 8));
    assert_false(vt__os_is_readable(at + VT_OS_PAGE));
    assert_false(vt__os_is_readable(at + 2 * VT_OS_PAGE));
    assert_false(vt__os_is_readable(NULL));
    assert_false(vt__os_is_readable((void *)UINT64_C(0xffff800000000000)));
    assert_int_equal(errno, 77);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < 32; sig++)
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
}

UNIT_MAIN()
