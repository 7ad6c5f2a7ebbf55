/* own.c - what a thread asks about itself and its blocks.
 *
 *   own              what the original does as well: the peak, a slab's use, what goes back when a thread is idle
 *   own zero         with zero:true: whatever a block grows by
 *   own new          what 5.3.0 does not have: names of arenas, and an answer about an address that is nobody's */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define N 41000

static void *blocks[N];

static int act(const char *name) { return mallctl(name, NULL, NULL, NULL, 0); }

static size_t number(const char *name) {
    size_t n = 0, len = sizeof(n);
    uint64_t epoch = 1;
    EXPECT(mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) == 0);
    EXPECT(mallctl(name, &n, &len, NULL, 0) == 0);
    return n;
}

/* ---- thread.peak ---- */

static uint64_t peak(void) {
    uint64_t n = 0;
    size_t len = sizeof(n);
    EXPECT(mallctl("thread.peak.read", &n, &len, NULL, 0) == 0);
    return n;
}

static void take_and_give(size_t n, size_t n_bytes) {
    for (size_t i = 0; i < n; i++) EXPECT((blocks[i] = malloc(n_bytes)) != NULL);
    for (size_t i = 0; i < n; i++) free(blocks[i]);
}

/* A tenth is what the original's own test allows. */
static void expect_peak(size_t n, size_t n_bytes) {
    size_t all = n * nallocx(n_bytes, 0);
    EXPECT(act("thread.peak.reset") == 0);
    take_and_give(n, n_bytes);
    if (peak() < all / 10 * 9 || peak() > all / 10 * 11)
        printf("%zu blocks of %zu: a peak of %zu\n", n, n_bytes, (size_t)peak());
    EXPECT(peak() >= all / 10 * 9 && peak() <= all / 10 * 11);
}

static void the_peak_is_kept(void) {
    static const size_t sizes[] = {256, 1024, 3000, 14000, 40000};
    EXPECT(act("thread.peak.reset") == 0);
    EXPECT(peak() == 0);
    void *p = mallocx(100, 0);
    EXPECT(peak() == nallocx(100, 0));
    free(p);
    EXPECT(peak() == nallocx(100, 0)); /* a free does not change it */
    free(malloc(10 * MIB));
    EXPECT(peak() >= 10 * MIB); /* though nobody asked meanwhile */
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        expect_peak(10 * MIB / sizes[i], sizes[i]);
}

/* What is allocated and freed in turns is no peak. */
static void turns_do_not_add_up(void) {
    EXPECT(act("thread.peak.reset") == 0);
    for (int i = 0; i < 100; i++) {
        take_and_give(100, 500);
        take_and_give(10, 5000);
        take_and_give(1, 200 * KIB);
    }
    EXPECT(peak() < 1 * MIB);
}

static void *in_a_thread(void *arg) {
    EXPECT(act("thread.peak.reset") == 0);
    EXPECT(peak() == 0);
    expect_peak(1000, 5000);
    return arg;
}

/* ---- thread.allocated, thread.deallocated ---- */

static uint64_t n_allocated, n_freed;

/* By so much they moved since this was last called. */
static bool have_moved(uint64_t allocated, uint64_t freed) {
    uint64_t a = 0, f = 0, last_a = n_allocated, last_f = n_freed;
    size_t len = sizeof(a);
    EXPECT(mallctl("thread.allocated", &a, &len, NULL, 0) == 0);
    EXPECT(mallctl("thread.deallocated", &f, &len, NULL, 0) == 0);
    n_allocated = a;
    n_freed = f;
    return a - last_a == allocated && f - last_f == freed;
}

/* A block that stays where it is counts as freed and allocated again; what xallocx leaves alone does not. */
static void resized_blocks_count(void) {
    char *p = malloc(100);
    size_t n = malloc_usable_size(p);
    (void)have_moved(0, 0);
    char *q = realloc(p, 101);
    EXPECT(q == p);
    EXPECT(have_moved(n, n));
    EXPECT(rallocx(q, 100, 0) == p);
    EXPECT(have_moved(n, n));
    EXPECT(xallocx(p, 101, 0, 0) == n);
    EXPECT(have_moved(0, 0));
    EXPECT((p = realloc(p, 0)) == NULL);
    EXPECT(have_moved(0, n));
    p = mallocx(3 * MIB, 0);
    EXPECT(have_moved(3 * MIB, 0));
    p = rallocx(p, 2 * MIB, 0);
    EXPECT(have_moved(2 * MIB, 3 * MIB));
    EXPECT(xallocx(p, MIB, 0, 0) == MIB);
    EXPECT(have_moved(MIB, 2 * MIB));
    EXPECT(xallocx(p, MIB, 0, 0) == MIB);
    EXPECT(have_moved(0, 0));
    p = rallocx(p, MIB, 0);
    EXPECT(have_moved(MIB, MIB));
    dallocx(p, 0);
}

/* ---- experimental.utilization ---- */

struct use {
    void *slabcur;
    size_t nfree, nregs, size, bin_nfree, bin_nregs;
};

static struct use use_of(void *p) {
    struct use u;
    size_t three[3], len = sizeof(u), batch_len = sizeof(three);
    EXPECT(mallctl("experimental.utilization.query", &u, &len, &p, sizeof(p)) == 0);
    EXPECT(mallctl("experimental.utilization.batch_query", three, &batch_len, &p, sizeof(p)) == 0);
    EXPECT(three[0] == u.nfree && three[1] == u.nregs && three[2] == u.size);
    EXPECT(u.size % 4096 == 0);
    return u;
}

