/* realloc.c - realloc: NULL, zero, growing, shrinking, moving, and failing without loss. */
#include "../check.h"

#include <malloc.h>

static void null_means_malloc(void) {
    unsigned char *p = realloc(NULL, opaque_size(100));
    CHECK_NOT_NULL(p);
    CHECK_ALIGNED(p, 16);
    fill(p, 100, 1);
    free(p);
    void *a = realloc(NULL, opaque_size(0)), *b = realloc(NULL, opaque_size(0));
    CHECK_NOT_NULL(a), CHECK_NOT_NULL(b), CHECK_NE(a, b);
    free(a), free(b);
}

/* As glibc: the block is freed and the answer is NULL. If it were not freed, a million rounds of
 * 1 KiB would show; errno is no part of it, because nothing failed. */
static void zero_frees_and_returns_null(void) {
    static const size_t sizes[] = {1, 64, 1024, 40000, 1 << 20, 8 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *p = opaque(malloc(sizes[i]));
        errno = EXDEV;
        CHECK_NULL(realloc(p, opaque_size(0)));
        CHECK_EQ(errno, EXDEV);
    }
    void *low = opaque(malloc(1024)), *high = low;
    for (int i = 0; i < 100000; i++) {
        void *p = opaque(malloc(1024));
        if (p < low) low = p;
        if (p > high) high = p;
        if (realloc(p, opaque_size(0)) != NULL) CHECK_NULL(p);
    }
    /* 100 MB if they were kept; the same few slabs if they are freed */
    CHECK_LE((uintptr_t)high - (uintptr_t)low, (size_t)50 << 20);
}

/* Each step keeps what both sizes have in common. */
static void step_through(const size_t *sizes, int n) {
    unsigned char *p = malloc(sizes[0]);
    if (!CHECK_NOT_NULL(p)) return;
    fill(p, sizes[0], 7);
    for (int i = 1; i < n; i++) {
        size_t common = sizes[i] < sizes[i - 1] ? sizes[i] : sizes[i - 1];
        p = realloc(p, sizes[i]);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_ALIGNED(p, 16);
        CHECK_GE(malloc_usable_size(p), sizes[i]);
        CHECK_EQ(intact(p, common, 7), common);
        fill(p, sizes[i], 7);
    }
    free(p);
}

static void growing_and_shrinking_keep_the_data(void) {
    static const size_t up[] = {
        1,        2,       15,     16,     17,      33,      100,     500,           1000,
        1024,     1025,    2000,   5000,   10000,   20000,   40000,   65536,         65537,
        70000,    100000,  200000, 300000, 1 << 20, 3 << 20, 4 << 20, (4 << 20) + 1, 9 << 20,
        40 << 20, 41 << 20};
    enum { N = sizeof up / sizeof *up };
    size_t down[N], zigzag[2 * N];
    for (int i = 0; i < N; i++) down[i] = up[N - 1 - i];
    for (int i = 0; i < N; i++) zigzag[2 * i] = up[i], zigzag[2 * i + 1] = up[N - 1 - i];
    step_through(up, N);
    step_through(down, N);
    step_through(zigzag, 2 * N);
}

/* A string that grows by one byte, as many programs build them. */
static void byte_by_byte(void) {
    unsigned char *p = NULL;
    for (size_t n = 1; n <= 20000; n++) {
        p = realloc(p, n);
        if (!CHECK_NOT_NULL(p)) return;
        p[n - 1] = (unsigned char)(n * 13);
    }
    for (size_t n = 1; n <= 20000; n++)
        if (p[n - 1] != (unsigned char)(n * 13)) CHECK_EQ(p[n - 1], (unsigned char)(n * 13));
    for (size_t n = 20000; n > 0; n--) {
        p = realloc(p, n);
        if (!CHECK_NOT_NULL(p)) return;
        if (p[n - 1] != (unsigned char)(n * 13)) CHECK_EQ(p[n - 1], (unsigned char)(n * 13));
    }
    free(p);
}

