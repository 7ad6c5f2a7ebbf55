/* arenas.c - a heap in an arena: all of its blocks are in the arena's area, nobody else's are in an exclusive one, and when it is
 * full there is no more. As blocks.c: with our header and with Debian's, on our libraries. */
#include "check.h"

#include <mimalloc.h>
#ifdef VITRINE_MIMALLOC
#include <mimalloc-stats.h>
#endif

#define MIB ((size_t)1 << 20)

static bool is_in(mi_arena_id_t id, const void *p) {
    size_t n = 0;
    const char *at = mi_arena_area(id, &n);
    bool is = at != NULL && (const char *)p >= at && (const char *)p < at + n;
#ifdef VITRINE_MIMALLOC
    CHECK_EQ(mi_arena_contains(id, p), is);
#endif
    return is;
}

static mi_arena_id_t reserve(size_t n_bytes, bool exclusive) {
    mi_arena_id_t id = 0;
    size_t n = 0;
    CHECK_EQ(mi_reserve_os_memory_ex(n_bytes, true, false, exclusive, &id), 0);
    CHECK_TRUE(id != 0);
    char *at = mi_arena_area(id, &n);
    CHECK_TRUE(at != NULL && n >= n_bytes && n < 2 * n_bytes);
    at[0] = at[n - 1] = 1; /* it is accessible */
    return id;
}

static void check_exclusive(void) {
    static const size_t sizes[] = {1, 100, 2000, 50000, 300000, 3 * MIB};
    mi_arena_id_t id = reserve(64 * MIB, true);
    CHECK_TRUE(!is_in(id, mi_malloc(32 * MIB))); /* nobody's as long as it has no heap */
    mi_heap_t *h = mi_heap_new_in_arena(id), *free_one = mi_heap_new();
    for (unsigned i = 0; i < 100; i++) {
        size_t n = sizes[i % (sizeof sizes / sizeof sizes[0])];
        char *p = i % 2 == 0 ? mi_heap_malloc(h, n) : mi_heap_zalloc(h, n);
        CHECK_TRUE(is_in(id, p) && is_in(id, p + n - 1));
        memset(p, 1, n);
        CHECK_TRUE(!is_in(id, mi_malloc(n)));
        CHECK_TRUE(!is_in(id, mi_heap_malloc(free_one, n)));
        char *q = mi_heap_malloc_aligned(h, n, 4096);
        CHECK_TRUE(is_in(id, q) && (uintptr_t)q % 4096 == 0);
        q = mi_heap_realloc(h, q, n * 2);
        CHECK_TRUE(is_in(id, q) && is_in(id, q + 2 * n - 1));
        mi_free(q);
        if (i % 3 != 0) mi_free(p);
    }
    mi_heap_destroy(h);
    h = mi_heap_new_in_arena(id); /* the arena stays, and is empty */
    CHECK_TRUE(is_in(id, mi_heap_malloc(h, 60 * MIB)));
    CHECK_TRUE(mi_heap_malloc(h, 60 * MIB) == NULL);
    CHECK_TRUE(mi_malloc(60 * MIB) != NULL);
    mi_heap_destroy(h);
    mi_heap_destroy(free_one);
}

/* As the thread's default heap malloc takes from it. */
static void check_default(void) {
    mi_arena_id_t id = reserve(8 * MIB, true);
    mi_heap_t *h = mi_heap_new_in_arena(id), *before = mi_heap_set_default(h);
    void *p = mi_malloc(100), *q = malloc(100000);
    CHECK_TRUE(is_in(id, p) && is_in(id, q));
    mi_heap_set_default(before);
    CHECK_TRUE(!is_in(id, mi_malloc(100)));
    mi_heap_delete(h); /* its blocks stay, and stay where they are */
    memset(p, 1, 100);
    mi_free(p);
    free(q);
}

static void check_everybodys(void) {
    mi_arena_id_t id = reserve(32 * MIB, false);
    mi_heap_t *h = mi_heap_new_in_arena(id);
    CHECK_TRUE(is_in(id, mi_heap_malloc(h, 10 * MIB)));
    CHECK_TRUE(is_in(id, mi_heap_malloc(h, 10)));
    mi_heap_destroy(h);
}

static void check_none(void) {
    size_t n = 1;
    mi_arena_id_t id = (mi_arena_id_t)1;
    mi_heap_t *h = mi_heap_new_in_arena(0); /* in any */
    CHECK_TRUE(h != NULL && mi_heap_malloc(h, 10) != NULL);
    mi_heap_destroy(h);
    CHECK_TRUE(mi_arena_area((mi_arena_id_t)50, &n) == NULL && n == 0);
    CHECK_TRUE(mi_heap_new_in_arena((mi_arena_id_t)50) == NULL);
    CHECK_TRUE(mi_reserve_os_memory_ex((size_t)1 << 55, true, false, true, &id) != 0);
    CHECK_TRUE(id == 0);
}

/* 2.0 has no such structure. */
static void check_counted(int64_t n) {
#ifdef VITRINE_MIMALLOC
    mi_stats_t s = {.size = sizeof s, .version = MI_STAT_VERSION};
    CHECK_TRUE(mi_stats_get(&s));
    CHECK_EQ(s.arena_count.total, n);
#else
    (void)n;
#endif
}

int main(void) {
    check_counted(1); /* the one from the start */
    check_exclusive();
    check_default();
    check_everybodys();
    check_none();
    check_counted(4);
    mi_debug_show_arenas();
    return CHECK_DONE();
}
