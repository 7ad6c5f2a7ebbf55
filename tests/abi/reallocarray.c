/* reallocarray.c - reallocarray: realloc with a product that must not overflow. */
#include "../check.h"

#include <malloc.h>

static void works_as_realloc(void) {
    unsigned char *p = reallocarray(NULL, 10, 10);
    if (!CHECK_NOT_NULL(p)) return;
    CHECK_GE(malloc_usable_size(p), 100);
    fill(p, 100, 1);
    for (size_t n = 20; n < 200000; n = n * 3 / 2) {
        size_t before = malloc_usable_size(p) < 100 ? malloc_usable_size(p) : 100;
        p = reallocarray(p, n, 10);
        if (!CHECK_NOT_NULL(p)) return;
        CHECK_GE(malloc_usable_size(p), n * 10);
        CHECK_EQ(intact(p, before, 1), before);
    }
    p = reallocarray(p, 5, 20);
    CHECK_EQ(intact(p, 100, 1), 100);
    CHECK_NULL(reallocarray(p, opaque_size(0), 20)); /* frees, as realloc(p, 0) */
    p = reallocarray(NULL, opaque_size(0), 20);
    CHECK_NOT_NULL(p);
    free(p);
}

static void overflow_fails_and_leaves_the_block(void) {
    static const size_t pairs[][2] = {
        {SIZE_MAX, 2},
        {2, SIZE_MAX},
        {SIZE_MAX / 2 + 1, 2},                    /* product 0: must not free */
        {(size_t)1 << 32, (size_t)1 << 32},       /* product 0 */
        {((size_t)1 << 32) + 1, (size_t)1 << 32}, /* product 2^32 */
        {SIZE_MAX / 16 + 2, 16},                  /* product 16 */
        {(size_t)PTRDIFF_MAX / 2 + 1, 2},
        {SIZE_MAX, 1},
        {1, (size_t)PTRDIFF_MAX},
    };
    unsigned char *p = malloc(200);
    if (!CHECK_NOT_NULL(p)) return;
    fill(p, 200, 5);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t count = opaque_size(pairs[i][0]), n = opaque_size(pairs[i][1]);
        CHECK_FAILS(reallocarray(opaque(p), count, n), ENOMEM);
        CHECK_EQ(intact(p, 200, 5), 200);
        CHECK_FAILS(reallocarray(NULL, count, n), ENOMEM);
    }
    free(p);
}

int main(void) {
    check_allocator();
    works_as_realloc();
    overflow_fails_and_leaves_the_block();
    return CHECK_DONE();
}
