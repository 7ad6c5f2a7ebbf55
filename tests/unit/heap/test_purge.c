/* test_purge.c - how much free memory stays resident, when more may, and that all of it goes back on request. */
#include "look.h"

#include "conf/options.h"
#include "os/os.h"

/* A system that takes its time, if asked to: what is being purged is then out of reach for long. */
static unsigned purge_takes_us;

static _Atomic unsigned n_purge_calls;
static const char *locked_from, *locked_to; /* memory of which nothing is taken back */

static int slow_purge(void *at, size_t n_bytes) {
    n_purge_calls++;
    if (purge_takes_us != 0) usleep(purge_takes_us);
    if ((char *)at < locked_to && (char *)at + n_bytes > locked_from)
        return -EINVAL; /* as for mlock */
    return vt__os_purge(at, n_bytes);
}

#define vt__os_purge slow_purge
#include "heap/purge.c"
#undef vt__os_purge

/* Resident bytes of the part of the window in use, as the kernel counts them. */
static size_t window_resident(void) {
    size_t n = 0;
    assert_int_equal(
        vt__os_resident_bytes((void *)vt__map.base, vt__window.n_chunks << VT_CHUNK_SHIFT, &n), 0);
    return n;
}

/* Every page of it is resident; its bytes at multiples of 512 are 1. */
static void *touched(size_t n_bytes) {
    char *p = vt__malloc(n_bytes);
    assert_non_null(p);
    for (size_t i = 0; i < n_bytes; i += 512) p[i] = 1;
    return p;
}

TEST(purge, free_memory_above_the_budget_goes_back_in_the_call_that_freed_it) {
    void *p = touched(MiB(100));
    vt__free(p);
    assert_true_msg(dirty_bytes() <= vt_opt(retain),
                    "expected at most %llu bytes retained, seen %zu",
                    (unsigned long long)vt_opt(retain), dirty_bytes());
    assert_true(window_resident() <= vt_opt(retain) + MiB(1));
}

TEST(purge, the_same_for_small_blocks) {
    free_blocks(take_blocks(400000, 100));
    assert_true(dirty_bytes() <= vt_opt(retain));
    assert_true(window_resident() <= vt_opt(retain) + MiB(1));
}

TEST(purge, free_slices_of_partly_used_chunks_go_back_too) {
    void *at[1000];
    for (int i = 0; i < 1000; i++) at[i] = touched(100000); /* 4 slices each: 16 to a chunk */
    for (int i = 0; i < 1000; i++)
        if (i % 16 != 0) vt__free(at[i]); /* no chunk becomes wholly free */
    assert_true(dirty_bytes() <= vt_opt(retain));
    size_t kept = 63 * 4 * VT_SLICE;
    assert_true_msg(window_resident() <= vt_opt(retain) + kept + MiB(1),
                    "expected at most %zu resident, seen %zu",
                    (size_t)vt_opt(retain) + kept + MiB(1), window_resident());
    for (int i = 0; i < 1000; i += 16)
        for (int b = 0; b < 100000; b += 512) assert_int_equal(((char *)at[i])[b], 1);
}

TEST_WITH(purge, with_retain_zero_nothing_stays, "VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0") {
    for (int i = 0; i < 5; i++) {
        vt__free(touched(MiB(10)));
        assert_int_equal(dirty_bytes(), 0);
        assert_true(window_resident() < KiB(256));
    }
}

TEST_WITH(purge, with_a_large_retain_nothing_goes_back, "VITRINE_RETAIN=1G") {
    vt__free(touched(MiB(100)));
    assert_true(dirty_bytes() >= MiB(100));
    assert_int_equal(stats_now().purged, 0);
}

TEST_WITH(purge, release_gives_back_all_that_is_free_and_says_how_much, "VITRINE_RETAIN=1G") {
    void *kept = touched(MiB(1));
    vt__free(touched(MiB(64)));
    struct blocks b = take_blocks(100000, 64);
    free_blocks(b);
    size_t free_before = dirty_bytes();
    assert_true(free_before >= MiB(64));
    size_t released = vt_release_free_memory();
    assert_true(released >= free_before);
    assert_int_equal(dirty_bytes(), 0);
    assert_true(window_resident() <= MiB(1) + KiB(256));
    assert_int_equal(stats_now().purged, released);
    assert_int_equal(vt_release_free_memory(), 0);
    for (size_t i = 0; i < MiB(1); i += 512) assert_int_equal(((char *)kept)[i], 1);
}

TEST_WITH(purge, a_program_that_needs_the_memory_again_at_once_earns_a_larger_budget,
          "VITRINE_PURGE_DELAY=3600000") {
    for (int i = 0; i < 20; i++) vt__free(touched(MiB(32)));
    uint64_t n_purges = stats_now().n_purges;
    for (int i = 0; i < 100; i++) vt__free(touched(MiB(32)));
    assert_int_equal(stats_now().n_purges, n_purges); /* the bouncing has stopped */
    assert_true(dirty_bytes() <= MiB(64) + vt_opt(retain));
}

