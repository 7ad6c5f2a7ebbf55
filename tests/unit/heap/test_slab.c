/* test_slab.c - slabs fill, empty, sleep when full and wake up again; what they hand out is whole and, if asked, zero. */
#include "look.h"

#include "heap/link.h"
#include "os/os.h"

TEST(slab, blocks_of_every_class_are_aligned_and_keep_what_is_written) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        size_t n_bytes = vt__class_bytes(c);
        size_t n = n_bytes <= KiB(1) ? 600 : 20; /* more than a slab of most classes */
        void *at[600];
        for (size_t i = 0; i < n; i++) {
            at[i] = fill(vt__malloc(n_bytes), n_bytes);
            assert_int_equal((uintptr_t)at[i] % VT_BLOCK_ALIGN, 0);
        }
        for (size_t i = 0; i < n; i++) check_filled(at[i], at[i], n_bytes);
        for (size_t i = 0; i < n; i++) vt__free(at[i]);
    }
    vt__heap_audit();
}

/* A slab of its own, or those of the blocks in the magazine. */
TEST(slab, a_class_that_was_filled_and_emptied_leaves_little) {
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class *k = &vt__classes[c];
        size_t before = n_used_slices();
        struct blocks b = take_blocks(3u * k->capacity + 1, k->block_bytes);
        assert_true(n_used_slices() >= before + 4u * k->n_slices);
        vt__heap_audit();
        free_blocks(b);
        vt__heap_audit();
        size_t n_left = k->n_slices *
                        (c < VT_N_SMALL ? 1u : (unsigned)vt__tls.real->magazines.n[c - VT_N_SMALL]);
        assert_true_msg(n_used_slices() <= before + n_left,
                        "class %u: expected at most %zu slices, seen %zu", c, before + n_left,
                        n_used_slices());
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

TEST(slab, emptying_in_any_order_gives_everything_back) {
    uint64_t rng = 3;
    vt__free(vt__malloc(1));
    vt__heap_release_all();
    size_t before = n_used_slices();
    for (int order = 0; order < 3; order++) {
        struct blocks b = take_blocks(5000, 200);
        for (size_t i = b.n; order > 0 && i-- > 1;) { /* 0 in order, 1 reversed, 2 shuffled */
            size_t k = order == 1 ? b.n - 1 - i : unit_random(&rng) % (i + 1);
            if (order == 1 && k >= i) break;
            void *p = b.at[i];
            b.at[i] = b.at[k];
            b.at[k] = p;
        }
        free_blocks(b);
        vt__heap_release_all();
        assert_int_equal(n_used_slices(), before);
    }
}

/* All blocks of the first slab of a class, and one of the next slab: the first is full and not current. */
static struct blocks a_full_slab(size_t n_bytes, void **next) {
    vt__free(vt__malloc(1)); /* the table of classes is there from the first malloc on */
    struct blocks b = take_blocks(class_row(n_bytes)->capacity, n_bytes);
    *next = vt__malloc(n_bytes);
    for (size_t i = 1; i < b.n; i++) assert_ptr_equal(slab_of(b.at[i]), slab_of(b.at[0]));
    assert_ptr_not_equal(slab_of(*next), slab_of(b.at[0]));
    assert_int_equal(slab_of(b.at[0])->state, SLAB_FULL);
    return b;
}

TEST(slab, a_full_slab_wakes_up_when_a_sixteenth_of_it_is_free_and_not_before) {
    static const size_t rows[] = {16, 64, 240, 528, 1024};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        void *next;
        struct blocks b = a_full_slab(rows[i], &next);
        struct slab *s = slab_of(b.at[0]);
        uint32_t wake = vt__wake_after(s);
        for (uint32_t n = 0; n < wake; n++) {
            assert_int_equal(s->state, SLAB_FULL);
            vt__free(b.at[n]);
        }
        assert_int_equal(s->state, wake < b.n ? SLAB_PARTIAL : SLAB_FREE);
        vt__heap_audit();
        for (uint32_t n = wake; n < b.n; n++) vt__free(b.at[n]);
        assert_int_equal(s->state, SLAB_FREE);
        vt__free(next);
    }
}