static void a_slab_is_told(int flags, size_t n_bytes) {
    void *p = mallocx(n_bytes, flags);
    struct use u = use_of(p);
    EXPECT(u.nregs > 0 && u.nregs * nallocx(n_bytes, 0) <= u.size);
    EXPECT(u.nfree < u.nregs);
    EXPECT(u.nfree == 0 || (u.slabcur != NULL && u.slabcur <= p));
    EXPECT(u.bin_nregs >= u.nregs && u.bin_nregs % u.nregs == 0);
    EXPECT(u.nfree <= u.bin_nfree && u.bin_nfree < u.bin_nregs);
    EXPECT(u.nregs - u.nfree <= u.bin_nregs - u.bin_nfree);
    dallocx(p, flags);
}

static void a_large_block_is_told(int flags) {
    void *p = mallocx(MIB + 1, flags);
    struct use u = use_of(p);
    EXPECT(u.slabcur == NULL && u.nfree == 0 && u.nregs == 1 && u.size >= MIB + 1);
    EXPECT(u.bin_nfree == 0 && u.bin_nregs == 0);
    dallocx(p, flags);
}

static unsigned new_arena(void) {
    unsigned arena = 0;
    size_t len = sizeof(arena);
    EXPECT(mallctl("arenas.create", &arena, &len, NULL, 0) == 0);
    return arena;
}

static void slabs_are_told(void) {
    int in_arena = MALLOCX_ARENA(new_arena()) | MALLOCX_TCACHE_NONE;
    for (size_t n_bytes = 7; n_bytes < 8000; n_bytes += 501) {
        a_slab_is_told(0, n_bytes);
        a_slab_is_told(in_arena, n_bytes);
    }
    a_large_block_is_told(0);
    a_large_block_is_told(in_arena);
}

static void a_strangers_block_is_nobodys(void) {
    struct use u = use_of(&u);
    EXPECT(u.slabcur == NULL && u.nregs == 0 && u.size == 0 && u.bin_nregs == 0);
}

/* ---- thread.idle, thread.tcache.flush ---- */

static void what_waits_goes_back(const char *how, const char *what) {
    take_and_give(1000, 3000);
    take_and_give(1, MIB);
    EXPECT(number("stats.arenas.0.tcache_bytes") > 0);
    EXPECT(act(how) == 0);
    EXPECT(number(what) == 0);
}

/* ---- names ---- */

static int rename_arena(unsigned arena, const char *to, char *was) {
    char name[40];
    size_t len = sizeof(was);
    snprintf(name, sizeof(name), "arena.%u.name", arena);
    return mallctl(name, &was, &len, to != NULL ? (void *)&to : NULL, to != NULL ? sizeof(to) : 0);
}

static void arenas_have_names(void) {
    char name[32], expected[32];
    unsigned arena = new_arena(), n = 0;
    size_t len = sizeof(n);
    EXPECT(rename_arena(0, NULL, name) == 0 && strcmp(name, "auto_0") == 0);
    snprintf(expected, sizeof(expected), "manual_%u", arena);
    EXPECT(rename_arena(arena, "cache of pages", name) == 0 && strcmp(name, expected) == 0);
    EXPECT(rename_arena(arena, "0123456789012345678901234567890123456789", name) == 0);
    EXPECT(strcmp(name, "cache of pages") == 0);
    EXPECT(rename_arena(arena, NULL, name) == 0);
    EXPECT(strcmp(name, "0123456789012345678901234567890") == 0);
    EXPECT(mallctl("arenas.narenas", &n, &len, NULL, 0) == 0);
    EXPECT(rename_arena(n, NULL, name) == EINVAL && rename_arena(4096, NULL, name) == EINVAL);
}

/* ---- a limit, and blocks that grow where they are ---- */

static void limits_are_sizes(void) {
    char name[64];
    size_t n = 4095, len = sizeof(n);
    snprintf(name, sizeof(name), "arena.%u.retain_grow_limit", new_arena());
    EXPECT(mallctl(name, NULL, NULL, &n, sizeof(n)) == EFAULT);
    n = 4097;
    EXPECT(mallctl(name, NULL, NULL, &n, sizeof(n)) == 0);
    EXPECT(mallctl(name, &n, &len, NULL, 0) == 0 && n == 4096);
    n = 5 * MIB + 5;
    EXPECT(mallctl(name, NULL, NULL, &n, sizeof(n)) == 0);
    EXPECT(mallctl(name, &n, &len, NULL, 0) == 0 && n == 5 * MIB);
    EXPECT(number("arenas.tcache_max") == number("opt.tcache_max"));
}

/* With the option zero; memory that was used before, too. */
static void what_grows_is_zero(void) {
    size_t n = sallocx(blocks[0] = mallocx(1, 0), 0), before = 0;
    for (; n < MIB; before = n, n = sallocx(blocks[0], 0)) {
        for (size_t i = before; i < n; i++) EXPECT(((char *)blocks[0])[i] == 0);
        memset(blocks[0], 'a', n);
        if (xallocx(blocks[0], n + 1, 0, 0) == n) blocks[0] = rallocx(blocks[0], n + 1, 0);
    }
    dallocx(blocks[0], 0);
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "new") == 0) {
        arenas_have_names();
        a_strangers_block_is_nobodys();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "zero") == 0) {
        for (int i = 0; i < 3; i++) what_grows_is_zero();
        return 0;
    }
    limits_are_sizes();
    the_peak_is_kept();
    turns_do_not_add_up();
    resized_blocks_count();
    EXPECT(pthread_create(&thread, NULL, in_a_thread, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    slabs_are_told();
    what_waits_goes_back("thread.tcache.flush", "stats.arenas.0.tcache_bytes");
    what_waits_goes_back("thread.idle", "stats.arenas.0.tcache_bytes");
    what_waits_goes_back("thread.idle", "stats.arenas.0.pdirty");
    return 0;
}
