/* test_large.c - blocks above 64 KiB: they grow and shrink in place, move without copying, and align to anything. */
#include <sys/mman.h>

#include "look.h"

static size_t slices_for_bytes(size_t n) { return (n + VT_SLICE - 1) / VT_SLICE; }

/* Signs of life in a large block: its first, last and some middle bytes, without touching all of it. */
static void sign(char *p, size_t n, unsigned name) {
    for (size_t i = 0; i < n; i += 4096 * 37) p[i] = (char)(name + i / 4096);
    p[n - 1] = (char)~name;
}

static void check_sign(const char *p, size_t n, unsigned name) {
    for (size_t i = 0; i < n; i += 4096 * 37)
        if (p[i] != (char)(name + i / 4096))
            fail_msg("byte %zu of %zu: expected %d, seen %d", i, n, (char)(name + i / 4096), p[i]);
    assert_int_equal(p[n - 1], (char)~name);
}

TEST(large, usable_size_is_whole_pages_and_all_of_it_can_be_written) {
    for (size_t n = VT_MEDIUM_MAX + 1; n < MiB(40); n = n * 3 / 2 + 1) {
        char *p = vt__malloc(n);
        size_t usable = vt__usable_size(p);
        assert_true(usable >= n && usable < n + VT_OS_PAGE);
        memset(p, 1, usable);
        vt__free(p);
    }
    vt__heap_audit();
}

TEST(large, freeing_gives_every_slice_back) {
    vt__free(vt__malloc(1));
    size_t before = n_used_slices();
    void *at[30];
    for (int i = 0; i < 30; i++) at[i] = vt__malloc(100000u * (unsigned)(i + 1));
    for (int i = 0; i < 30; i++) vt__free(at[(i * 7) % 30]);
    assert_int_equal(n_used_slices(), before);
}

TEST(large, growing_into_free_memory_behind_keeps_the_address) {
    char *p = vt__malloc(100000);
    sign(p, 100000, 3);
    char *q = vt__realloc(p, 500000); /* nothing else is there yet: the slices behind are free */
    assert_ptr_equal(q, p);
    check_sign(q, 100000, 3);
    assert_true(vt__usable_size(q) >= 500000);
    memset(q, 1, vt__usable_size(q));
    vt__free(q);
}

TEST(large, blocks_that_grow_in_turn_leave_room_for_each_other) {
    char *at[4];
    unsigned n_moves = 0;
    for (unsigned i = 0; i < 4; i++) at[i] = vt__realloc(vt__malloc(100), KiB(32));
    for (size_t n = KiB(64); n <= KiB(448); n += KiB(32))
        for (unsigned i = 0; i < 4; i++) {
            char *before = at[i];
            at[i] = vt__realloc(at[i], n);
            n_moves += at[i] != before;
        }
    assert_int_equal(n_moves, 0);
    for (unsigned i = 0; i < 4; i++) vt__free(at[i]);
}

TEST(large, growing_against_a_neighbour_moves_and_keeps_the_contents) {
    for (size_t n = 100000; n < MiB(20); n *= 3) {
        char *p = vt__malloc(n);
        char *fence = vt__malloc(VT_CHUNK * 2);
        fill(p, n);
        char *q = vt__realloc(p, n * 2);
        assert_non_null(q);
        check_filled(q, p, n);
        memset(q, 7, vt__usable_size(q));
        vt__free(fence);
        vt__free(q);
    }
    vt__heap_audit();
}

TEST(large, shrinking_keeps_the_address_and_gives_the_rest_back) {
    vt__free(vt__malloc(1));
    size_t before = n_used_slices();
    char *p = vt__malloc(MiB(10));
    sign(p, MiB(1), 9);
    char *q = vt__realloc(p, MiB(1));
    assert_ptr_equal(q, p);
    check_sign(q, MiB(1), 9);
    assert_int_equal(n_used_slices(), before + slices_for_bytes(MiB(1)));
    char *other = vt__malloc(MiB(4)); /* may lie in what was given back */
    memset(other, 3, MiB(4));
    check_sign(q, MiB(1), 9);
    vt__free(q);
    vt__free(other);
    assert_int_equal(n_used_slices(), before);
}

