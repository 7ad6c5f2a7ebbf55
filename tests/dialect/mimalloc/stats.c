/* stats.c - sums and peaks over time, of blocks that are gone. With one sample for 4 KiB the estimates are near. */
#include "check.h"
#include <mimalloc-stats.h>
#include <stdlib.h>
#include <string.h>

#define N 10000
#define EACH 1000

static mi_stats_t now(void) {
    mi_stats_t s;
    memset(&s, 0, sizeof(s));
    s.size = sizeof(s);
    s.version = MI_STAT_VERSION;
    CHECK_TRUE(mi_stats_get(&s));
    return s;
}

static void allocate_and_free(void) {
    static void *at[N];
    for (int i = 0; i < N; i++) at[i] = mi_malloc(EACH);
    for (int i = 0; i < N; i++) mi_free(at[i]);
    for (int i = 0; i < 10; i++) mi_free(at[i] = mi_malloc(1 << 20));
}

#if VITRINE_MIMALLOC != 2
static mi_heap_t *wanted;
static unsigned n_heaps, n_wanted;
static bool on_heap(mi_heap_t *heap, void *arg) {
    (void)arg;
    n_heaps++;
    n_wanted += heap == wanted;
    return true;
}

/* Each heap has figures of its own, and is visited as long as it is there. */
static void check_heaps(void) {
    mi_stats_t before = now(), of_heap = {.size = sizeof(of_heap), .version = MI_STAT_VERSION};
    mi_heap_t *other = mi_heap_new();
    wanted = mi_heap_new();
    for (int i = 0; i < 100; i++) CHECK_TRUE(mi_heap_malloc(wanted, 1000) != NULL);
    CHECK_TRUE(mi_heap_malloc(wanted, 1 << 20) != NULL);
    CHECK_EQ(now().heaps.current, before.heaps.current + 2);
    CHECK_TRUE(mi_subproc_visit_heaps(mi_subproc_main(), on_heap, NULL));
    CHECK_EQ(n_heaps, (unsigned)now().heaps.current);
    CHECK_EQ(n_wanted, 1u);
    CHECK_TRUE(mi_heap_stats_get(wanted, &of_heap));
    CHECK_EQ(of_heap.malloc_normal.current, 100 * 1008);
    CHECK_EQ(of_heap.malloc_huge.current, 1 << 20);
    char *json = mi_heap_stats_get_json(wanted, 0, NULL);
    CHECK_TRUE(json != NULL && strstr(json, "\"malloc_normal\": { \"total\": 100800, \"peak\": "
                                            "100800, \"current\": 100800 }") != NULL);
    mi_free(json);
    of_heap.purge_calls.total = 4711;
    json = mi_stats_as_json(&of_heap, 0, NULL);
    CHECK_TRUE(json != NULL && strstr(json, "\"purge_calls\": 4711,") != NULL);
    mi_free(json);
    mi_heap_destroy(wanted);
    mi_heap_delete(other);
    n_heaps = n_wanted = 0;
    CHECK_TRUE(mi_subproc_visit_heaps(mi_subproc_main(), on_heap, NULL));
    CHECK_EQ(n_heaps, (unsigned)before.heaps.current);
    CHECK_EQ(n_wanted, 0u);
}
#else
static void check_heaps(void) {}
#endif

int main(void) {
    const int64_t normal = (int64_t)N * EACH, huge = 10 << 20;
    mi_stats_t before = now();
    allocate_and_free();
    mi_stats_t s = now();
    CHECK_TRUE(s.malloc_normal.current - before.malloc_normal.current < normal / 10);
    int64_t total = s.malloc_normal.total - before.malloc_normal.total;
    CHECK_TRUE(total > normal * 8 / 10 && total < normal * 12 / 10);
    total = s.malloc_huge.total - before.malloc_huge.total;
    CHECK_TRUE(total > huge * 8 / 10 && total < huge * 12 / 10);
    CHECK_TRUE(s.malloc_huge_count.total - before.malloc_huge_count.total >= 8);
    int64_t n_blocks = s.malloc_normal_count.total - before.malloc_normal_count.total;
    CHECK_TRUE(n_blocks > N * 8 / 10 && n_blocks < N * 12 / 10);
    CHECK_TRUE(s.malloc_requested.peak > normal * 8 / 10 &&
               s.malloc_requested.peak < normal * 14 / 10);
    CHECK_TRUE(s.malloc_requested.total > (normal + huge) * 8 / 10);
    CHECK_TRUE(s.commit_calls.total > 0);
    int64_t in_bins = 0;
    for (int i = 0; i <= MI_BIN_HUGE; i++) in_bins += s.malloc_bins[i].total;
    CHECK_TRUE(in_bins > N * 8 / 10);

    mi_collect(true);
    mi_stats_t purged = now();
    CHECK_TRUE(purged.purged.total > 0 && purged.purge_calls.total > 0);
    CHECK_TRUE(purged.committed.current < s.committed.current);
    CHECK_TRUE(purged.committed.total >= purged.committed.current + purged.purged.total);

    mi_stats_reset();
    mi_stats_t reset = now();
#if VITRINE_MIMALLOC == 2
    CHECK_TRUE(reset.malloc_normal.total < normal / 10);
    CHECK_TRUE(reset.malloc_requested.peak < normal / 10);
    CHECK_TRUE(reset.purged.total == 0);
    allocate_and_free();
    mi_stats_t again = now();
    total = again.malloc_normal.total;
    CHECK_TRUE(total > normal * 8 / 10 && total < normal * 13 / 10);
#else
    CHECK_TRUE(reset.malloc_normal.total >= s.malloc_normal.total * 9 / 10);
    CHECK_TRUE(reset.malloc_requested.peak >= s.malloc_requested.peak);
#endif
    check_heaps();
    mi_stats_merge();
    return CHECK_DONE();
}
