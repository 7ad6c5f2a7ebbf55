/* crowd.c - threads that each make an arena, allocate from it by plain malloc, fork now and then, and destroy it with blocks in use. */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

#define N_BLOCKS 300
static void *volatile exchange[64]; /* blocks of arena 0, from thread to thread */

static void act(unsigned arena, const char *what) {
    char name[64];
    snprintf(name, sizeof(name), "arena.%u.%s", arena, what);
    EXPECT(mallctl(name, NULL, NULL, NULL, 0) == 0);
}

static void step(char **block, unsigned random) {
    size_t n = random >> 20 & 1 ? random % 200000 + 1 : random % 1500 + 1;
    if (*block == NULL) {
        *block = malloc(n);
        memset(*block, 1, n);
    } else if (random & 64) {
        *block = realloc(*block, n);
        (*block)[n - 1] = 1;
    } else {
        free(*block);
        *block = NULL;
    }
}

static void free_in_child(char **blocks) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        for (int k = 0; k < N_BLOCKS; k++) free(blocks[k]);
        free(malloc(100));
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void *work(void *seed) {
    unsigned random = (unsigned)(size_t)seed, arena, first = 0;
    for (int round = 0; round < 30; round++) {
        char *blocks[N_BLOCKS] = {NULL};
        uint64_t epoch = 1;
        size_t len = sizeof(arena);
        EXPECT(mallctl("arenas.create", &arena, &len, NULL, 0) == 0);
        EXPECT(mallctl("thread.arena", NULL, NULL, &arena, sizeof(arena)) == 0);
        for (int i = 0; i < 3000; i++) {
            random = random * 1103515245 + 12345;
            step(&blocks[(random >> 8) % N_BLOCKS], random >> 3);
            if (i % 100 != 0) continue;
            void *mine = mallocx(200, MALLOCX_ARENA(0));
            free(__atomic_exchange_n(&exchange[random % 64], mine, __ATOMIC_ACQ_REL));
        }
        if (round % 5 == 0) free_in_child(blocks);
        EXPECT(mallctl("thread.arena", NULL, NULL, &first, sizeof(first)) == 0);
        if (round % 2 == 0) act(arena, "reset");
        act(arena, "destroy");
        mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    }
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    size_t allocated, len = sizeof(allocated);
    uint64_t epoch = 1;
    for (size_t i = 0; i < 4; i++)
        EXPECT(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
    EXPECT(mallctl("stats.allocated", &allocated, &len, NULL, 0) == 0 && allocated < 200000);
    return 0;
}
