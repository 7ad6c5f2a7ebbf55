/* exhausted.c - out of memory: NULL with ENOMEM from every function, nothing lost, and life goes on. */
#include "limited.h"

#include <malloc.h>

static const rlim_t limit_bytes = (rlim_t)256 << 20;

/* The first bytes tell whether a block is still the one we had. */
static size_t painted(size_t n) { return (n < 256 ? n : 256) - sizeof(struct held); }

/* Fills memory to the brim with blocks of n bytes and gives how many bytes it got. */
static size_t fill_up(size_t n, struct held **list) {
    size_t got = 0;
    for (;;) {
        errno = 0;
        unsigned char *p = opaque(malloc(n));
        if (!p) break;
        fill(p + sizeof(struct held), painted(n), 1);
        *list = hold(*list, p, n);
        got += n;
    }
    CHECK_EQ(errno, ENOMEM);
    return got;
}

static int all_intact(const struct held *list) {
    for (; list; list = list->next)
        if (intact(list + 1, painted(list->n), 1) != painted(list->n)) return 0;
    return 1;
}

/* Every other entry point fails the same way while there is nothing left. */
static void all_of_them_fail(void) {
    size_t n = (size_t)limit_bytes; /* can never be satisfied; and small sizes may still be there */
    void *p = &p;
    CHECK_FAILS(malloc(n), ENOMEM);
    CHECK_FAILS(calloc(1, n), ENOMEM);
    CHECK_FAILS(realloc(NULL, n), ENOMEM);
    CHECK_FAILS(reallocarray(NULL, 1, n), ENOMEM);
    CHECK_FAILS(aligned_alloc(64, n), ENOMEM);
    CHECK_FAILS(memalign(4096, n), ENOMEM);
    errno = EXDEV;
    CHECK_EQ(posix_memalign(&p, 4096, n), ENOMEM);
    CHECK_EQ(errno, EXDEV);
    CHECK_EQ(p, &p);
}

static void failed_realloc_leaves_the_block(struct held *list) {
    size_t n = list->n;
    CHECK_FAILS(realloc(opaque(list), (size_t)limit_bytes), ENOMEM);
    CHECK_EQ(list->n, n);
    CHECK_EQ(intact(list + 1, painted(n), 1), painted(n));
}

static int fill_and_free(size_t n) {
    size_t first = 0;
    for (int round = 0; round < 3; round++) {
        struct held *list = NULL;
        size_t got = fill_up(n, &list);
        CHECK_GE(got, (size_t)limit_bytes / 4);
        if (!list) return CHECK_DONE();
        all_of_them_fail();
        failed_realloc_leaves_the_block(list);
        CHECK_TRUE(all_intact(list));
        /* room made by the program is room for the program */
        struct held *half = list;
        for (size_t i = 0; i < got / n / 2; i++) half = half->next;
        let_go(half->next, free);
        half->next = NULL;
        void *p = opaque(malloc(n));
        CHECK_NOT_NULL(p);
        free(p);
        CHECK_TRUE(all_intact(list));
        let_go(list, free);
        /* what one round got the next one gets again: failing leaks nothing */
        if (round == 0)
            first = got;
        else
            CHECK_GE(got, first / 10 * 9);
    }
    return CHECK_DONE();
}

int main(int argc, char **argv) {
    check_allocator();
    if (argc > 1) return fill_and_free((size_t)atol(argv[1]));

    static const struct {
        int resource;
        const char *name;
    } limits[] = {{RLIMIT_AS, "RLIMIT_AS"}, {RLIMIT_DATA, "RLIMIT_DATA"}};
    static const char *const block_sizes[] = {"48", "1000", "20000", "300000", "5000000"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (size_t k = 0; k < sizeof block_sizes / sizeof *block_sizes; k++) {
            int status = run_limited(limits[i].resource, limit_bytes, block_sizes[k]);
            if (status == CHECK_SKIPPED) CHECK_SKIP("cannot run itself again");
            if (!CHECK_EQ(status, 0))
                check_say("  blocks of %s bytes under %s", block_sizes[k], limits[i].name);
        }
    return CHECK_DONE();
}