TEST(slab, a_woken_slab_is_used_before_new_memory) {
    void *next;
    struct blocks b = a_full_slab(512, &next);
    struct slab *s = slab_of(b.at[0]);
    uint32_t wake = vt__wake_after(s);
    for (uint32_t i = 0; i < wake; i++) vt__free(b.at[i]);
    size_t before = n_used_slices();
    unsigned n_from_s = 0;
    /* the rest of the current slab, then the woken one */
    for (uint32_t i = 0; i < class_row(512)->capacity - 1 + wake; i++)
        n_from_s += slab_of(vt__malloc(512)) == s;
    assert_int_equal(n_from_s, wake);
    assert_int_equal(n_used_slices(), before);
}

TEST(slab, ping_pong_stays_in_one_slab) {
    static const size_t rows[] = {1, 64, 1000, 3000, 60000};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        vt__free(vt__malloc(rows[i]));
        size_t before = n_used_slices();
        for (int n = 0; n < 100000; n++) vt__free(vt__malloc(rows[i]));
        assert_int_equal(n_used_slices(), before);
    }
}

/* Pairs of malloc and free, and how many of the mallocs found more than one block in their list. */
static int n_fast_of(int n_pairs, unsigned cls) {
    int n_fast = 0;
    for (int i = 0; i < n_pairs; i++) {
        n_fast += !link_is_far(link_distance(vt__tls.heap->list[cls]), VT_SLICE);
        vt__free(vt__malloc(vt__class_bytes(cls)));
    }
    return n_fast;
}

/* However many blocks the current slab has left, and whichever of those before was sampled. No sample comes by itself. */
TEST_WITH(slab, ping_pong_soon_finds_the_fast_path, "VITRINE_SAMPLE=1T") {
    vt__free(vt__malloc(1));
    for (unsigned c = 0; c < VT_N_SMALL; c++) {
        unsigned n_most = 2u * vt__classes[c].capacity;
        for (unsigned n_live = 0; n_live <= n_most; n_live += n_most > 100 ? n_live % 5 + 1 : 1)
            for (unsigned sampled = 0; sampled <= n_live; sampled += n_live / 3 + 1) {
                vt__heap_release_all();
                struct heap *h = vt__tls.heap;
                h->countdown[c] = h->draw[c].left = sampled; /* 0: to be drawn */
                struct blocks live = take_blocks(n_live, vt__class_bytes(c));
                n_fast_of(40, c);
                int n_fast = n_fast_of(60, c);
                assert_true_msg(n_fast >= 36,
                                "class %u, %u live, sample %u: expected 36 of 60 fast, seen %d", c,
                                n_live, sampled, n_fast);
                free_blocks(live);
            }
    }
    vt__heap_audit();
}

TEST(slab, calloc_is_zero_in_fresh_and_in_used_memory_of_every_class) {
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        size_t n_bytes = vt__class_bytes(c);
        void *at[40];
        for (int turn = 0; turn < 4; turn++) {
            for (int i = 0; i < 40; i++) {
                if ((i + turn) % 3 == 0) { /* mallocs in between, so that lists are shared */
                    at[i] = vt__malloc(n_bytes);
                } else {
                    at[i] = vt__calloc(1, n_bytes);
                    check_zero(at[i], n_bytes);
                }
                memset(at[i], 0xa5, n_bytes);
            }
            for (int i = 0; i < 40; i++) vt__free(at[i]);
            if (turn == 2) vt__heap_release_all();
        }
    }
}

TEST(slab, calloc_is_zero_in_slices_that_were_something_else_before) {
    for (int turn = 0; turn < 3; turn++) {
        char *big = vt__malloc(MiB(3));
        memset(big, 0x77, MiB(3));
        vt__free(big);
        for (unsigned c = 0; c < VT_N_CLASSES; c++) {
            void *p = vt__calloc(vt__class_bytes(c) / 16, 16);
            check_zero(p, vt__class_bytes(c));
            memset(p, 0x66, vt__class_bytes(c));
            vt__free(p);
        }
        vt__heap_release_all();
    }
}

TEST(slab, realloc_keeps_what_fits) {
    static const size_t rows[] = {1,    15,   16,    17,    100,   1000,   1024,
                                  1025, 5000, 32768, 65536, 65537, 200000, 3000000};
    for (size_t i = 0; i < vt_countof(rows); i++)
        for (size_t k = 0; k < vt_countof(rows); k++) {
            void *p = fill(vt__malloc(rows[i]), rows[i]);
            void *q = vt__realloc(p, rows[k]);
            assert_true(vt__usable_size(q) >= rows[k]);
            check_filled(q, p, rows[i] < rows[k] ? rows[i] : rows[k]);
            vt__free(q);
        }
    vt__heap_audit();
}

