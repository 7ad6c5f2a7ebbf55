/* risk_14_aligned_users.c - those who depend on alignment: SSE code, O_DIRECT, alignments up to 1
 * GiB.
 *
 * tests/abi holds the rules for every pair of alignment and size; here are the users of them.
 */
#include "risk.h"

#if defined(__SSE2__)
#include <emmintrin.h>
static void sse_on_small_blocks(void) {
    __m128i *kept[2000];
    for (int i = 0; i < 2000; i++) {
        size_t n = (size_t)(16 + i % 500);
        kept[i] = i % 2 ? malloc(n) : calloc(1, n);
        MUST(kept[i] != NULL);
        _mm_store_si128(kept[i], _mm_set1_epi32(i)); /* faults when not aligned to 16 */
    }
    for (int i = 0; i < 2000; i++) {
        kept[i] = realloc(kept[i], (size_t)(16 + (i * 37) % 3000));
        MUST(kept[i] != NULL);
        CHECK_EQ(_mm_cvtsi128_si32(_mm_load_si128(kept[i])), i);
    }
    for (int i = 0; i < 2000; i++) free(kept[i]);
}
#else
static void sse_on_small_blocks(void) {}
#endif

static void direct_io(void) {
    enum { BYTES = 1 << 20 };
    int fd = open("direct.tmp", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    if (fd < 0) {
        check_say("part skipped: no O_DIRECT in this directory (%s)", strerror(errno));
        return;
    }
    for (size_t align = 512; align <= 8192; align *= 2) {
        void *out = NULL, *in = aligned_alloc(align, BYTES);
        MUST(posix_memalign(&out, align < 4096 ? 4096 : align, BYTES) == 0 && in != NULL);
        fill(out, BYTES, (unsigned)align);
        CHECK_EQ(pwrite(fd, out, BYTES, 0), BYTES);
        if ((uintptr_t)in % 4096 == 0 || align >= 4096) { /* what the device asks for, mostly */
            CHECK_EQ(pread(fd, in, BYTES, 0), BYTES);
            CHECK_EQ(intact(in, BYTES, (unsigned)align), BYTES);
        }
        free(in);
        free(out);
    }
    void *whole = valloc(BYTES);
    MUST(whole != NULL);
    CHECK_EQ(pread(fd, whole, BYTES, 0), BYTES);
    free(whole);
    close(fd);
    unlink("direct.tmp");
}

static void great_alignments(void) {
    long before = rss_kib();
    for (size_t align = MiB(1); align <= GiB(1); align *= 2) {
        for (size_t n = 1; n <= MiB(64); n *= 64) {
            unsigned char *p = NULL;
            int error = posix_memalign((void **)&p, align, n);
            if (!CHECK_EQ(error, 0)) check_say("alignment %zu, %zu bytes", align, n);
            if (error) continue;
            CHECK_ALIGNED(p, align);
            p[0] = 1;
            p[n - 1] = 2;
            p = realloc(p, n + 100000); /* may lose the alignment, not the data */
            MUST(p != NULL);
            CHECK_EQ(p[n - 1], 2);
            free(p);
        }
    }
    void *p = aligned_alloc(GiB(1), GiB(1));
    CHECK_NOT_NULL(p);
    CHECK_ALIGNED(p, GiB(1));
    free(p);
    CHECK_TRUE(rss_kib() - before < 64 * 1024); /* alignment costs addresses, not memory */
}

int main(void) {
    require_preloaded();
    sse_on_small_blocks();
    direct_io();
    great_alignments();
    return CHECK_DONE();
}
