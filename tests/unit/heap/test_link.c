/* test_link.c - the encoded links of free lists: what is linked is found again, and damage is seen. */
#include "unit.h"

#include "heap/link.h"

TEST(link, what_is_encoded_is_found_again) {
    char *chunk = aligned_alloc(VT_CHUNK, VT_CHUNK);
    uint64_t rng = 1;
    vt__map.key = 0x1234567890abcdefu | VT_KEY_BITS;
    for (int i = 0; i < 100000; i++) {
        struct block *a = (struct block *)(chunk + unit_random(&rng) % VT_CHUNK / 16 * 16);
        struct block *b = (struct block *)(chunk + unit_random(&rng) % VT_CHUNK / 16 * 16);
        a->link = link_encode(b, a);
        assert_ptr_equal(link_next(a, 0), b);
        a->link = link_encode(NULL, a);
        assert_null(link_next(a, 0));
    }
    free(chunk);
}

static struct block at;

static void follow(void *unused) {
    (void)unused;
    link_next(&at, 3);
}

TEST(link, a_list_that_was_written_to_ends_the_process_with_its_class) {
    static const uintptr_t rows[] = {
        0, 1, 0x41414141, 0x4141414141414141u, ~(uintptr_t)0, 0x00007f0000001000u};
    vt__map.key = 0x1234567890abcdefu | VT_KEY_BITS;
    for (size_t i = 0; i < vt_countof(rows); i++) {
        at.link = rows[i];
        unit_dies_saying(follow, NULL, "free list corrupted at");
        unit_dies_saying(follow, NULL, "64 bytes (class 3)");
    }
}

TEST(link, the_empty_list_leaves_the_fast_path_whatever_the_key) {
    uint64_t rng = 7;
    for (int i = 0; i < 1000; i++) {
        vt__map.key = (unit_random(&rng) & ~(UINT64_C(0xff) << 56)) | VT_KEY_BITS;
        assert_true(link_is_far(link_distance(&vt__nil), VT_SLICE));
    }
}

UNIT_MAIN()
