/* heaps.c - heaps are real: what is destroyed is gone, what is deleted stays, each block is in one heap. As blocks.c: with our
 * header and with Debian's, on our libraries. */
#include "check.h"

#include <mimalloc.h>
#include <pthread.h>

#define N 2000
static void *at[N];

static size_t size_of(unsigned i) {
    return i % 100 == 0 ? 200000 : i % 10 == 0 ? 3000 : 8 + i % 500;
}

static void fill_heap(mi_heap_t *h) {
    for (unsigned i = 0; i < N; i++) {
        at[i] = mi_heap_malloc(h, size_of(i));
        memset(at[i], (int)i, size_of(i));
    }
}

static void check_heap_filled(void) {
    for (unsigned i = 0; i < N; i++) {
        const unsigned char *p = at[i];
        CHECK_TRUE(p[0] == (unsigned char)i && p[size_of(i) - 1] == (unsigned char)i);
    }
}

static size_t committed(void) {
    size_t n = 0;
    mi_collect(true);
    mi_process_info(NULL, NULL, NULL, NULL, NULL, &n, NULL, NULL);
    return n;
}

static void check_destroy(void) {
    size_t before = committed();
    for (unsigned round = 0; round < 20; round++) { /* 5 MB each: what is lost is seen */
        mi_heap_t *h = mi_heap_new();
        fill_heap(h);
        check_heap_filled();
        CHECK_TRUE(mi_heap_contains_block(h, at[5]));
        for (unsigned i = 0; i < N; i += 3) mi_free(at[i]);
        mi_heap_destroy(h);
        CHECK_TRUE(!mi_heap_contains_block(mi_heap_get_backing(), &h));
    }
    CHECK_TRUE(committed() < before + (5 << 20));
}

static void check_delete(void) {
    mi_heap_t *h = mi_heap_new();
    fill_heap(h);
    mi_heap_delete(h);
    check_heap_filled();
    for (unsigned i = 0; i < N; i++) mi_free(at[i]);
}

static void check_default(void) {
    mi_heap_t *h = mi_heap_new(), *before = mi_heap_get_default();
    void *outside = mi_malloc(100);
    CHECK_TRUE(mi_heap_set_default(h) == before);
    CHECK_TRUE(mi_heap_get_default() == h);
    void *p = mi_malloc(100), *q = mi_zalloc(5000), *r = mi_calloc(10, 30000), *s = mi_strdup("x");
    CHECK_TRUE(mi_heap_contains_block(h, p));
    CHECK_TRUE(mi_heap_contains_block(h, q));
    CHECK_TRUE(mi_heap_contains_block(h, r));
    CHECK_TRUE(mi_heap_contains_block(h, s));
    CHECK_TRUE(mi_check_owned(p));
    CHECK_TRUE(!mi_heap_contains_block(h, outside));
    void *plain[] = {malloc(100), calloc(10, 300), realloc(NULL, 100000), aligned_alloc(64, 640)};
    for (unsigned i = 0; i < 4; i++) CHECK_TRUE(mi_heap_contains_block(h, plain[i]));
    for (unsigned i = 0; i < 1000; i++) mi_free(mi_malloc(i));
    CHECK_TRUE(mi_heap_set_default(before) == h);
    CHECK_TRUE(mi_heap_contains_block(before, outside));
    CHECK_TRUE(!mi_heap_contains_block(before, p));
    void *again = mi_malloc(100);
    CHECK_TRUE(!mi_heap_contains_block(h, again));
    mi_free(again);
    mi_free(outside);
    mi_free(p);
    mi_heap_destroy(h);
}

