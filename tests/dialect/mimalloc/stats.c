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
    mi_stats_merge();
    return CHECK_DONE();
}