/* ---- mistakes ---- */

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

static void free_it(void *p) { vt__free(p); }

TEST(slab, a_second_free_ends_the_process_in_every_class) {
    vt__free(vt__malloc(1));
    for (unsigned c = 0; c < VT_N_CLASSES; c += 5) {
        struct blocks b = take_blocks(vt__classes[c].capacity, vt__class_bytes(c));
        unit_dies_saying(free_twice, b.at[0], "double free of");
        unit_dies_saying(free_twice, b.at[b.n - 1],
                         "double free of"); /* in the last slice of its slab */
        free_blocks(b);
    }
}

TEST(slab, a_pointer_into_a_block_ends_the_process_in_every_class) {
    vt__free(vt__malloc(1));
    for (unsigned c = 1; c < VT_N_CLASSES; c += 5) {
        struct blocks b = take_blocks(vt__classes[c].capacity, vt__class_bytes(c));
        unit_dies_saying(free_it, (char *)b.at[0] + 16, "not the start of a block");
        unit_dies_saying(free_it, (char *)b.at[b.n - 1] + vt__class_bytes(c) - 1,
                         "not the start of a block");
        free_blocks(b);
    }
}

/* Where a block would start if the slab were longer: in the unusable tail, or among the blocks not handed out yet. */
TEST(slab, a_pointer_behind_the_last_block_ends_the_process) {
    static const size_t rows[] = {16, 32, 48, 64, 112, 1008};
    for (size_t i = 0; i < vt_countof(rows); i++) {
        char *p = vt__malloc(rows[i]);
        const struct vt_class *k = class_row(rows[i]);
        char *base = (char *)vt__slice_address(vt__slab_id(slab_of(p)));
        char *behind = base + (size_t)k->capacity * k->block_bytes;
        char *end = base + (VT_SLICE - 1) / k->block_bytes * k->block_bytes;
        if (behind < base + VT_SLICE) unit_dies_saying(free_it, behind, "vitrine: error: ");
        if (end > behind && end < base + VT_SLICE)
            unit_dies_saying(free_it, end, "vitrine: error: ");
    }
}

static void corrupt_and_allocate(void *p) {
    vt__free(p);
    *(uint64_t *)p = 0x4141414141414141u;
    for (int i = 0; i < 5000; i++) vt__malloc(64);
}

TEST(slab, a_write_into_a_freed_block_is_found_when_the_block_is_used_again) {
    struct blocks b = take_blocks(10, 64);
    unit_dies_saying(corrupt_and_allocate, b.at[5], "free list corrupted at");
}

TEST(slab, what_it_cannot_use_of_memory_that_was_used_before_goes_back) {
    void *large = vt__malloc(VT_SLICE * 8);
    memset(large, 1, VT_SLICE * 8);
    vt__free(large);
    struct blocks b = take_blocks(4 * VT_SLAB_MAX_BLOCKS, 32);
    size_t n_reused = 0;
    for (size_t i = 0; i < 4; i++) {
        struct slab *s = slab_of(b.at[i * VT_SLAB_MAX_BLOCKS]);
        char *tail = (char *)vt__slice_address(vt__slab_id(s)) + 32 * VT_SLAB_MAX_BLOCKS;
        size_t resident = 1;
        assert_int_equal(vt__os_resident_bytes(tail, VT_SLICE / 2, &resident), 0);
        assert_int_equal(resident, 0);
        n_reused += !s->was_zero;
    }
    assert_true(n_reused > 0);
    free_blocks(b);
}

TEST(slab, what_goes_round_quickly_keeps_its_end) {
    size_t resident = 0;
    for (int i = 0; i < 2000 && resident == 0; i++) { /* 16 KiB each, so 256 in a second at most */
        void *large = vt__malloc(VT_SLICE * 8);
        memset(large, 1, VT_SLICE * 8);
        vt__free(large);
        struct slab *s = vt__slab_new((uintptr_t)vt__tls.heap, vt__class_of(32));
        char *tail = (char *)vt__slice_address(vt__slab_id(s)) + 32 * VT_SLAB_MAX_BLOCKS;
        assert_int_equal(vt__os_resident_bytes(tail, VT_SLICE / 2, &resident), 0);
        vt__slab_release(s);
        vt__stock_clear(vt__tls.real); /* for the large one */
    }
    assert_true(resident > 0);
}

UNIT_MAIN()