TEST_WITH(purge, the_larger_budget_sinks_back_with_time, "VITRINE_PURGE_DELAY=20") {
    for (int i = 0; i < 50; i++) vt__free(touched(MiB(32)));
    for (int i = 0; i < 400 && vt__heap_purge_step(); i++) usleep(25000);
    assert_true(dirty_bytes() <= vt_opt(retain));
}

TEST_WITH(purge, above_the_soft_limit_free_memory_goes_back_before_the_heap_grows,
          "VITRINE_RETAIN=1G VITRINE_SOFT_LIMIT=40M") {
    void *at[20];
    for (int i = 0; i < 20; i++)
        at[i] = touched(MiB(3)); /* 3 MiB leaves half of a chunk: not to be reused for 4 MiB */
    for (int i = 0; i < 20; i += 2) vt__free(at[i]);
    for (int i = 0; i < 8; i++) touched(MiB(4));
    assert_true_msg(window_resident() <= MiB(30 + 32 + 4),
                    "expected the free 30 MiB gone, seen %zu MiB resident",
                    window_resident() >> 20);
}

TEST_WITH(purge, a_system_that_refuses_to_take_memory_back_is_lived_with,
          "VITRINE_FAIL_ALWAYS=purge VITRINE_RETAIN=0") {
    for (int i = 0; i < 30; i++) {
        char *p = touched(MiB(5));
        vt__free(p);
        free_blocks(take_blocks(2000, 500));
    }
    assert_int_equal(stats_now().purged, 0);
    assert_true(dirty_bytes() >= MiB(4));     /* and it is counted as what it is */
    assert_true(window_resident() < MiB(40)); /* used again and again */
}

TEST_WITH(purge, locked_memory_does_not_cost_a_system_call_per_chunk_and_free,
          "VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0") {
    static void *at[600];
    for (int i = 0; i < 600; i++) at[i] = touched(100000); /* some 30 chunks */
    locked_from = (const char *)vt__map.base;
    locked_to = locked_from + vt__window.n_bytes; /* mlockall */
    unsigned before = n_purge_calls;
    for (int i = 0; i < 600; i++)
        if (i % 10 != 0) vt__free(at[i]);
    assert_true_msg(n_purge_calls - before <= 1000, "expected a few calls for 540 frees, seen %u",
                    n_purge_calls - before);
}

TEST_WITH(purge, one_locked_chunk_does_not_keep_the_others,
          "VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0") {
    char *low = touched(MiB(20)), *high = touched(MiB(2));
    assert_true(high > low);
    locked_from = high;
    locked_to = high + MiB(2);
    vt__free(high);
    vt__free(low);
    vt__heap_release_all();
    assert_true_msg(dirty_bytes() <= MiB(4),
                    "expected what is not locked given back, seen %zu bytes left", dirty_bytes());
}

/* ---- several threads ---- */

static _Atomic int n_mistakes;

static void *bounce(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    for (int i = 0; i < (UNIT_HAS_SHADOW ? 60 : 300); i++) {
        size_t n = 70000 + unit_random(&rng) % MiB(3);
        char *p = i % 2 == 0 ? vt__calloc(1, n) : vt__malloc(n);
        for (size_t b = 0; i % 2 == 0 && b < n; b += 509)
            if (p[b] != 0) atomic_fetch_add(&n_mistakes, 1);
        memset(p, (int)i | 1, n);
        vt__free(p);
        if (i % 40 == 0) vt__heap_release_all();
        if (i % 10 == 0) vt__heap_purge_step();
    }
    return NULL;
}

TEST_WITH(purge, threads_that_purge_and_allocate_at_once_never_meet_the_same_pages,
          "VITRINE_RETAIN=2M") {
    pthread_t id[4];
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    size_t before = n_used_slices();
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&id[i], NULL, bounce, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    assert_int_equal(atomic_load(&n_mistakes), 0);
    vt__heap_release_all();
    assert_int_equal(n_used_slices(), before);
    assert_int_equal(n_dirty_slices(), 0);
    assert_int_equal(window_resident(), before << VT_SLICE_SHIFT);
}

/* Under a hard limit a free chunk that another thread is purging just now must not be missed. */
static _Atomic bool is_over;

static void *bounce_one_chunk(void *unused) {
    while (!atomic_load(&is_over)) {
        char *p = vt__malloc(MiB(2));
        for (size_t b = 0; p != NULL && b < MiB(2); b += KiB(64)) p[b] = 1;
        vt__free(p);
    }
    return unused;
}