TEST_WITH(large, shrinking_by_small_steps_takes_few_calls, "VITRINE_RETAIN=0") {
    char *p = vt__malloc(MiB(64));
    size_t n_before = vt__pool.n_purges;
    for (size_t n = MiB(64); n > MiB(1); n -= VT_OS_PAGE) {
        assert_ptr_equal(vt__realloc(p, n), p);
        assert_int_equal(vt__usable_size(p), n);
    }
    size_t n_calls = vt__pool.n_purges - n_before;
    assert_true_msg(n_calls > 32 && n_calls <= 250, "16128 steps: expected up to 250, seen %zu",
                    n_calls);
    vt__free(p);
}

TEST(large, an_end_that_stays_is_grown_into_without_asking) {
    static const struct {
        size_t n_bytes, stays, goes;
    } rows[] = {{KiB(128), KiB(97), KiB(96)},
                {MiB(1), KiB(769), KiB(768)},
                {MiB(64), MiB(62) + 1, MiB(62)}};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        char *p = vt__malloc(rows[i].n_bytes);
        size_t before = n_used_slices();
        assert_ptr_equal(vt__realloc(p, rows[i].stays), p);
        assert_int_equal(n_used_slices(), before);
        assert_ptr_equal(vt__realloc(p, rows[i].n_bytes), p);
        assert_ptr_equal(vt__realloc(p, rows[i].goes), p);
        assert_int_equal(n_used_slices(),
                         before - slices_for_bytes(rows[i].n_bytes - rows[i].goes));
        assert_ptr_equal(vt__realloc(p, rows[i].n_bytes), p);
        vt__free(p);
    }
}

TEST(large, the_threads_bytes_know_of_another_size) {
    vt__free(vt__malloc(1));
    struct vt_thread_bytes before = *vt__heap_thread_bytes(VT_BYTES_BOTH);
    char *p = vt__malloc(MiB(3));
    char *fence = vt__malloc(MiB(2));
    p = vt__realloc(p, MiB(2)); /* here */
    p = vt__realloc(p, MiB(3)); /* here again */
    p = vt__realloc(p, MiB(9)); /* elsewhere */
    struct vt_thread_bytes after = *vt__heap_thread_bytes(VT_BYTES_BOTH);
    assert_int_equal(after.allocated - before.allocated - (after.freed - before.freed), MiB(11));
    vt__free(p);
    vt__free(fence);
    after = *vt__heap_thread_bytes(VT_BYTES_BOTH);
    assert_int_equal(after.allocated - before.allocated, after.freed - before.freed);
}

TEST(large, shrinking_below_the_large_sizes_copies_into_a_slab) {
    char *p = fill(vt__malloc(300000), 300000);
    char *q = vt__realloc(p, 1000);
    assert_int_equal(vt__usable_size(q), vt__class_bytes(vt__class_of(1000)));
    check_filled(q, p, 1000);
    vt__free(q);
}

static void grow_and_shrink_at_random(void) {
    char *at[8] = {NULL};
    size_t size[8] = {0};
    uint64_t rng = 77;
    vt__free(vt__malloc(1));
    size_t before = n_used_slices();
    for (int i = 0; i < 1500; i++) {
        uint64_t r = unit_random(&rng);
        unsigned k = r % 8;
        size_t n = VT_MEDIUM_MAX + 1 + (r >> 8) % MiB((r >> 40) % 8 == 0 ? 24 : 3);
        char *p = vt__realloc(at[k], n);
        assert_non_null(p);
        if (at[k] != NULL) {
            size_t kept = size[k] < n ? size[k] : n;
            for (size_t b = 0; b < kept; b += 4096 * 37)
                if (p[b] != (char)(k + b / 4096))
                    fail_msg("turn %d, byte %zu of %zu: expected %d, seen %d", i, b, kept,
                             (char)(k + b / 4096), p[b]);
        }
        at[k] = p;
        size[k] = n;
        sign(p, n, k);
    }
    for (int k = 0; k < 8; k++) vt__free(at[k]);
    assert_int_equal(n_used_slices(), before);
    vt__heap_release_all();
    assert_int_equal(n_dirty_slices(), 0);
}

