/* test_memory.c - what the system is asked for, and what comes of it: reserving, committing, purging, moving; the arena. */
#include "unit.h"

#include "heap/heap.h"
#include "os/impl.h"

/* mremap as Linux before 6.17 has it, if asked: what is more than one mapping is refused, but only after the destination
 * was unmapped. */
static bool is_old_mremap;

static long syscall_or_old_mremap(long nr, long a, long b, long c, long d, long e, long f) {
    if (nr != SYS_mremap || !is_old_mremap) return vt__syscall(nr, a, b, c, d, e, f);
    vt__syscall(SYS_munmap, e, c, 0, 0, 0, 0);
    return -EFAULT;
}

#define vt__syscall syscall_or_old_mremap
#include "os/memory.c"
#undef vt__syscall

static size_t resident(void *at, size_t n) {
    size_t out = 0;
    assert_int_equal(vt__os_resident_bytes(at, n, &out), 0);
    return out;
}

static char *reserved(size_t n, size_t align) {
    void *at = NULL;
    assert_int_equal(vt__os_reserve(n, align, &at), 0);
    assert_int_equal((uintptr_t)at % align, 0);
    return at;
}

static void read_byte(void *at) { (void)*(volatile char *)at; }

static int status_of(void (*act)(void *), void *arg) {
    int status;
    unit_stderr_of(act, arg, &status);
    return status;
}

TEST(memory, a_reservation_is_aligned_and_gives_no_access_until_committed) {
    for (size_t align = VT_OS_PAGE; align <= MiB(64); align *= 4) {
        char *at = reserved(MiB(4), align);
        assert_true(status_of(read_byte, at) != 0);
        assert_int_equal(vt__os_commit(at + MiB(1), MiB(1)), 0);
        memset(at + MiB(1), 1, MiB(1));
        assert_true(status_of(read_byte, at + MiB(2)) != 0);
        assert_int_equal(vt__os_unmap(at, MiB(4)), 0);
    }
}

TEST(memory, purged_pages_are_not_resident_and_read_as_zero) {
    void *p = NULL;
    assert_int_equal(vt__os_map(MiB(1), &p), 0);
    memset(p, 5, MiB(1));
    assert_int_equal(resident(p, MiB(1)), MiB(1));
    assert_int_equal(vt__os_purge((char *)p + KiB(64), KiB(128)), 0);
    assert_int_equal(resident(p, MiB(1)), MiB(1) - KiB(128));
    assert_int_equal(((char *)p)[KiB(64) - 1], 5);
    assert_int_equal(((char *)p)[KiB(64)], 0);
    assert_int_equal(((char *)p)[KiB(192)], 5);
}

TEST(memory, moved_pages_take_their_contents_along_and_leave_zero) {
    char *at = reserved(MiB(8), MiB(2));
    assert_int_equal(vt__os_commit(at, MiB(8)), 0);
    memset(at, 9, MiB(1));
    int err = vt__os_move(at, MiB(1), at + MiB(4));
    if (err != 0) {
        print_message("skipped: this kernel does not move pages and keep the place (%d)\n", err);
        skip();
    }
    for (size_t i = 0; i < MiB(1); i++) assert_int_equal(at[MiB(4) + i], 9);
    for (size_t i = 0; i < MiB(1); i++) assert_int_equal(at[i], 0);
}

TEST(memory, a_move_that_fails_late_leaves_no_hole_behind) {
    char *at = reserved(MiB(8), MiB(2));
    assert_int_equal(vt__os_commit(at, MiB(8)), 0);
    memset(at, 9, MiB(1));
    is_old_mremap = true;
    assert_int_equal(vt__os_move(at, MiB(1), at + MiB(4)), -EFAULT);
    memset(at + MiB(4), 1, MiB(1));
    for (size_t i = 0; i < MiB(1); i++) assert_int_equal(at[i], 9);
}

TEST(memory, realloc_copies_when_a_move_fails_late) {
    is_old_mremap = true;
    for (int turn = 0; turn < 10; turn++) {
        char *p = vt__malloc(MiB(2));
        char *fence = vt__malloc(MiB(4));
        memset(p, turn + 1, MiB(2));
        p = vt__realloc(p, MiB(9));
        assert_non_null(p);
        for (size_t i = 0; i < MiB(2); i++) assert_int_equal(p[i], turn + 1);
        memset(p, 1, MiB(9));
        vt__free(fence);
        vt__free(p);
    }
}

