/* test_window.c - the window: reserved, or in constrained mode mapped piece by piece, around whatever is in the way; and a
 * start that failed is tried again. */
#include "look.h"

#include <pthread.h>
#include <sys/resource.h>

#include "os/os.h"

/* The thread sanitizer has its shadow where constrained mode puts the window. */
#ifdef VT_FLAVOUR_tsan
#define NOT_UNDER_TSAN() (print_message("skipped: the sanitizer's shadow is in the way\n"), skip())
#else
#define NOT_UNDER_TSAN() (void)0
#endif

/* The smallest window that is tried, refused. */
#define CONSTRAINED "VITRINE_WINDOW=64G VITRINE_FAIL_NTH=1:reserve"

static void workout(void) {
    struct blocks b = take_blocks(3000, 100);
    void *at[20];
    for (int i = 0; i < 20; i++) at[i] = fill(vt__malloc(200000u * (unsigned)(i + 1)), 1000);
    at[3] = vt__realloc(at[3], MiB(6));
    for (int i = 0; i < 20; i++) vt__free(at[i]);
    free_blocks(b);
    void *p = vt__aligned_alloc(MiB(4), MiB(1));
    assert_int_equal((uintptr_t)p % MiB(4), 0);
    vt__free(p);
    vt__heap_audit();
    vt__heap_release_all();
}

TEST(window, is_reserved_by_default_and_costs_no_memory) {
    workout();
    assert_true(vt__window.is_reserved);
    assert_true(vt__window.n_bytes >= GiB(1));
    assert_int_equal(vt__map.base % VT_CHUNK, 0);
}

TEST_WITH(window, has_the_size_that_was_asked_for, "VITRINE_WINDOW=3G") {
    vt__free(vt__malloc(1));
    assert_int_equal(vt__window.n_bytes, GiB(2)); /* a power of two, not above the wish */
}

TEST_WITH(window, is_never_smaller_than_a_gibibyte, "VITRINE_WINDOW=1M") {
    workout();
    assert_int_equal(vt__window.n_bytes, GiB(1));
}

TEST_WITH(window, when_it_is_full_malloc_answers_enomem_and_goes_on_after_frees,
          "VITRINE_WINDOW=1G VITRINE_RETAIN=0") {
    void *at[128];
    int n = 0;
    while (n < 128 && (at[n] = vt__malloc(MiB(16))) != NULL) n++;
    assert_true_msg(n >= 60 && n <= 64, "expected about 63 blocks of 16 MiB in 1 GiB, seen %d", n);
    errno = 0;
    assert_null(vt__malloc(MiB(16)));
    assert_int_equal(errno, ENOMEM);
    for (int i = 0; i < n; i++) vt__free(at[i]);
    workout();
}

TEST_WITH(window, a_reservation_that_is_too_long_is_tried_smaller,
          "VITRINE_WINDOW=1T VITRINE_FAIL_NTH=1:reserve") {
    workout();
    assert_true(vt__window.is_reserved);
    assert_in_range(vt__window.n_bytes, GiB(64), GiB(256));
}

TEST_WITH(window, a_refused_reservation_leads_to_constrained_mode, CONSTRAINED) {
    NOT_UNDER_TSAN();
    workout();
    assert_false(vt__window.is_reserved);
    assert_int_equal(vt__map.base % VT_CHUNK, 0);
}

TEST(window, an_address_limit_leads_to_constrained_mode_and_is_kept) {
    if (UNIT_HAS_SHADOW) {
        print_message("skipped: no address limit beside a sanitizer's shadow\n");
        skip();
    }
    if (getenv("VT_UNIT_LIMITED") == NULL) { /* the limit must be there when the library starts */
        struct rlimit l = {MiB(600), MiB(600)};
        setenv("VT_UNIT_LIMITED", "1", 1);
        assert_int_equal(setrlimit(RLIMIT_AS, &l), 0);
        unit_exec("an_address_limit_leads_to_constrained_mode_and_is_kept");
    }
    workout();
    assert_false(vt__window.is_reserved);
    void *at[1024];
    int n = 0;
    while (n < 1024 && (at[n] = vt__malloc(MiB(1))) != NULL) memset(at[n++], 1, 1000);
    assert_true_msg(n >= 300 && n < 600, "expected most of 600 MiB, seen %d", n);
    for (int i = 0; i < n; i++) vt__free(at[i]);
    workout();
}