/* Two large blocks growing in turn: neither may extend into the other. */
static void neighbours_growing_in_turn_stay_apart(void) {
    enum { N = 4 };
    unsigned char *p[N] = {0};
    size_t n = 0;
    for (int step = 0; step < 40; step++) {
        size_t more = n + 100000 + (size_t)step * 5000;
        for (unsigned k = 0; k < N; k++) {
            p[k] = realloc(p[k], more);
            if (!CHECK_NOT_NULL(p[k])) return;
            CHECK_EQ(intact(p[k], n, k), n);
            fill(p[k], more, k);
        }
        n = more;
    }
    for (unsigned k = 0; k < N; k++) CHECK_EQ(intact(p[k], n, k), n), free(p[k]);
}

/* The whole usable size may be in use when realloc is called. */
static void usable_bytes_beyond_the_request_move_along(void) {
    static const size_t sizes[] = {1, 20, 130, 1000, 1030, 5000, 66000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = malloc(sizes[i]);
        if (!CHECK_NOT_NULL(p)) return;
        size_t usable = malloc_usable_size(p);
        fill(p, usable, 3);
        p = realloc(p, usable * 4 + 1);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_EQ(intact(p, usable, 3), usable);
        free(p);
    }
}

static void shrinking_gives_memory_back(void) {
    unsigned char *p = malloc((size_t)64 << 20);
    if (!CHECK_NOT_NULL(p)) return;
    fill(p, 1000, 9);
    p = realloc(p, 1000);
    if (!CHECK_NOT_NULL(p)) return;
    CHECK_EQ(intact(p, 1000, 9), 1000);
    CHECK_LE(malloc_usable_size(p), (size_t)1 << 20);
    free(p);
}

/* A size that gets a block of the same size stays where it is. */
static void within_a_class_it_stays(void) {
    static unsigned short usable_of[4000];
    for (size_t n = 1; n < 4000; n++) {
        void *p = opaque(malloc(n));
        usable_of[n] = (unsigned short)malloc_usable_size(p);
        free(p);
    }
    for (size_t n = 1; n < 4000; n++) {
        void *p = opaque(malloc(n));
        for (size_t m = n > 200 ? n - 200 : 1; m < n + 200 && m < 4000; m++) {
            if (usable_of[m] != usable_of[n]) continue;
            void *q = realloc(p, m);
            if (q != p) CHECK_EQ(q, p);
            p = q;
        }
        free(p);
    }
}

static void failure_leaves_the_block(void) {
    static const size_t sizes[] = {16, 1000, 40000, 1 << 20, 5 << 20};
    static const size_t absurd[] = {SIZE_MAX,
                                    SIZE_MAX - 15,
                                    SIZE_MAX - 4096,
                                    (size_t)PTRDIFF_MAX + 1,
                                    (size_t)PTRDIFF_MAX,
                                    (size_t)1 << 60};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = malloc(sizes[i]);
        if (!CHECK_NOT_NULL(p)) return;
        fill(p, sizes[i], (unsigned)i);
        for (size_t k = 0; k < sizeof absurd / sizeof *absurd; k++) {
            CHECK_FAILS(realloc(opaque(p), opaque_size(absurd[k])), ENOMEM);
            CHECK_EQ(intact(p, sizes[i], (unsigned)i), sizes[i]);
            CHECK_GE(malloc_usable_size(p), sizes[i]);
        }
        unsigned char *q = realloc(p, sizes[i] + 100); /* and it is still a block like any other */
        CHECK_NOT_NULL(q);
        CHECK_EQ(intact(q, sizes[i], (unsigned)i), sizes[i]);
        free(q);
    }
    CHECK_FAILS(realloc(NULL, opaque_size(SIZE_MAX)), ENOMEM);
}

int main(void) {
    check_allocator();
    null_means_malloc();
    zero_frees_and_returns_null();
    growing_and_shrinking_keep_the_data();
    byte_by_byte();
    neighbours_growing_in_turn_stay_apart();
    usable_bytes_beyond_the_request_move_along();
    shrinking_gives_memory_back();
    within_a_class_it_stays();
    failure_leaves_the_block();
    return CHECK_DONE();
}