TEST(large, many_sizes_at_random_keep_their_contents) { grow_and_shrink_at_random(); }

TEST_WITH(large, where_pages_cannot_move_they_are_copied, "VITRINE_FAIL_ALWAYS=mremap_dontunmap") {
    grow_and_shrink_at_random();
}

TEST_WITH(large, nothing_depends_on_purging, "VITRINE_FAIL_ALWAYS=purge VITRINE_RETAIN=0") {
    char *p = vt__malloc(MiB(8));
    memset(p, 0x55, MiB(8));
    vt__free(p);
    p = vt__calloc(1, MiB(8));
    check_zero(p, MiB(8)); /* not purged, so it must have been cleared */
    vt__free(p);
}

TEST(large, calloc_is_zero_whatever_was_there_before) {
    for (int turn = 0; turn < 6; turn++) {
        size_t n = 70000u << turn;
        char *p = vt__malloc(n);
        memset(p, 0xee, vt__usable_size(p));
        if (turn % 2 == 0) p = vt__realloc(p, n * 2 + 5);
        vt__free(p);
        if (turn % 3 == 2) vt__heap_release_all();
        p = vt__calloc(n / 10, 10);
        check_zero(p, n / 10 * 10);
        memset(p, 0xdd, n / 10 * 10);
        vt__free(p);
    }
}

/* Few pages are touched: most are zero as they came, and calloc does not make them resident. Which pages the kernel says. */
static size_t n_resident(void *p, size_t n_bytes) {
    static unsigned char page[MiB(4) / VT_OS_PAGE];
    size_t n = 0;
    assert_int_equal(mincore(p, n_bytes, page), 0);
    for (size_t i = 0; i < n_bytes / VT_OS_PAGE; i++) n += page[i] & 1;
    return n;
}

TEST_WITH(large, what_calloc_gave_and_nobody_used_stays_zero_without_clearing, "VITRINE_SAMPLE=0") {
    char *before = vt__malloc(MiB(4));
    __builtin_memset(before, 1, MiB(4));
    vt__free(before);
    size_t n = SIZE_MAX;
    for (int i = 0; i < 200 && n > 2; i++) { /* the first tries may have been slow */
        char *p = vt__calloc(1, MiB(4));
        p[MiB(2)] = 1;
        n = n_resident(p, MiB(4));
        vt__free(p);
    }
    assert_true_msg(n <= 2, "expected 1 or 2 resident pages, seen %zu", n);
    char *p = vt__calloc(1, MiB(4));
    check_zero(p, MiB(4));
    vt__free(p);
}

/* A program that uses all of it keeps its pages, but for a try now and then. */
TEST_WITH(large, what_calloc_gave_and_was_used_is_kept, "VITRINE_SAMPLE=0") {
    size_t n_purges = vt__pool.n_purges;
    for (int i = 0; i < 1000; i++) {
        char *p = vt__calloc(1, MiB(2));
        check_zero(p, VT_OS_PAGE);
        __builtin_memset(p, 1, MiB(2));
        vt__free(p);
    }
    assert_true_msg(vt__pool.n_purges - n_purges <= 20, "expected at most 20 purges, seen %zu",
                    vt__pool.n_purges - n_purges);
}

