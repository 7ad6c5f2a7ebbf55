/* calloc.c - calloc: zeroed memory, also where it was used before, and products that overflow. */
#include "../check.h"

#include <malloc.h>

static const size_t sizes[] = {
    0,       1,     15,     16,     17,      100,     512,           1000,
    1024,    1025,  4095,   4096,   5000,    16384,   32768,         40000,
    65536,   65537, 100000, 262144, 1 << 20, 2 << 20, (2 << 20) + 1, 5 << 20,
    33 << 20};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void fresh_memory_is_zero(void) {
    for (int i = 0; i < N_SIZES; i++) {
        unsigned char *p = calloc(1, sizes[i]);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_ALIGNED(p, 16);
        CHECK_EQ(first_nonzero(p, sizes[i]), sizes[i]);
        free(p);
    }
}

/* The interesting case: calloc may skip the memset only when it knows where the memory has been. */
static void reused_memory_is_zero(void) {
    enum { N = 64 };
    for (int i = 0; i < N_SIZES; i++) {
        static unsigned char *p[N];
        size_t n = sizes[i];
        int count = n > (1 << 20) ? 2 : N;
        for (int round = 0; round < 3; round++) {
            for (int k = 0; k < count; k++) {
                p[k] = malloc(n);
                if (!CHECK_NOT_NULL(p[k])) return;
                memset(p[k], 0xa5, n);
            }
            for (int k = 0; k < count; k++) free(p[(k * 7 + round) % count]);
            for (int k = 0; k < count; k++) {
                p[k] = calloc(n ? 1 : 3, n);
                if (!CHECK_NOT_NULL(p[k])) return;
                CHECK_EQ(first_nonzero(p[k], n), n);
                memset(p[k], 0x5a, n);
            }
            for (int k = 0; k < count; k++) free(p[k]);
        }
    }
}

/* Dirty by one size, taken again by another: blocks move between classes and runs. */
static void memory_that_changed_its_size_is_zero(void) {
    enum { N = 256 };
    static unsigned char *p[N];
    for (int i = 0; i + 1 < N_SIZES; i++) {
        size_t from = sizes[i], to = sizes[i + 1];
        int count = to > (1 << 20) ? 2 : N;
        for (int k = 0; k < count; k++) {
            p[k] = malloc(from);
            if (!CHECK_NOT_NULL(p[k])) return;
            memset(p[k], 0xff, from);
        }
        for (int k = 0; k < count; k++) free(p[k]);
        for (int k = 0; k < count; k++) {
            p[k] = calloc(to, 1);
            if (!CHECK_NOT_NULL(p[k])) return;
            CHECK_EQ(first_nonzero(p[k], to), to);
        }
        for (int k = 0; k < count; k++) free(p[k]);
    }
}

/* As glibc's, which clears all that it can: a program may use the rest of the block. */
static void the_whole_block_is_zero(void) {
    for (int i = 0; i + 2 < N_SIZES; i++) {
        for (int k = 0; k < 40; k++) {
            unsigned char *p = malloc(sizes[i] + 1);
            if (!CHECK_NOT_NULL(p)) return;
            memset(p, 0xc3, malloc_usable_size(p));
            free(p);
        }
        unsigned char *p = calloc(sizes[i] + 1, 1);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_EQ(first_nonzero(p, malloc_usable_size(p)), malloc_usable_size(p));
        free(p);
    }
}

/* After a realloc that moved pages about instead of copying, the old place must not look virgin. */
static void memory_left_by_realloc_is_zero(void) {
    for (size_t n = 4096; n <= (size_t)16 << 20; n *= 2) {
        unsigned char *p = malloc(n);
        if (!CHECK_NOT_NULL(p)) return;
        memset(p, 0x77, n);
        p = realloc(p, 3 * n);
        if (!CHECK_NOT_NULL(p)) return;
        memset(p, 0x77, 3 * n);
        unsigned char *q = calloc(n, 1);
        if (!CHECK_NOT_NULL(q)) return;
        CHECK_EQ(first_nonzero(q, n), n);
        p = realloc(p, n / 2);
        unsigned char *r = calloc(2 * n, 1);
        if (!CHECK_NOT_NULL(r)) return;
        CHECK_EQ(first_nonzero(r, 2 * n), 2 * n);
        free(p), free(q), free(r);
    }
}

static void a_zero_factor_gives_distinct_blocks(void) {
    void *a = calloc(opaque_size(0), 8), *b = calloc(8, opaque_size(0)), *c = calloc(0, 0);
    CHECK_NOT_NULL(a), CHECK_NOT_NULL(b), CHECK_NOT_NULL(c);
    CHECK_NE(a, b), CHECK_NE(b, c), CHECK_NE(a, c);
    free(a), free(b), free(c);
    void *d = calloc(0, opaque_size(SIZE_MAX)), *e = calloc(opaque_size(SIZE_MAX), 0);
    CHECK_NOT_NULL(d), CHECK_NOT_NULL(e);
    free(d), free(e);
}

static void products_that_overflow_fail_with_enomem(void) {
    static const size_t pairs[][2] = {
        {SIZE_MAX, 2},
        {2, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},                      /* product 0 */
        {((size_t)1 << 32) + 1, ((size_t)1 << 32)}, /* product 2^32 */
        {(size_t)1 << 32, (size_t)1 << 32},         /* product 0 */
        {SIZE_MAX / 16 + 2, 16},                    /* product 16 */
        {SIZE_MAX, 1},
        {1, SIZE_MAX},
        {(size_t)PTRDIFF_MAX + 1, 1},
        {(size_t)PTRDIFF_MAX / 2 + 1, 2}, /* fits in size_t, not in ptrdiff_t */
        {(size_t)PTRDIFF_MAX, 1},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        CHECK_FAILS(calloc(opaque_size(pairs[i][0]), opaque_size(pairs[i][1])), ENOMEM);
    void *p = calloc(10, 10);
    CHECK_NOT_NULL(p);
    free(p);
}

int main(void) {
    check_allocator();
    fresh_memory_is_zero();
    reused_memory_is_zero();
    memory_that_changed_its_size_is_zero();
    the_whole_block_is_zero();
    memory_left_by_realloc_is_zero();
    a_zero_factor_gives_distinct_blocks();
    products_that_overflow_fail_with_enomem();
    return CHECK_DONE();
}