TEST_WITH(purge, what_fits_below_the_limit_is_never_refused_because_another_thread_is_purging,
          "VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0 VITRINE_LIMIT=14M") {
    pthread_t id[2];
    int n_refused = 0;
    vt__free(vt__malloc(1)); /* 2 MiB; the others have 2 MiB each, and we 8 */
    purge_takes_us = 300;
    for (int i = 0; i < 2; i++) pthread_create(&id[i], NULL, bounce_one_chunk, NULL);
    for (int i = 0; i < 300; i++) {
        char *p = vt__malloc(MiB(8));
        n_refused += p == NULL;
        for (size_t b = 0; p != NULL && b < MiB(8); b += KiB(64)) p[b] = 1;
        vt__free(p);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    assert_int_equal(n_refused, 0);
}

static size_t n_chunks_with(enum chunk_huge state) {
    size_t n = 0;
    for (size_t i = 0; i < vt__window.n_chunks; i++) n += vt__chunks[i].huge == state;
    return n;
}

/* Touched again, a purged chunk that is to be one huge page would be resident as a whole. */
TEST(purge, huge_pages_are_asked_for_full_chunks_and_no_longer_for_purged_ones) {
    void *at[1000];
    for (int i = 0; i < 1000; i++) at[i] = touched(100000);
    size_t n_asked = n_chunks_with(CHUNK_HUGE);
    assert_true_msg(n_asked >= 20, "expected 20 of 62 chunks, seen %zu", n_asked);
    for (int i = 0; i < 1000; i++) vt__free(at[i]);
    vt__heap_release_all();
    assert_int_equal(n_chunks_with(CHUNK_HUGE), 0);
    assert_int_equal(n_chunks_with(CHUNK_WITHDRAWN), n_asked);
    size_t before = window_resident();
    for (int i = 0; i < 20; i++) *(char *)(at[i] = vt__malloc(100000)) = 1; /* 32 KiB apart */
    assert_true_msg(window_resident() - before <= MiB(1), "expected some pages, seen %zu KiB",
                    (window_resident() - before) >> 10);
}

TEST_WITH(purge, near_the_soft_limit_the_unused_end_of_a_large_block_goes_back,
          "VITRINE_SOFT_LIMIT=64M VITRINE_RETAIN=1G") {
    size_t n_bytes = 2 * VT_SLICE + VT_OS_PAGE; /* of three slices, the third is hardly used */
    void *at[600];
    vt__free(touched(MiB(60)));
    for (int i = 0; i < 600; i++) at[i] = touched(n_bytes);
    size_t most = 600 * n_bytes + dirty_bytes() + MiB(1);
    assert_true_msg(window_resident() <= most, "expected at most %zu KiB, seen %zu", most >> 10,
                    window_resident() >> 10);
    for (int i = 0; i < 600; i++) vt__free(at[i]);
}

/* As on a machine whose policy is `always`: the window gets huge pages unasked. */
TEST(purge, where_a_first_touch_fills_the_chunk_what_is_free_of_it_goes_back_too) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    vt__window.first_huge = 1;
    vt__os_hugepages((void *)(vt__map.base + VT_CHUNK), MiB(64), /* allow */ true);
    char *large = touched(MiB(3));
    size_t half = vt__slice_of(large) / VT_CHUNK_SLICES + 1; /* the chunk half of which it has */
    assert_int_equal(n_dirty_slices(), VT_CHUNK_SLICES / 2);
    assert_int_equal(stats_now().retained, MiB(1));
    char *part = vt__calloc(1, KiB(512));
    assert_int_equal(vt__slice_of(part) / VT_CHUNK_SLICES, half);
    for (size_t i = 0; i < KiB(512); i += 512) assert_int_equal(part[i], 0);
    /* it was known to be zero, and not cleared */
    assert_int_equal(vt__chunks[half].dirty_slices & ~vt__chunks[half].free_slices, 0);
    memset(part, 1, KiB(512));
    assert_int_equal(n_dirty_slices(), VT_CHUNK_SLICES / 4);
    assert_int_equal(vt_release_free_memory(), KiB(512));
    assert_true(window_resident() <= MiB(3) + KiB(512) + KiB(64));
    /* the program had not used it: no reason to keep more next time */
    assert_int_equal(vt__pool.regret_bytes, 0);
    assert_int_equal(vt__chunks[half].huge, CHUNK_WITHDRAWN);
    vt__free(part);
    vt__free(large);
    vt__heap_release_all();
    assert_int_equal(vt__chunks[half - 1].huge, CHUNK_AS_IT_CAME); /* it went back as a whole */
    large = touched(MiB(3));
    assert_int_equal(vt__slice_of(large) / VT_CHUNK_SLICES + 1, half);
    assert_int_equal(n_dirty_slices(), 0);
}

UNIT_MAIN()
