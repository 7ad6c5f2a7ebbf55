/* test_count.c - what a thread allocated and freed, asked for again and again. */
#define vt__os_now_ms ms_by_our_clock /* os.h declares it by this name, too */
#include "look.h"

static uint64_t clock_ms = 1000;
uint64_t ms_by_our_clock(void) { return clock_ms; }

#include "heap/count.c"

static struct vt_thread_bytes asked(void) { return *vt__heap_thread_bytes(VT_BYTES_BOTH); }
static uint64_t asked_allocated(void) {
    return vt__heap_thread_bytes(VT_BYTES_ALLOCATED)->allocated;
}

static size_t size_of(int i) { return 1 + (size_t)i * 37 % VT_SMALL_MAX; }

TEST_WITH(count, each_small_malloc_is_seen_by_the_next_question, "VITRINE_SAMPLE=0") {
    vt__free(vt__malloc(1));
    uint64_t before = asked_allocated();
    for (int i = 0; i < 5000; i++) {
        void *p = vt__malloc(size_of(i));
        uint64_t now = asked_allocated();
        if (now - before != vt__usable_size(p))
            fail_msg("malloc %d of %zu: expected %zu bytes, seen %llu", i, size_of(i),
                     vt__usable_size(p), (unsigned long long)(now - before));
        before = now;
        if (i % 3 != 0) vt__free(p);
    }
}

TEST_WITH(count, many_mallocs_between_two_questions_are_all_seen, "VITRINE_SAMPLE=0") {
    struct vt_thread_bytes before = asked();
    uint64_t expected = 0;
    for (int i = 0; i < 20000; i++) {
        void *p = vt__malloc(size_of(i));
        expected += vt__usable_size(p);
        vt__free(p);
    }
    struct vt_thread_bytes now = asked();
    assert_int_equal(now.allocated - before.allocated, expected);
    assert_int_equal(now.freed - before.freed, expected);
}

/* Blocks at hand, in lists and in magazines, are not in use. */
TEST_WITH(count, what_is_in_use_is_known_to_the_byte, "VITRINE_SAMPLE=0") {
    static void *at[4000];
    uint64_t rng = 1;
    vt__free(vt__malloc(1));
    int64_t before = vt__heap_in_use(/* wants_walk */ true), expected = 0;
    for (int i = 0; i < 40000; i++) {
        void **p = &at[unit_random(&rng) % vt_countof(at)];
        if (*p != NULL) expected -= (int64_t)vt__usable_size(*p);
        vt__free(*p);
        *p = vt__malloc(1 + (unit_random(&rng) % KiB(100) >> unit_random(&rng) % 12));
        expected += (int64_t)vt__usable_size(*p);
        if (i % 1000 != 0) continue;
        vt__tls.real->walk_at = 0;
        int64_t most = vt__heap_in_use(/* wants_walk */ false) - before;
        assert_int_equal(vt__heap_in_use(/* wants_walk */ true) - before, expected);
        assert_true(most >= expected);
    }
    for (size_t i = 0; i < vt_countof(at); i++) vt__free(at[i]);
}

TEST_WITH(count, frees_are_seen_by_the_next_question, "VITRINE_SAMPLE=0") {
    struct blocks b = take_blocks(3000, 100);
    struct vt_thread_bytes before = asked();
    for (size_t i = 0; i < b.n; i += 2) {
        vt__free(b.at[i]);
        assert_int_equal(asked().freed - before.freed, (i / 2 + 1) * 112);
    }
    assert_int_equal(asked().allocated, before.allocated);
    free(b.at);
}

/* A question numbers the blocks that wait: they are not clear any more. */
TEST(count, calloc_clears_blocks_that_were_counted) {
    for (int i = 0; i < 2000; i++) {
        size_t n = size_of(i);
        (void)asked();
        void *p = vt__calloc(1, n);
        check_zero(p, n);
    }
}

