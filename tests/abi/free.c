/* free.c - free, cfree, free_sized, free_aligned_sized: what they accept, and errno stays as it was. */
#include "../check.h"

#include <malloc.h>
#include <pthread.h>

typedef void cfree_fn(void *p);
typedef void free_sized_fn(void *p, size_t n);
typedef void free_aligned_sized_fn(void *p, size_t alignment, size_t n);

static cfree_fn *cfree_;
static free_sized_fn *free_sized_;
static free_aligned_sized_fn *free_aligned_sized_;

/* From 16 bytes to sizes whose memory goes straight back to the system (a munmap may fail inside). */
static const size_t sizes[] = {0,    1,     64,    1000,    1024,    1025,
                               5000, 33000, 66000, 1 << 20, 3 << 20, 40 << 20};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static void null_is_accepted(void) {
    errno = EXDEV;
    free(opaque(NULL));
    if (cfree_) cfree_(NULL);
    if (free_sized_) free_sized_(NULL, 0), free_sized_(NULL, 100);
    if (free_aligned_sized_) free_aligned_sized_(NULL, 64, 0), free_aligned_sized_(NULL, 64, 100);
    CHECK_EQ(errno, EXDEV);
}

/* Freed memory comes round again: if a variant did nothing, 256 MiB would pile up per size. */
static void freed_blocks_come_round_again(const char *name, void (*give)(void *p, size_t n)) {
    for (int i = 0; i < N_SIZES; i++) {
        size_t n = sizes[i] ? sizes[i] : 1, rounds = ((size_t)256 << 20) / n;
        if (rounds > 300000) rounds = 300000;
        uintptr_t low = UINTPTR_MAX, high = 0;
        for (size_t k = 0; k < rounds; k++) {
            char *p = opaque(malloc(sizes[i]));
            if (!CHECK_NOT_NULL(p)) return;
            if (sizes[i]) p[0] = 1;
            if ((uintptr_t)p < low) low = (uintptr_t)p;
            if ((uintptr_t)p > high) high = (uintptr_t)p;
            errno = EXDEV;
            give(p, sizes[i]);
            if (errno != EXDEV) CHECK_EQ(errno, EXDEV);
        }
        /* glibc maps the large ones one by one, and their place wanders without piling up */
        if (n > 66000 && !check_expects_vitrine()) continue;
        if (!CHECK_LE(high - low, rounds * n / 2 + ((size_t)2 << 20)))
            check_say("  blocks of %zu bytes given to %s %zu times", sizes[i], name, rounds);
    }
}

static void by_free(void *p, size_t n) {
    (void)n;
    free(p);
}
static void by_cfree(void *p, size_t n) {
    (void)n;
    cfree_(p);
}
static void by_free_sized(void *p, size_t n) { free_sized_(p, n); }

static void aligned_blocks_are_accepted(void) {
    for (size_t a = 1; a <= (size_t)1 << 20; a *= 4) {
        for (int i = 0; i < N_SIZES; i++) {
            void *p = opaque(aligned_alloc(a, sizes[i]));
            void *q = opaque(aligned_alloc(a, sizes[i]));
            if (!CHECK_NOT_NULL(p) || !CHECK_NOT_NULL(q)) return;
            errno = EXDEV;
            free(p);
            if (free_aligned_sized_)
                free_aligned_sized_(q, a, sizes[i]);
            else
                free(q);
            CHECK_EQ(errno, EXDEV);
        }
    }
}

/* C23: free_sized takes what malloc, calloc and realloc gave, with the size asked for. realloc may have
 * left the block in place in a larger class. */
static void sized_free_after_realloc(void) {
    if (!free_sized_) return;
    for (size_t from = 1; from < 300000; from += 1 + from / 2) {
        for (size_t to = 1; to < 300000; to += 1 + to / 2) {
            char *p = opaque(malloc(from));
            p = opaque(realloc(p, to));
            if (!CHECK_NOT_NULL(p)) return;
            p[to - 1] = 1;
            errno = EXDEV;
            free_sized_(p, to);
            CHECK_EQ(errno, EXDEV);
        }
    }
    free_sized_(opaque(calloc(10, 10)), 100);
}

static void *free_all(void *blocks) {
    void **p = blocks;
    for (int i = 0; p[i]; i++) {
        errno = EXDEV;
        free(p[i]);
        CHECK_EQ(errno, EXDEV);
    }
    return NULL;
}

/* The owner's thread is another one: a different path through the library. */
static void errno_stays_when_another_thread_frees(void) {
    enum { N = 3000 };
    static void *p[N + 1];
    for (int i = 0; i < N; i++) {
        p[i] = opaque(malloc(sizes[i % (N_SIZES - 2)] % 70000));
        if (!CHECK_NOT_NULL(p[i])) return;
    }
    pthread_t t;
    CHECK_EQ(pthread_create(&t, NULL, free_all, p), 0);
    CHECK_EQ(pthread_join(t, NULL), 0);
}

int main(void) {
    check_allocator();
    cfree_ = SYMBOL(cfree_fn *, cfree);
    free_sized_ = SYMBOL(free_sized_fn *, free_sized);
    free_aligned_sized_ = SYMBOL(free_aligned_sized_fn *, free_aligned_sized);
    CHECK_OURS("cfree", (void *)(uintptr_t)cfree_);
    CHECK_OURS("free_sized", (void *)(uintptr_t)free_sized_);
    CHECK_OURS("free_aligned_sized", (void *)(uintptr_t)free_aligned_sized_);

    null_is_accepted();
    freed_blocks_come_round_again("free", by_free);
    if (cfree_) freed_blocks_come_round_again("cfree", by_cfree);
    if (free_sized_) freed_blocks_come_round_again("free_sized", by_free_sized);
    aligned_blocks_are_accepted();
    sized_free_after_realloc();
    errno_stays_when_another_thread_frees();
    return CHECK_DONE();
}