static void check_forms(void) {
    mi_heap_t *h = mi_heap_new();
    char *p = mi_heap_zalloc(h, 100);
    CHECK_TRUE(p[0] == 0 && p[99] == 0);
    p = mi_heap_realloc(h, p, 10000);
    CHECK_TRUE(mi_heap_contains_block(h, p));
    p = mi_heap_rezalloc(h, p, 20000);
    CHECK_TRUE(p[19999] == 0);
    p = mi_heap_reallocf(h, p, 100);
    CHECK_TRUE(mi_heap_contains_block(h, p));
    CHECK_TRUE(mi_heap_calloc(h, SIZE_MAX / 2, 3) == NULL);
    CHECK_TRUE(strcmp(mi_heap_strdup(h, "hello"), "hello") == 0);
    CHECK_TRUE(strcmp(mi_heap_strndup(h, "hello", 2), "he") == 0);
    CHECK_TRUE(strcmp(mi_heap_realpath(h, "/usr/..", NULL), "/") == 0);
    for (size_t al = 16; al <= 65536; al *= 2) {
        CHECK_EQ((uintptr_t)mi_heap_malloc_aligned(h, 100, al) % al, 0);
        CHECK_EQ((uintptr_t)mi_heap_zalloc_aligned(h, 100, al) % al, 0);
        CHECK_EQ((uintptr_t)mi_heap_calloc_aligned(h, 10, 100, al) % al, 0);
        if (al <= 32768)
            CHECK_EQ(((uintptr_t)mi_heap_malloc_aligned_at(h, 100, al, 16) + 16) % al, 0);
    }
    p = mi_heap_realloc_aligned(h, NULL, 100, 64);
    p = mi_heap_realloc_aligned(h, p, 1000, 64);
    CHECK_EQ((uintptr_t)p % 64, 0);
    CHECK_TRUE(mi_heap_alloc_new(h, 100) != NULL);
    CHECK_TRUE(mi_heap_alloc_new_n(h, 100, 10) != NULL);
    CHECK_TRUE(mi_heap_malloc_small(h, 10) != NULL);
    mi_heap_collect(h, true);
    mi_heap_destroy(h);
}

/* ---- a large block that becomes smaller gives its end back, to any size ---- */

#define MIB ((size_t)1 << 20)

static size_t resident_mib(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long all = 0, resident = 0;
    CHECK_TRUE(f != NULL && fscanf(f, "%lu %lu", &all, &resident) == 2);
    if (f != NULL) fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE) / MIB;
}

static void *by_heap(mi_heap_t *h, void *p, size_t n) { return mi_heap_realloc(h, p, n); }
static void *by_heap_zero(mi_heap_t *h, void *p, size_t n) { return mi_heap_rezalloc(h, p, n); }
static void *by_zero(mi_heap_t *h, void *p, size_t n) { return (void)h, mi_rezalloc(p, n); }
static void *by_aligned(mi_heap_t *h, void *p, size_t n) {
    return (void)h, mi_realloc_aligned(p, n, 4096);
}

static void check_shrinks(void *(*again)(mi_heap_t *, void *, size_t), mi_heap_t *h, char *p) {
    static const size_t mib[] = {260, 110}; /* ends from 128 MiB on go back at once, always */
    memset(p, 1, 400 * MIB);
    size_t filled = resident_mib();
    for (unsigned i = 0; i < sizeof mib / sizeof *mib; i++) {
        char *q = again(h, p, mib[i] * MIB);
        CHECK_TRUE(q == p);
        CHECK_TRUE(q[0] == 1 && q[mib[i] * MIB - 1] == 1);
        CHECK_LE(resident_mib(), filled - (400 - mib[i]) + 8);
        p = q;
    }
    mi_free(p);
}

static void check_all_shrink(void) {
    mi_heap_t *h = mi_heap_new();
    check_shrinks(by_heap, h, mi_heap_malloc(h, 400 * MIB));
    check_shrinks(by_heap_zero, h, mi_heap_zalloc(h, 400 * MIB));
    check_shrinks(by_zero, h, mi_zalloc(400 * MIB));
    check_shrinks(by_aligned, h, mi_malloc_aligned(400 * MIB, 4096));
    mi_heap_delete(h);
}

/* ---- visitors ---- */

struct seen {
    size_t n_areas, n_used, n_blocks, n_bytes;
};

static bool visit(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
                  void *arg) {
    struct seen *s = arg;
    (void)heap;
    if (block == NULL) {
        s->n_areas++;
        s->n_used += area->used;
        return true;
    }
    CHECK_TRUE((char *)block >= (char *)area->blocks);
    CHECK_TRUE((char *)block < (char *)area->blocks + area->reserved);
    s->n_blocks++;
    s->n_bytes += size;
    return true;
}

static bool visit_three(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
                        void *arg) {
    (void)heap, (void)area, (void)block, (void)size;
    return ++*(unsigned *)arg < 3;
}