TEST_WITH(count, the_next_malloc_moves_what_somebody_watches, "VITRINE_SAMPLE=0") {
    for (int i = 0; i < 100; i++) vt__free(vt__malloc(size_of(i)));
    for (int i = 0; i < 100; i++) {
        const struct vt_thread_bytes *bytes = vt__heap_thread_bytes(VT_BYTES_TO_WATCH);
        uint64_t before = bytes->allocated;
        vt__free(vt__malloc(size_of(i)));
        assert_true(bytes->allocated > before);
    }
}

/* Its own slabs are many: they are looked at anew when some time has passed. */
TEST_WITH(count, frees_in_a_large_heap_are_seen_after_a_while, "VITRINE_SAMPLE=0") {
    struct blocks b = take_blocks(200000, 100);
    struct vt_thread_bytes before = asked();
    size_t n_steps = vt__tls.real->pace.n_steps;
    assert_true_msg(n_steps > SHORT_WALK, "expected a long walk, seen %zu steps", n_steps);
    clock_ms += 1000;
    before = asked();
    for (size_t i = 0; i < b.n; i += 2) vt__free(b.at[i]);
    assert_int_equal(asked().freed, before.freed);
    clock_ms += 1 + n_steps / VT_STEPS_PER_MS;
    assert_int_equal(asked().freed - before.freed, b.n / 2 * 112);
    free(b.at);
}

/* ---- in a new thread, with the heap of one that ended ---- */

#define N_KEPT 500
static void *kept[N_KEPT];

static void *leave_some_in_use(void *arg) {
    (void)arg;
    for (int i = 0; i < N_KEPT; i++) {
        kept[i] = vt__malloc(size_of(i));
        if (i % 3 == 0) vt__free(vt__malloc(100));
    }
    for (int i = 0; i < N_KEPT; i += 2) vt__free(kept[i]);
    return NULL;
}

static struct vt_thread_bytes expected, seen;

static void *take_and_give(void *n_blocks) {
    struct vt_thread_bytes before = asked();
    size_t n = (size_t)(uintptr_t)n_blocks;
    struct blocks b = take_blocks(n, 100);
    for (size_t i = 0; i < n; i += 2) vt__free(b.at[i]);
    struct vt_thread_bytes now = asked();
    expected = (struct vt_thread_bytes){.allocated = n * 112, .freed = (n + 1) / 2 * 112};
    seen.allocated = now.allocated - before.allocated;
    seen.freed = now.freed - before.freed;
    for (size_t i = 1; i < n; i += 2) vt__free(b.at[i]);
    free(b.at);
    return NULL;
}

static void run(void *(*thread)(void *), size_t arg) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, thread, (void *)(uintptr_t)arg), 0);
    pthread_join(t, NULL);
}

static void check_threads_after_others(void) {
    for (size_t n = 1; n < 2000; n = n * 3 / 2 + 1) {
        run(leave_some_in_use, 0);
        run(take_and_give, n);
        assert_int_equal(seen.allocated, expected.allocated);
        assert_int_equal(seen.freed, expected.freed);
        for (int i = 1; i < N_KEPT; i += 2) vt__free(kept[i]);
    }
}

TEST_WITH(count, a_new_thread_counts_what_it_takes_and_gives_itself, "VITRINE_SAMPLE=0") {
    check_threads_after_others();
}

TEST_WITH(count, a_new_thread_counts_the_same_when_some_are_sampled, "VITRINE_SAMPLE=2000") {
    check_threads_after_others();
}

/* Each counts off its class anew, and finds nothing. */
TEST_WITH(count, a_malloc_that_fails_allocated_nothing, "VITRINE_SAMPLE=0 VITRINE_LIMIT=8M") {
    for (unsigned i = 0; vt__malloc(1000) != NULL; i++) assert_true(i < 10000);
    uint64_t before = asked_allocated();
    for (size_t n = 16; n <= VT_SMALL_MAX; n += 16) {
        vt__heap_drop_thread_cache();
        if (vt__malloc(n) != NULL) before += n;
        assert_int_equal(asked_allocated(), before);
    }
}

UNIT_MAIN()
