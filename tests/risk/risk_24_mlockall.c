/* risk_24_mlockall.c - locks all memory, now and in the future, as real-time and key-handling
 * programs do.
 *
 *     risk_24_mlockall early|late
 *
 * With MCL_FUTURE every page that becomes accessible is made resident at once. An allocator that
 * makes much accessible ahead of need, or whose reservation counts, eats the machine here. `late`:
 * blocks exist before the call.
 */
#include "risk.h"

enum { N = 4000 };

/* Whether this user may lock so much, whoever maps it. */
static bool may_lock(size_t n_bytes) {
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(p != MAP_FAILED);
    bool is_locked = mlock(p, n_bytes) == 0;
    munmap(p, n_bytes);
    return is_locked;
}

int main(int argc, char **argv) {
    static unsigned char *kept[N];
    int late = argc > 1 && strcmp(argv[1], "late") == 0;
    require_preloaded();
    if (!may_lock(MiB(128))) CHECK_SKIP("128 MiB may not be locked here");
    long start = rss_kib();
    if (late) free(malloc(100000));
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        if (errno == EPERM) CHECK_SKIP("mlockall is not permitted here");
        CHECK_EQ(errno, 0);
        return CHECK_DONE();
    }
    long locked = rss_kib();
    for (unsigned i = 0; i < N; i++) { /* 4,000 x 8 KiB on average: 32 MiB */
        size_t n = 64 + i % 256 * 64;
        kept[i] = malloc(n);
        MUST(kept[i] != NULL);
        fill(kept[i], n, i);
    }
    unsigned char *large = malloc(MiB(16));
    MUST(large != NULL);
    large = realloc(large, MiB(24));
    MUST(large != NULL);
    long full = rss_kib();
    for (unsigned i = 0; i < N; i++) {
        size_t n = 64 + i % 256 * 64;
        CHECK_EQ(intact(kept[i], n, i), n);
        free(kept[i]);
    }
    free(large);
    malloc_trim(0);
    check_say("%s: RSS %ld KiB, locked %ld KiB, with 56 MiB of blocks %ld KiB",
              late ? "late" : "early", start, locked, full);
    CHECK_TRUE(locked - start < 64 * 1024); /* the reservation itself is not resident */
    CHECK_TRUE(full - locked < 120 * 1024); /* about twice what is held, at most */
    return CHECK_DONE();
}
