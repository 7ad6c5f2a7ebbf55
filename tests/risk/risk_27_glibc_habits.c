/* risk_27_glibc_habits.c - what programs got used to with glibc; built with and without
 * _FORTIFY_SOURCE=3.
 *
 * They write up to malloc_usable_size (systemd and others did), tune with mallopt, probe for
 * malloc_get_state (old emacs), read mallinfo before and after, and grow buffers by realloc to the
 * usable size.
 */
#include "risk.h"

extern void *malloc_get_state(void) __attribute__((weak));

static void write_all_that_is_usable(void) {
    for (size_t n = 1; n < MiB(2); n = n + n / 7 + 1) {
        unsigned char *p = opaque(malloc(opaque_size(n))), *q = opaque(malloc(opaque_size(n)));
        MUST(p && q);
        size_t room = malloc_usable_size(p), other = malloc_usable_size(q);
        CHECK_GE(room, n);
        fill(p, room, 1);
        fill(q, other, 2);
        CHECK_EQ(intact(p, room, 1), room);
        unsigned char *grown = opaque(realloc(p, room)); /* asks for what it already has */
        MUST(grown != NULL);
        CHECK_EQ(intact(grown, room, 1), room);
        CHECK_EQ(intact(q, other, 2), other);
        free(grown);
        free(q);
    }
}

static void fortified_calls(void) {
    for (size_t n = 16; n < 5000; n += 111) {
        char *p = malloc(opaque_size(n)), *q = calloc(opaque_size(n), 1);
        MUST(p && q);
        memset(p, 'a', n - 1); /* checked against the object's size */
        p[n - 1] = 0;
        strcpy(q, p); /* allowed: the checked form of it is what this is about */
        CHECK_EQ(strlen(q), n - 1);
        CHECK_EQ(snprintf(q, n, "%zu", n) > 0, 1);
        p = realloc(p, n * 2);
        MUST(p != NULL);
        memset(p, 'b', n * 2);
        free(p);
        free(q);
    }
}

static void tuning(void) {
    static const int knobs[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,    M_MMAP_THRESHOLD,
                                M_MMAP_MAX, M_PERTURB,        M_ARENA_TEST, M_ARENA_MAX};
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++) CHECK_EQ(mallopt(knobs[i], 64), 1);
    CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 128 * 1024), 1);
    CHECK_EQ(mallopt(M_PERTURB, 0), 1);
    struct mallinfo2 before = mallinfo2();
    void *p = malloc(MiB(8));
    MUST(p != NULL);
    struct mallinfo2 after = mallinfo2();
    CHECK_TRUE(after.uordblks + after.hblkhd >= before.uordblks + before.hblkhd + MiB(8));
    free(p);
    malloc_trim(0);
}

int main(void) {
    require_preloaded();
    write_all_that_is_usable();
    fortified_calls();
    tuning();
    /* glibc itself dropped it for new programs; who offers one has to honour it */
    CHECK_NULL(malloc_get_state);
    return CHECK_DONE();
}