TEST(large, a_block_that_moved_leaves_zero_or_nothing_to_calloc) {
    char *p = vt__malloc(MiB(4));
    char *fence = vt__malloc(MiB(4));
    memset(p, 0x42, MiB(4));
    char *q = vt__realloc(p, MiB(9));
    for (int i = 0; i < 3; i++) {
        char *r = vt__calloc(1, MiB(4)); /* the old place, if it is used again */
        check_zero(r, MiB(4));
        memset(r, 1, MiB(4));
        vt__free(r);
    }
    for (size_t i = 0; i < MiB(4); i += 64) assert_int_equal(q[i], 0x42);
    vt__free(fence);
    vt__free(q);
}

/* Earlier moves leave the window in several mappings; a block may then lie in more than one, and grow again. */
TEST(large, a_block_over_several_mappings_moves_like_any_other) {
    for (int turn = 0; turn < 20; turn++) {
        char *a = vt__malloc(MiB(3)), *fence = vt__malloc(MiB(2));
        memset(a, 1, MiB(3));
        a = vt__realloc(a, MiB(5)); /* moved */
        vt__free(fence);
        vt__free(a);
        char *b = vt__malloc(MiB(11)), *second = vt__malloc(MiB(2));
        memset(b, 0x21 + turn, MiB(11));
        b = vt__realloc(b, MiB(30));
        for (size_t i = 0; i < MiB(11); i += 64) assert_int_equal(b[i], 0x21 + turn);
        memset(b, 2, MiB(30));
        vt__free(second);
        vt__free(b);
    }
}

TEST(large, alignment_up_to_a_gibibyte) {
    for (size_t align = 16; align <= GiB(1); align *= 2)
        for (size_t n = 1; n <= MiB(3); n = n * 50 + 3) {
            char *p = vt__aligned_alloc(align, n);
            if (p == NULL) fail_msg("align %zu, %zu bytes: expected a block, seen NULL", align, n);
            assert_int_equal((uintptr_t)p % align, 0);
            assert_true(vt__usable_size(p) >= n);
            p[0] = p[n - 1] = 1;
            vt__free(p);
        }
    vt__heap_audit();
}

TEST(large, absurd_sizes_give_enomem_and_change_nothing) {
    static const size_t rows[] = {PTRDIFF_MAX, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2 + 1, TiB(100)};
    vt__free(vt__malloc(1));
    size_t before = n_used_slices();
    for (size_t i = 0; i < vt_countof(rows); i++) {
        errno = 0;
        assert_null(vt__malloc(rows[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(vt__calloc(rows[i], 2));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(vt__aligned_alloc(64, rows[i]));
        assert_int_equal(errno, ENOMEM);
        void *p = fill(vt__malloc(100000), 100000);
        errno = 0;
        assert_null(vt__realloc(p, rows[i]));
        assert_int_equal(errno, ENOMEM);
        check_filled(p, p, 100000);
        vt__free(p);
    }
    errno = 0;
    assert_null(vt__aligned_alloc((size_t)1 << 62, 10));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(n_used_slices(), before);
}

static void free_it(void *p) { vt__free(p); }
static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

TEST(large, mistakes_end_the_process) {
    char *p = vt__malloc(MiB(3));
    unit_dies_saying(free_it, p + 16, "not the start of a block");
    unit_dies_saying(free_it, p + VT_SLICE, "not the start of a block");
    unit_dies_saying(free_it, p + MiB(3) - 16, "not the start of a block");
    unit_dies_saying(free_twice, p, "double free of");
    vt__free(p);
}

TEST(large, free_leaves_errno_alone) {
    void *at[3] = {vt__malloc(10), vt__malloc(MiB(40)), vt__malloc(MiB(3))};
    memset(at[1], 1, MiB(40));
    for (int i = 0; i < 3; i++) {
        errno = 4711;
        vt__free(at[i]);
        assert_int_equal(errno, 4711);
    }
}

UNIT_MAIN()
