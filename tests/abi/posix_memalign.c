/* posix_memalign.c - posix_memalign: its result is the error, and it leaves errno and *memptr alone. */
#include "../check.h"

#include <malloc.h>

static int some_object;
#define UNTOUCHED ((void *)&some_object)

static void good_alignments(void) {
    static const size_t sizes[] = {0, 1, 8, 24, 100, 1000, 4096, 5000, 33000, 70000, 3 << 20};
    for (size_t a = sizeof(void *); a <= (size_t)4 << 20; a *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            void *p = UNTOUCHED;
            errno = EXDEV;
            CHECK_EQ(posix_memalign(&p, a, opaque_size(sizes[i])), 0);
            CHECK_EQ(errno, EXDEV);
            if (!CHECK_NE(p, UNTOUCHED) || !CHECK_NOT_NULL(p)) return;
            CHECK_ALIGNED(p, a);
            CHECK_GE(malloc_usable_size(p), sizes[i]);
            fill(p, sizes[i], 2);
            CHECK_EQ(intact(p, sizes[i], 2), sizes[i]);
            free(p);
        }
    }
}

static void fails(size_t alignment, size_t n, int error) {
    void *p = UNTOUCHED;
    errno = EXDEV;
    int seen = posix_memalign(&p, opaque_size(alignment), opaque_size(n));
    if (!CHECK_EQ(seen, error)) check_say("  in posix_memalign(&p, %zu, %zu)", alignment, n);
    CHECK_EQ(errno, EXDEV);
    CHECK_EQ(p, UNTOUCHED);
}

static void bad_alignment_is_einval(void) {
    /* a power of two, and a multiple of sizeof(void *): 1, 2 and 4 are not */
    static const size_t bad[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 5,
                                 6,
                                 7,
                                 9,
                                 12,
                                 24,
                                 100,
                                 4095,
                                 4097,
                                 6144,
                                 SIZE_MAX,
                                 SIZE_MAX - 7,
                                 (size_t)3 << 20};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fails(bad[i], 64, EINVAL);
        fails(bad[i], 0, EINVAL);
    }
}

static void too_much_is_enomem(void) {
    static const size_t alignments[] = {8, 16, 64, 4096, (size_t)2 << 20, (size_t)1 << 30};
    static const size_t sizes[] = {SIZE_MAX,
                                   SIZE_MAX - 15,
                                   SIZE_MAX - 4095,
                                   (size_t)PTRDIFF_MAX,
                                   (size_t)PTRDIFF_MAX + 1,
                                   (size_t)1 << 62};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            fails(alignments[i], sizes[k], ENOMEM);
    fails((size_t)1 << 62, 16, ENOMEM);
    fails((size_t)1 << 63, 16, ENOMEM);
}

int main(void) {
    check_allocator();
    good_alignments();
    bad_alignment_is_einval();
    too_much_is_enomem();
    good_alignments(); /* and the process goes on */
    return CHECK_DONE();
}
