/* test_class.c - the table of size classes, size by size: no request gets less than it needs, or much more. */
#include "unit.h"

#include "heap/fast.h"

TEST(class, block_sizes_rise_and_are_multiples_of_sixteen) {
    vt__classes_init();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        assert_int_equal(vt__classes[c].block_bytes, vt__class_bytes(c));
        assert_int_equal(vt__class_bytes(c) % VT_BLOCK_ALIGN, 0);
        if (c > 0) assert_true(vt__class_bytes(c) > vt__class_bytes(c - 1));
    }
    assert_int_equal(vt__class_bytes(0), 16);
    assert_int_equal(vt__class_bytes(VT_N_SMALL - 1), VT_SMALL_MAX);
    assert_int_equal(vt__class_bytes(VT_N_CLASSES - 1), VT_MEDIUM_MAX);
}

TEST(class, every_size_maps_to_the_smallest_sufficient_class) {
    unsigned expected = 0;
    for (size_t n = 1; n <= VT_MEDIUM_MAX; n++) {
        while (vt__class_bytes(expected) < n) expected++;
        if (vt__class_of(n) != expected)
            fail_msg("%zu bytes: expected class %u, seen %u", n, expected, vt__class_of(n));
    }
}

TEST(class, above_128_bytes_a_block_is_at_most_an_eighth_larger_than_asked_for) {
    for (size_t n = 129; n <= VT_MEDIUM_MAX; n++) {
        size_t waste = vt__class_bytes(vt__class_of(n)) - n;
        if (waste * 8 > n)
            fail_msg("%zu bytes: expected at most %zu wasted, seen %zu", n, n / 8, waste);
    }
}

TEST(class, a_slab_holds_as_many_blocks_as_fit_and_more_than_half_of_it_is_used) {
    vt__classes_init();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class *k = &vt__classes[c];
        size_t slab = k->n_slices * VT_SLICE;
        size_t tail = slab - (size_t)k->capacity * k->block_bytes;
        assert_true(k->n_slices >= 1 && k->n_slices < VT_CHUNK_SLICES);
        assert_true(k->capacity >= 1 && k->capacity <= VT_SLAB_MAX_BLOCKS);
        if (k->capacity == VT_SLAB_MAX_BLOCKS)
            continue; /* as many as there are bits: the rest is never touched */
        assert_true_msg(tail < k->block_bytes, "class %u: another block would fit into %zu bytes",
                        c, tail);
        /* only address space: a slab has the fewest slices that hold a block */
        assert_true_msg(tail * 2 <= slab, "class %u: %zu of %zu bytes unused", c, tail, slab);
        assert_true(k->list_goal >= 1);
        if (c < VT_N_SMALL)
            assert_int_equal(k->n_slices, 1); /* the fast path looks at one slice only */
    }
}

/* The multiplication on free's fast path against the division it stands for. Where no block starts, the number is beyond
 * every block. */
TEST(class, block_number_is_exact_for_every_offset_of_every_class) {
    vt__classes_init();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class *k = &vt__classes[c];
        struct slab s = {.recip = k->recip};
        for (size_t offset = 0; offset < VT_SLICE; offset++) {
            size_t seen = block_number(offset, &s);
            bool is_start = offset % k->block_bytes == 0;
            if (is_start ? seen != offset / k->block_bytes : seen <= VT_SLICE / VT_BLOCK_ALIGN)
                fail_msg("class %u, offset %zu (%s): seen block %zu", c, offset,
                         is_start ? "a start" : "no start", seen);
        }
    }
}

/* Beyond the first slice, where only whole blocks are asked about. */
TEST(class, every_block_of_every_class_has_its_number) {
    vt__classes_init();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class *k = &vt__classes[c];
        for (size_t i = 0; i < k->capacity; i++)
            assert_int_equal(i * k->block_bytes * k->recip >> 32, i);
    }
}

TEST(class, wake_up_comes_before_a_slab_is_empty) {
    vt__classes_init();
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        struct slab s = {.cls = (uint8_t)c};
        assert_true(vt__wake_after(&s) >= 1 && vt__wake_after(&s) <= vt__classes[c].capacity);
    }
}

TEST(class, usable_size_is_the_class_size) {
    for (size_t n = 1; n <= VT_MEDIUM_MAX; n += n < 2000 ? 1 : 97) {
        void *p = vt__malloc(n);
        assert_non_null(p);
        assert_int_equal(vt__usable_size(p), vt__class_bytes(vt__class_of(n)));
        assert_int_equal((uintptr_t)p % VT_BLOCK_ALIGN, 0);
        vt__free(p);
    }
    assert_int_equal(vt__usable_size(NULL), 0);
}

UNIT_MAIN()
