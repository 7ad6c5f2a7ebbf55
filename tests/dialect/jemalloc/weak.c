/* weak.c - a program that uses jemalloc if it is there:   weak yes|no [caches]   expects it, or not.
 *
 * As folly does: ten functions that are weak here must all be there, and *thread.allocatedp must change by malloc(1). As RocksDB
 * does: an arena of its own, hooks that wrap the arena's, a cache for each thread. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

#define WEAK __attribute__((weak))
void *mallocx(size_t, int) WEAK;
void *rallocx(void *, size_t, int) WEAK;
size_t xallocx(void *, size_t, size_t, int) WEAK;
size_t sallocx(const void *, int) WEAK;
void dallocx(void *, int) WEAK;
void sdallocx(void *, size_t, int) WEAK;
size_t nallocx(size_t, int) WEAK;
int mallctl(const char *, void *, size_t *, void *, size_t) WEAK;
int mallctlnametomib(const char *, size_t *, size_t *) WEAK;
int mallctlbymib(const size_t *, size_t, void *, size_t *, void *, size_t) WEAK;

static bool uses_jemalloc(void) {
    if (!mallocx || !rallocx || !xallocx || !sallocx || !dallocx || !sdallocx || !nallocx ||
        !mallctl || !mallctlnametomib || !mallctlbymib)
        return false;
    uint64_t *counter;
    size_t len = sizeof(counter);
    if (mallctl("thread.allocatedp", &counter, &len, NULL, 0) != 0 || len != sizeof(counter))
        return false;
    uint64_t before = *counter;
    static void *volatile p;
    p = malloc(1);
    bool has_moved = *counter != before;
    free(p);
    return has_moved;
}

struct hooks {
    void *functions[9];
};

static void make_an_arena(void) {
    unsigned arena;
    size_t len = sizeof(arena);
    char name[64];
    struct hooks *hooks, mine;
    EXPECT(mallctl("arenas.create", &arena, &len, NULL, 0) == 0);
    snprintf(name, sizeof(name), "arena.%u.extent_hooks", arena);
    len = sizeof(hooks);
    EXPECT(mallctl(name, &hooks, &len, NULL, 0) == 0);
    mine = *hooks;
    mine.functions[0] = (void *)make_an_arena; /* never called */
    struct hooks *to = &mine, *now;
    EXPECT(mallctl(name, NULL, NULL, &to, sizeof(to)) == 0);
    EXPECT(mallctl(name, &now, &len, NULL, 0) == 0 && now == &mine);
    unsigned cache;
    len = sizeof(cache);
    EXPECT(mallctl("tcache.create", &cache, &len, NULL, 0) == 0);
    EXPECT(mallctl("tcache.destroy", NULL, NULL, &cache, sizeof(cache)) == 0);
    EXPECT(mallctl(name, NULL, NULL, &hooks, sizeof(hooks)) == 0);
    void *p = mallocx(5000, (int)((arena + 1) << 20));
    EXPECT(p != NULL);
    memset(p, 1, 5000);
    dallocx(p, 0x100);
    snprintf(name, sizeof(name), "arena.%u.destroy", arena);
    EXPECT(mallctl(name, NULL, NULL, NULL, 0) == 0);
}

/* As JemallocNodumpAllocator: some arenas, drawn from by each thread through a cache of its own, freed by any. 5.3.0
 * does not survive the last of that. */
#define ARENA(a) ((int)((a) + 1) << 20)
#define CACHE(c) ((int)((c) + 2) << 8)
#define N_ARENAS 3
#define N_BLOCKS 2000
static unsigned arenas[N_ARENAS];
static char *blocks_of[4][N_BLOCKS];

static void *fill_cache(void *arg) {
    char **blocks = arg;
    unsigned cache;
    size_t len = sizeof(cache);
    EXPECT(mallctl("tcache.create", &cache, &len, NULL, 0) == 0);
    for (int i = 0; i < N_BLOCKS; i++) {
        size_t n = (size_t)(i % 60 + 1) * 100;
        unsigned found, arena = arenas[i % N_ARENAS];
        blocks[i] = mallocx(n, ARENA(arena) | CACHE(cache));
        EXPECT(blocks[i] != NULL && sallocx(blocks[i], 0) >= n);
        memset(blocks[i], i, n);
        len = sizeof(found);
        EXPECT(mallctl("arenas.lookup", &found, &len, &blocks[i], sizeof(blocks[i])) == 0);
        if (found != arena && i < N_ARENAS) EXPECT(!"the first ones are in their arena");
    }
    for (int i = 0; i < N_BLOCKS; i += 2) dallocx(blocks[i], CACHE(cache));
    EXPECT(mallctl("tcache.flush", NULL, NULL, &cache, sizeof(cache)) == 0);
    EXPECT(mallctl("tcache.destroy", NULL, NULL, &cache, sizeof(cache)) == 0);
    return NULL;
}