TEST(memory, map_at_refuses_a_place_that_is_taken) {
    char *at = reserved(MiB(4), MiB(2));
    assert_int_equal(vt__os_map_at(at, MiB(1)), -EEXIST);
    assert_int_equal(vt__os_unmap(at + MiB(1), MiB(1)), 0);
    assert_int_equal(vt__os_map_at(at + MiB(1), MiB(1)), 0);
    memset(at + MiB(1), 1, MiB(1));
    assert_int_equal(vt__os_map_at(at + MiB(1) - VT_OS_PAGE, 2 * VT_OS_PAGE), -EEXIST);
}

TEST_WITH(memory, map_at_refuses_it_on_old_kernels_as_well, "VITRINE_FAIL_ALWAYS=noreplace") {
    char *at = reserved(MiB(4), MiB(2));
    assert_int_equal(vt__os_map_at(at, MiB(1)), -EEXIST);
    assert_int_equal(vt__os_unmap(at + MiB(1), MiB(1)), 0);
    assert_int_equal(vt__os_map_at(at + MiB(1), MiB(1)), 0);
}

/* As a sanitizer's shadow does. */
TEST(memory, where_the_middle_of_the_addresses_is_taken_a_place_is_drawn_near_the_systems) {
    void *at = NULL;
    for (uintptr_t low = PLACES_LOW; low < 2 * PLACES_LOW; low += TiB(1))
        (void)vt__os_program_mmap((void *)low, TiB(1), PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                                  -1, 0, &at);
    for (int i = 0; i < 10; i++) {
        char *place = (char *)vt__os_draw_place(MiB(4), MiB(2));
        assert_int_equal((uintptr_t)place % MiB(2), 0);
        assert_int_equal(vt__os_map_at(place, MiB(4)), 0);
        place[MiB(4) - 1] = 1; /* a sanitizer knows this memory as the program's */
    }
}

TEST(memory, failures_leave_errno_alone) {
    errno = 4711;
    assert_true(vt__os_purge((void *)VT_OS_PAGE, VT_OS_PAGE) < 0);
    assert_true(vt__os_commit((void *)VT_OS_PAGE, VT_OS_PAGE) < 0);
    void *at;
    assert_true(vt__os_map(SIZE_MAX / 2, &at) < 0);
    assert_int_equal(errno, 4711);
}

TEST(memory, a_file_is_read_up_to_the_buffer_and_ends_in_nul) {
    char buf[8];
    assert_int_equal(vt__os_read_file("/no/such/file", buf, sizeof(buf)), 0);
    assert_int_equal(buf[0], '\0');
    assert_int_equal(vt__os_read_file("/proc/self/status", buf, sizeof(buf)), 7);
    assert_int_equal(buf[7], '\0');
    assert_true(memcmp(buf, "Name:", 5) == 0);
}

TEST(memory, random_numbers_differ) {
    uint64_t seen[16];
    for (int i = 0; i < 16; i++) {
        seen[i] = vt__os_random();
        for (int k = 0; k < i; k++) assert_true(seen[i] != seen[k]);
    }
}

TEST(memory, the_environment_is_read_by_whole_names) {
    setenv("VT_TEST_ONE", "1", 1);
    assert_string_equal(vt__os_getenv("VT_TEST_ONE"), "1");
    assert_null(vt__os_getenv("VT_TEST_ON"));
    assert_null(vt__os_getenv("VT_TEST_ONE_MORE"));
}

/* ---- the arena ---- */

TEST(arena, pieces_are_zero_aligned_and_apart) {
    char *at[300];
    size_t size[300];
    size_t sum = vt__arena_bytes();
    for (int i = 0; i < 300; i++) {
        size_t align = (size_t)16 << i % 10;
        size[i] = i % 50 == 0 ? 100000 : (size_t)(i * 13 + 1);
        at[i] = vt__arena_take(size[i], align);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % align, 0);
        for (size_t b = 0; b < size[i]; b++) assert_int_equal(at[i][b], 0);
        memset(at[i], i + 1, size[i]);
        sum += size[i];
    }
    for (int i = 0; i < 300; i++)
        for (size_t b = 0; b < size[i]; b++) assert_int_equal(at[i][b], (char)(i + 1));
    assert_int_equal(vt__arena_bytes(), sum);
}

TEST_WITH(arena, no_memory_is_null_and_the_next_request_may_succeed, "VITRINE_FAIL_NTH=8:map") {
    int n_null = 0;
    for (int i = 0; i < 12; i++) {
        bool is_null = vt__arena_take(MiB(1), 16) == NULL;    /* each needs a mapping of its own */
        if (is_null) assert_non_null(vt__arena_take(16, 16)); /* what is left of the last one */
        n_null += is_null;
    }
    assert_int_equal(n_null, 1);
}

UNIT_MAIN()