static void check_visits(void) {
    mi_heap_t *h = mi_heap_new();
    struct seen s = {0, 0, 0, 0};
    fill_heap(h);
    for (unsigned i = 0; i < N; i += 2) mi_free(at[i]);
    CHECK_TRUE(mi_heap_visit_blocks(h, true, visit, &s));
    CHECK_EQ(s.n_blocks, N / 2);
    CHECK_EQ(s.n_used, N / 2);
    CHECK_TRUE(s.n_areas > 10);
    s = (struct seen){0, 0, 0, 0};
    CHECK_TRUE(mi_heap_visit_blocks(h, false, visit, &s));
    CHECK_EQ(s.n_blocks, 0);
    unsigned n = 0;
    CHECK_TRUE(!mi_heap_visit_blocks(h, true, visit_three, &n));
    CHECK_EQ(n, 3);
    mi_heap_destroy(h);
}

/* The thread's own heap: a block that is there is seen, one that was freed is not. */
struct wanted {
    const void *here, *gone;
    unsigned n_here, n_gone;
};
static bool look_for(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
                     void *arg) {
    struct wanted *w = arg;
    (void)heap, (void)area, (void)size;
    w->n_here += block != NULL && block == w->here;
    w->n_gone += block != NULL && block == w->gone;
    return true;
}

static void check_visits_of_main(void) {
    static const size_t some[] = {20, 500, 2000, 20000, 100000, 3000000};
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct wanted w = {mi_malloc(some[i]), mi_malloc(some[i]), 0, 0};
        mi_free((void *)w.gone);
        CHECK_TRUE(mi_heap_visit_blocks(mi_heap_get_default(), true, look_for, &w));
        CHECK_EQ(w.n_here, 1);
        CHECK_EQ(w.n_gone, 0);
        mi_free((void *)w.here);
    }
}

/* ---- threads ---- */

static void *free_all(void *unused) {
    for (unsigned i = 0; i < N; i++) mi_free(at[i]);
    return unused;
}

static void check_other_thread_frees(void) {
    pthread_t id;
    mi_heap_t *h = mi_heap_new();
    fill_heap(h);
    pthread_create(&id, NULL, free_all, NULL);
    pthread_join(id, NULL);
    struct seen s = {0, 0, 0, 0};
    mi_heap_collect(h, true);
    mi_heap_visit_blocks(h, true, visit, &s);
    CHECK_EQ(s.n_blocks, 0);
    mi_heap_delete(h);
}

#if MI_MALLOC_VERSION > 10000
static mi_heap_t *shared;
static void *take_some(void *arg) {
    for (unsigned i = 0; i < 5000; i++) {
        char *p = mi_heap_malloc(shared, 16 + i % 300);
        memset(p, (int)(intptr_t)arg, 16);
        if (i % 3 != 0) mi_free(p);
    }
    return NULL;
}

static void check_shared(void) {
    pthread_t id[4];
    shared = mi_heap_new();
    for (intptr_t i = 0; i < 4; i++) pthread_create(&id[i], NULL, take_some, (void *)i);
    for (unsigned i = 0; i < 4; i++) pthread_join(id[i], NULL);
    struct seen s = {0, 0, 0, 0};
    mi_heap_visit_blocks(shared, true, visit, &s);
    CHECK_EQ(s.n_blocks, 4 * 1667);
    CHECK_TRUE(mi_heap_of(at) == NULL);
    void *p = mi_heap_malloc(shared, 10);
    CHECK_TRUE(mi_heap_of(p) == shared);
    CHECK_TRUE(mi_heap_contains(shared, p));
    CHECK_TRUE(mi_any_heap_contains(p));
    CHECK_TRUE(mi_theap_malloc(mi_heap_theap(shared), 10) != NULL);
    mi_heap_destroy(shared);
    mi_heap_delete(mi_heap_main()); /* a warning, if errors are shown */
}
#else
static void check_shared(void) {}
#endif

int main(void) {
    check_destroy();
    check_delete();
    check_default();
    check_forms();
    check_all_shrink();
    check_visits();
    check_visits_of_main();
    check_other_thread_frees();
    check_shared();
    return CHECK_DONE();
}
