/* malloc.c - malloc and free: zero bytes, alignment, contents, absurd sizes. */
#include "../check.h"

#include <malloc.h>

/* malloc(0) gives a block of its own each time, usable as a key and accepted by free. */
static void zero_bytes_give_distinct_blocks(void) {
    enum { N = 1000 };
    static void *p[N];
    for (int i = 0; i < N; i++) {
        p[i] = opaque(malloc(opaque_size(0)));
        if (!CHECK_NOT_NULL(p[i])) return;
        CHECK_ALIGNED(p[i], 16);
    }
    int n_same = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) n_same += p[i] == p[j];
    CHECK_EQ(n_same, 0);
    for (int i = 0; i < N; i++) free(p[i]);
}

/* gcc assumes 16 bytes for any size, also for those that could do with less. */
static void every_size_is_aligned_and_writable(void) {
    for (size_t n = 1; n <= 4096; n++) {
        unsigned char *p = malloc(n);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_ALIGNED(p, 16);
        fill(p, n, (unsigned)n);
        CHECK_EQ(intact(p, n, (unsigned)n), n);
        free(p);
    }
    for (size_t n = 4096; n <= (size_t)64 << 20; n += n / 3) {
        unsigned char *p = malloc(n);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_ALIGNED(p, 16);
        fill(p, 64, 1);
        fill(p + n - 64, 64, 2);
        CHECK_EQ(intact(p, 64, 1), 64);
        CHECK_EQ(intact(p + n - 64, 64, 2), 64);
        free(p);
    }
}

static void live_blocks_keep_their_contents(void) {
    enum { N = 4000 };
    static unsigned char *p[N];
    for (unsigned i = 0; i < N; i++) {
        p[i] = malloc(i % 700);
        if (!CHECK_NOT_NULL(p[i])) return;
        fill(p[i], i % 700, i);
    }
    for (unsigned i = 0; i < N; i += 2) free(p[i]);
    for (unsigned i = 1; i < N; i += 2) CHECK_EQ(intact(p[i], i % 700, i), i % 700);
    for (unsigned i = 1; i < N; i += 2) free(p[i]);
}

/* More than PTRDIFF_MAX cannot be subtracted as pointers; the bound itself cannot be had. */
static void absurd_sizes_fail_with_enomem(void) {
    static const size_t sizes[] = {
        (size_t)PTRDIFF_MAX,
        (size_t)PTRDIFF_MAX + 1,
        (size_t)PTRDIFF_MAX - 1,
        (size_t)PTRDIFF_MAX - 15,
        (size_t)PTRDIFF_MAX / 2,
        SIZE_MAX,
        SIZE_MAX - 1,
        SIZE_MAX - 15,
        SIZE_MAX - 16,
        SIZE_MAX - 4095,
        SIZE_MAX - 4096,
        SIZE_MAX - ((size_t)2 << 20),
        SIZE_MAX / 2 + 4096,
        (size_t)1 << 62,
        (size_t)1 << 56,
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_FAILS(malloc(opaque_size(sizes[i])), ENOMEM);
        void *p = opaque(malloc(100)); /* the process goes on */
        CHECK_NOT_NULL(p);
        free(p);
    }
}

/* A program may look at errno after a malloc that worked (it must not, but many do). */
static void success_leaves_errno(void) {
    static const size_t sizes[] = {0, 1, 64, 1000, 5000, 40000, 100000, 3 << 20, 40 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = EXDEV;
        void *p = opaque(malloc(opaque_size(sizes[i])));
        CHECK_EQ(errno, EXDEV);
        free(p);
        CHECK_EQ(errno, EXDEV);
    }
}

int main(void) {
    check_allocator();
    zero_bytes_give_distinct_blocks();
    every_size_is_aligned_and_writable();
    live_blocks_keep_their_contents();
    absurd_sizes_fail_with_enomem();
    success_leaves_errno();
    return CHECK_DONE();
}
