/* aligned_alloc.c - aligned_alloc and memalign. */
#include "../check.h"

#include <malloc.h>

typedef void *aligned_fn(size_t alignment, size_t n);

static void good_alignments(aligned_fn *fn) {
    for (size_t a = 1; a <= (size_t)4 << 20; a *= 2) {
        static const size_t sizes[] = {0,    1,    24,   100,
                                       4096, 5000, 70000}; /* no multiple is asked for */
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            errno = EXDEV;
            unsigned char *p = opaque(fn(a, opaque_size(sizes[i])));
            CHECK_EQ(errno, EXDEV);
            if (!CHECK_NOT_NULL(p)) return;
            CHECK_ALIGNED(p, a);
            CHECK_ALIGNED(p, 16);
            CHECK_GE(malloc_usable_size(p), sizes[i]);
            fill(p, sizes[i], 1);
            CHECK_EQ(intact(p, sizes[i], 1), sizes[i]);
            free(p);
        }
    }
}

static void zero_bytes_give_distinct_blocks(aligned_fn *fn) {
    void *a = fn(64, opaque_size(0)), *b = fn(64, opaque_size(0));
    CHECK_NOT_NULL(a), CHECK_NOT_NULL(b), CHECK_NE(a, b);
    CHECK_ALIGNED(a, 64), CHECK_ALIGNED(b, 64);
    free(a), free(b);
}

static void too_much_fails_with_enomem(aligned_fn *fn) {
    static const size_t alignments[] = {1, 16, 64, 4096, (size_t)2 << 20, (size_t)1 << 30};
    static const size_t sizes[] = {SIZE_MAX,
                                   SIZE_MAX - 63,
                                   SIZE_MAX - 4096,
                                   (size_t)PTRDIFF_MAX,
                                   (size_t)PTRDIFF_MAX + 1,
                                   (size_t)1 << 62};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            CHECK_FAILS(fn(alignments[i], opaque_size(sizes[k])), ENOMEM);
    CHECK_FAILS(fn(opaque_size((size_t)1 << 62), 16), ENOMEM); /* a power of two, but where? */
    void *p = fn(64, 64);
    CHECK_NOT_NULL(p);
    free(p);
}

static void bad_alignment_is_einval_in_aligned_alloc(void) {
    static const size_t bad[] = {0, 3, 24, 48, 100, 4097, SIZE_MAX, SIZE_MAX - 1, (size_t)3 << 40};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(aligned_alloc(opaque_size(bad[i]), 64), EINVAL);
}

/* glibc rounds a bad boundary up and some programs live by it; others refuse. Either is sound. What is
 * not: a block on a lesser boundary than was asked for. */
static void bad_alignment_is_einval_or_rounded_up_in_memalign(void) {
    static const struct {
        size_t asked, rounded;
    } bad[] = {{0, 16}, {3, 16}, {24, 32}, {48, 64}, {100, 128}, {4097, 8192}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        errno = 0;
        void *p = opaque(memalign(opaque_size(bad[i].asked), 64));
        if (p)
            CHECK_ALIGNED(p, bad[i].rounded);
        else
            CHECK_EQ(errno, EINVAL);
        free(p);
    }
    CHECK_FAILS(memalign(opaque_size(SIZE_MAX), 64), EINVAL); /* nothing to round up to */
}

int main(void) {
    check_allocator();
    good_alignments(aligned_alloc);
    good_alignments(memalign);
    zero_bytes_give_distinct_blocks(aligned_alloc);
    zero_bytes_give_distinct_blocks(memalign);
    too_much_fails_with_enomem(aligned_alloc);
    too_much_fails_with_enomem(memalign);
    bad_alignment_is_einval_in_aligned_alloc();
    bad_alignment_is_einval_or_rounded_up_in_memalign();
    return CHECK_DONE();
}
