/* risk_23_many_threads.c - a hundred thousand short threads that pass objects on; memory stays
 * level.
 *
 * Each thread allocates, takes over what earlier threads left, frees some of it, leaves some. A
 * heap, a page or a cache that is lost with each thread shows as growth, a block that is lost on its
 * way back as one in use at the end; thread ids and TLS addresses are reused all the time.
 */
#include "risk.h"

#include <malloc.h>
#include <stdatomic.h>

enum { N_PASSED = 512, AT_ONCE = 4 };
static _Atomic(unsigned char *) passed[N_PASSED];

struct head {
    size_t n_bytes;
    unsigned seed;
};

static void drop(unsigned char *p) {
    struct head h;
    if (!p) return;
    memcpy(&h, p, sizeof h);
    if (intact(p + sizeof h, h.n_bytes, h.seed) != h.n_bytes) CHECK_EQ(0, 1);
    free(p);
}

static void *live(void *arg) {
    uint64_t rng = (uintptr_t)arg * 31 + 1;
    for (int i = 0; i < 12; i++) {
        uint64_t r = next_random(&rng);
        struct head h = {1 + (r >> 8) % (r % 64 ? 400 : 40000), (unsigned)(r >> 40)};
        unsigned char *p = malloc(sizeof h + h.n_bytes);
        if (!CHECK_NOT_NULL(p)) return NULL;
        memcpy(p, &h, sizeof h);
        fill(p + sizeof h, h.n_bytes, h.seed);
        drop(atomic_exchange(&passed[(r >> 20) % N_PASSED], i % 3 ? p : NULL));
        if (i % 3 == 0) drop(p);
    }
    return NULL;
}

static void run(long n, uintptr_t *serial) {
    pthread_t id[AT_ONCE];
    for (long done = 0; done < n; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++)
            MUST(pthread_create(&id[i], NULL, live, (void *)(*serial)++) == 0);
        for (int i = 0; i < AT_ONCE; i++) MUST(pthread_join(id[i], NULL) == 0);
    }
}

int main(void) {
    long n = soak(100000, 2000000);
    uintptr_t serial = 1;
    require_preloaded();
    size_t in_use = mallinfo2().uordblks;
    run(n / 10, &serial);
    long before = rss_kib();
    run(n - n / 10, &serial);
    long after = rss_kib();
    check_say("%ld threads: RSS %ld KiB after a tenth, %ld KiB at the end", n, before, after);
    CHECK_TRUE(after <= before + 4096);
    for (int i = 0; i < N_PASSED; i++) drop(atomic_exchange(&passed[i], NULL));
    CHECK_LE(mallinfo2().uordblks,
             in_use + KiB(64)); /* libc keeps something for each thread's stack */
    return CHECK_DONE();
}