static void use_caches_and_arenas(void) {
    pthread_t threads[4];
    char name[64];
    size_t len = sizeof(unsigned);
    for (int i = 0; i < N_ARENAS; i++)
        EXPECT(mallctl("arenas.create", &arenas[i], &len, NULL, 0) == 0);
    for (int i = 0; i < 4; i++)
        EXPECT(pthread_create(&threads[i], NULL, fill_cache, blocks_of[i]) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int t = 0; t < 4; t++)
        for (int i = 1; i < N_BLOCKS; i += 2) {
            EXPECT(blocks_of[t][i][0] == (char)i &&
                   blocks_of[t][i][(i % 60 + 1) * 100 - 1] == (char)i);
            dallocx(blocks_of[t][i], 0x100);
        }
    for (int i = 0; i < N_ARENAS; i++) {
        snprintf(name, sizeof(name), "arena.%u.destroy", arenas[i]);
        EXPECT(mallctl(name, NULL, NULL, NULL, 0) == 0);
    }
}

/* What a thread allocated and freed, when it asks; a new one begins with nothing. */
static void *count(void *is_new) {
    uint64_t a0, a1, d0, d1;
    size_t len = 8;
    static void *blocks[2000];
    EXPECT(mallctl("thread.allocated", &a0, &len, NULL, 0) == 0);
    EXPECT(mallctl("thread.deallocated", &d0, &len, NULL, 0) == 0);
    EXPECT(is_new == NULL || (a0 < 10000 && d0 < 10000));
    for (int i = 0; i < 2000; i++) blocks[i] = malloc(100);
    EXPECT(mallctl("thread.allocated", &a1, &len, NULL, 0) == 0);
    EXPECT(a1 - a0 == 224000);
    for (int i = 0; i < 2000; i++) free(blocks[i]);
    EXPECT(mallctl("thread.deallocated", &d1, &len, NULL, 0) == 0);
    EXPECT(d1 - d0 == 224000);
    a0 = a1;
    free(malloc(1000000));
    EXPECT(mallctl("thread.allocated", &a1, &len, NULL, 0) == 0);
    EXPECT(a1 - a0 >= 1000000 && a1 - a0 < 1200000);
    return NULL;
}

static void *spend(void *unused) {
    for (int i = 0; i < 3000; i++) free(malloc(100));
    return unused;
}

/* The same where every third block is an arena's. 5.3.0 does not survive it after make_an_arena. */
static void count_with_an_arena(void) {
    static void *blocks[2000];
    uint64_t a0, a1, d0, d1;
    unsigned arena;
    size_t len = sizeof(arena);
    EXPECT(mallctl("arenas.create", &arena, &len, NULL, 0) == 0);
    len = 8;
    for (int round = 0; round < 10; round++) {
        EXPECT(mallctl("thread.allocated", &a0, &len, NULL, 0) == 0);
        EXPECT(mallctl("thread.deallocated", &d0, &len, NULL, 0) == 0);
        for (int i = 0; i < 2000; i++) {
            blocks[i] = malloc(100);
            if (i % 2 == 0) EXPECT(mallocx(100, ARENA(arena) | 0x100) != NULL);
        }
        EXPECT(mallctl("thread.allocated", &a1, &len, NULL, 0) == 0);
        EXPECT(mallctl("thread.deallocated", &d1, &len, NULL, 0) == 0);
        EXPECT(a1 - a0 >= 300000 && a1 - a0 < 360000 && d1 - d0 < 30000);
        for (int i = 0; i < 2000; i++) free(blocks[i]);
        EXPECT(mallctl("thread.deallocated", &d1, &len, NULL, 0) == 0);
        EXPECT(d1 - d0 == 224000);
    }
}

int main(int argc, char **argv) {
    bool is_wanted = argc > 1 && strcmp(argv[1], "yes") == 0;
    EXPECT(uses_jemalloc() == is_wanted);
    if (!is_wanted) return 0;
    make_an_arena();
    if (argc > 2) use_caches_and_arenas();
    for (int i = 0; i < 6; i++) {
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, i % 2 == 0 ? spend : count, "new") == 0);
        pthread_join(thread, NULL);
    }
    count(NULL);
    if (argc > 2) count_with_an_arena();
    return 0;
}