/* Somebody else's mapping inside the window that is only an idea. */
static void block_chunks(size_t first, size_t n) {
    void *at = (void *)(vt__map.base + (first << VT_CHUNK_SHIFT));
    void *got = mmap(at, n << VT_CHUNK_SHIFT, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(got, at);
    memset(got, 0x3c, n << VT_CHUNK_SHIFT);
}

static void check_blocked(size_t first, size_t n) {
    const char *at = (const char *)(vt__map.base + (first << VT_CHUNK_SHIFT));
    for (size_t i = 0; i < n << VT_CHUNK_SHIFT; i += 64) assert_int_equal(at[i], 0x3c);
}

TEST_WITH(window, constrained_mode_goes_around_what_is_in_the_way, CONSTRAINED) {
    NOT_UNDER_TSAN();
    vt__free(vt__malloc(1));
    assert_false(vt__window.is_reserved);
    size_t at = vt__window.n_chunks;
    block_chunks(at + 2, 1);
    block_chunks(at + 4, 3);
    block_chunks(at + 12, 1);
    void *small[40], *big[6];
    for (int i = 0; i < 40; i++) small[i] = fill(vt__malloc(KiB(900)), KiB(900));
    for (int i = 0; i < 6; i++) big[i] = fill(vt__malloc(MiB(7)), 100000);
    check_blocked(at + 2, 1);
    check_blocked(at + 4, 3);
    check_blocked(at + 12, 1);
    for (int i = 0; i < 40; i++) check_filled(small[i], small[i], KiB(900));
    for (int i = 0; i < 40; i++) vt__free(small[i]);
    for (int i = 0; i < 6; i++) vt__free(big[i]);
    workout();
    check_blocked(at + 2, 1);
    check_blocked(at + 4, 3);
    check_blocked(at + 12, 1);
}

TEST_WITH(window, before_linux_4_17_the_kernel_is_asked_with_a_hint,
          CONSTRAINED " VITRINE_FAIL_ALWAYS=noreplace") {
    NOT_UNDER_TSAN();
    vt__free(vt__malloc(1));
    assert_false(vt__window.is_reserved);
    size_t at = vt__window.n_chunks;
    block_chunks(at + 1, 2);
    for (int i = 0; i < 10; i++) fill(vt__malloc(MiB(2)), MiB(2));
    check_blocked(at + 1, 2);
    workout();
}

/* A long request that does not fit before an obstacle must not eat the address space in front of it. */
TEST_WITH(window, an_obstacle_far_ahead_costs_few_chunks, CONSTRAINED) {
    NOT_UNDER_TSAN();
    vt__free(vt__malloc(1));
    size_t before = vt__window.n_chunks;
    block_chunks(before + 200, 1);
    void *p = vt__malloc(MiB(600)); /* 300 chunks: the obstacle is in the middle */
    assert_non_null(p);
    vt__free(p);
    size_t n_left_out = 0;
    for (size_t i = 0; i < vt__window.n_chunks; i++) n_left_out += vt__chunks[i].is_foreign;
    assert_int_equal(n_left_out, 1);
}

/* A block that grows in place has an obstacle in its way. */
TEST_WITH(window, growing_in_place_stops_before_what_is_in_the_way, CONSTRAINED) {
    NOT_UNDER_TSAN();
    char *p = fill(vt__malloc(VT_CHUNK), 1000);
    void *behind = vt__malloc(VT_CHUNK);
    assert_ptr_equal(behind, p + VT_CHUNK);
    size_t at = vt__window.n_chunks;
    assert_int_equal((uintptr_t)behind + VT_CHUNK, vt__map.base + (at << VT_CHUNK_SHIFT));
    block_chunks(at, 1);
    vt__free(behind);
    char *q = vt__realloc(p, 5 * VT_CHUNK);
    check_filled(q, p, 1000);
    memset(q, 0x11, 5 * VT_CHUNK);
    check_blocked(at, 1);
    vt__free(q);
    vt__heap_release_all();
    check_blocked(at, 1);
}

TEST_WITH(window, chunks_left_out_are_counted_even_when_growing_fails,
          CONSTRAINED " VITRINE_LIMIT=24M") {
    NOT_UNDER_TSAN();
    vt__free(vt__malloc(1));
    for (size_t i = 0; i < 200; i += 2) block_chunks(vt__window.n_chunks + 1 + i, 1);
    /* 10 chunks in a row: not here, in as many tries as it makes */
    assert_null(vt__malloc(MiB(20)));
    /* but the limit is not used up by what others hold */
    for (int i = 0; i < 11; i++) assert_non_null(vt__malloc(MiB(2)));
}

/* ---- a limit that comes late ---- */

static void limit_late(size_t n_bytes) {
    vt__os_tell_address_limit(n_bytes);
    (void)vt__heap_few_addresses();
}

TEST(window, a_late_limit_gives_back_what_is_not_used) {
    void *keep = fill(vt__malloc(MiB(5)), MiB(5));
    assert_true(vt__window.is_reserved);
    char *end = vt__chunk_address(vt__window.n_chunks);
    char *rows = (char *)vt__slab((slab_id)(GiB(300) >> VT_SLICE_SHIFT));
    limit_late(GiB(1));
    assert_false(vt__window.is_reserved);
    size_t at = vt__window.n_chunks;
    assert_true((char *)vt__chunk_address(at) <= end);
    size_t resident;
    assert_int_not_equal(vt__os_resident_bytes(vt__chunk_address(at), VT_OS_PAGE, &resident), 0);
    assert_int_not_equal(vt__os_resident_bytes(rows, VT_OS_PAGE, &resident), 0);
    block_chunks(at + 1, 2);
    workout();
    check_blocked(at + 1, 2);
    assert_false(vt__heap_owns((char *)vt__chunk_address(at + 1) + 64));
    check_filled(keep, keep, MiB(5));
    vt__free(keep);
}

TEST(window, a_limit_that_it_fits_in_leaves_it_as_it_is) {
    vt__free(vt__malloc(1));
    limit_late(SIZE_MAX);
    assert_true(vt__window.is_reserved);
    limit_late(vt__window.n_bytes * 4);
    assert_true(vt__window.is_reserved);
    assert_false(vt__heap_may_give_addresses()); /* there is no limit, whatever failed */
    workout();
}

/* Behind what the tables kept for the limit their rows are mapped one by one, or reserved again. */
TEST(window, a_limit_that_is_raised_again_is_used) {
    for (int is_told = 0; is_told < 2; is_told++) {
        limit_late(MiB(64));
        if (is_told) limit_late(GiB(8));
        void *at[40];
        for (int i = 0; i < 40; i++) {
            at[i] = vt__malloc(MiB(100));
            assert_non_null(at[i]);
            memset(at[i], i, 100);
        }
        for (int i = 0; i < 40; i++) vt__free(at[i]);
        workout();
    }
}

TEST(window, free_chunks_at_the_top_go_back_and_come_again) {
    limit_late(GiB(1));
    void *low = vt__malloc(100);
    for (int turn = 0; turn < 3; turn++) {
        char *p = vt__malloc(MiB(100));
        memset(p, 1, MiB(30));
        size_t n_chunks = vt__window.n_chunks;
        vt__free(p);
        size_t n_dirty = n_dirty_slices();
        assert_true(vt__heap_may_give_addresses());
        assert_true_msg(vt__window.n_chunks + 45 < n_chunks, "%zu chunks of %zu stay",
                        vt__window.n_chunks, n_chunks);
        assert_true(n_dirty_slices() <= n_dirty);
        assert_false(vt__heap_may_give_addresses());
        char *q = vt__calloc(1, MiB(10));
        check_zero(q, MiB(10));
        vt__free(q);
    }
    vt__free(low);
    workout();
    vt__heap_release_all();
    assert_int_equal(n_dirty_slices(), 0);
}

/* Two of a little more than half a chunk are neighbours; reserved addresses cost nothing. */
TEST(window, where_addresses_are_few_runs_begin_where_others_end) {
    limit_late(GiB(1));
    void *at[40];
    size_t n_before = vt__window.n_chunks;
    for (int i = 0; i < 40; i++) at[i] = fill(vt__malloc(MiB(1) + 1), 5000);
    size_t n = vt__window.n_chunks - n_before;
    assert_true_msg(n <= 26, "40 MiB: expected some 22 chunks, seen %zu", n);
    for (int i = 0; i < 40; i++) check_filled(at[i], at[i], 5000);
    for (int i = 0; i < 40; i++) vt__free(at[(i * 7) % 40]);
    workout();
}

static void *allocate_meanwhile(void *arg) {
    _Atomic bool *is_over = arg;
    while (!atomic_load(is_over)) free_blocks(take_blocks(300, 3000));
    return NULL;
}

TEST(window, a_late_limit_while_threads_allocate) {
    _Atomic bool is_over = false;
    pthread_t id[2];
    for (int i = 0; i < 2; i++) pthread_create(&id[i], NULL, allocate_meanwhile, &is_over);
    for (int i = 0; i < 20; i++) {
        void *p = vt__malloc(MiB(3));
        if (i == 5) limit_late(GiB(2));
        (void)vt__heap_may_give_addresses();
        vt__free(p);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    assert_false(vt__window.is_reserved);
    workout();
}

TEST_WITH(window, where_no_whole_chunk_can_be_had_part_of_one_is_taken,
          "VITRINE_FAIL_NTH=4:commit") {
    vt__free(vt__malloc(1));
    size_t n_chunks = vt__window.n_chunks, got_chunk;
    unsigned got = 0;
    vt_lock(&vt__pool.lock);
    assert_int_equal(vt__window_grow_part(5, &got_chunk, &got), 0);
    vt_unlock(&vt__pool.lock);
    assert_int_equal(got_chunk, n_chunks);
    assert_int_equal(got, 16); /* half a chunk was refused */
    memset(vt__chunk_address(got_chunk), 1, got * VT_SLICE);
    workout();
}

/* Half of where the place is drawn is somebody else's, before the library starts. */
__attribute__((constructor(101))) static void take_places(void) {
    if (getenv("VT_UNIT_TAKEN") == NULL) return;
    void *at = (void *)TiB(17); /* above a sanitizer's shadow */
    void *got = mmap(at, TiB(7), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != at) _exit(3);
}

/* Run by the test below. */
TEST_WITH(window, a_start_finds_half_its_places_taken, CONSTRAINED) {
    NOT_UNDER_TSAN();
    assert_non_null(vt__malloc(1));
    assert_false(vt__window.is_reserved);
}

TEST(window, constrained_mode_draws_another_place_when_the_first_is_taken) {
    NOT_UNDER_TSAN();
    for (int i = 0; i < 12; i++)
        assert_int_equal(
            unit_spawn("a_start_finds_half_its_places_taken", CONSTRAINED " VT_UNIT_TAKEN=1"), 0);
}

/* ---- starts that fail ---- */

/* Run by the test below, with a call that fails. */
TEST(window, a_start_may_fail_once) {
    void *p = NULL;
    for (int i = 0; i < 3 && p == NULL; i++) p = vt__malloc(100); /* the first may fail, not all */
    assert_non_null(p);
    vt__free(p);
    for (int i = 0; i < 300; i++) {
        p = vt__malloc((size_t)i * 1000);
        if (p != NULL) memset(p, 1, (size_t)i * 1000);
        vt__free(p);
    }
    vt__heap_release_all();
}

static void start_after_failures(const char *kind, int n_calls) {
    for (int n = 1; n <= n_calls; n++) {
        char wish[64];
        snprintf(wish, sizeof(wish), "VITRINE_FAIL_NTH=%d%s%s", n, *kind != '\0' ? ":" : "", kind);
        int status = unit_spawn("a_start_may_fail_once", wish);
        if (status != 0) fail_msg("%s: expected status 0, seen 0x%x", wish, (unsigned)status);
    }
}

TEST(window, a_start_that_failed_at_any_call_is_tried_again_and_works) {
    NOT_UNDER_TSAN();
    start_after_failures("", 12);
    start_after_failures("reserve", 2);
    start_after_failures("commit", 5);
    start_after_failures("map", 3);
}

UNIT_MAIN()
