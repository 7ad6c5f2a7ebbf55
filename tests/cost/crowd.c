/* crowd.c - many threads that allocate at once, for crowd.sh to count how often one has to sleep.
 *
 * crowd SHAPE THREADS PAIRS: each thread does so many pairs of malloc and free, from a fixed seed of its own. The threads wait for each
 * other at the start by a barrier, and are joined: with 0 pairs all waits are the program's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KiB(n) ((size_t)(n)*1024)
enum { N_LIVE = 500, N_SHARED = 4096 };

static uint32_t below(uint64_t *state, uint32_t n) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(((*state * 0x2545F4914F6CDD1Du >> 32) * n) >> 32);
}

static size_t small_size(uint64_t *s) { return 8 + below(s, 1001); }
static size_t middle_size(uint64_t *s) { return KiB(1) + below(s, KiB(15) + 1); }
static size_t mixed_size(uint64_t *s) {
    return below(s, 8) == 0 ? KiB(1) + below(s, KiB(59) + 1) : small_size(s);
}

static _Atomic(void *) shared[N_SHARED];
static pthread_barrier_t all_there;
static long n_pairs;
static size_t (*size_of)(uint64_t *);
static int hands_over; /* one block in four goes to whoever comes by */

static void touch(void *p) { *(volatile char *)p = 1; }

static void *work(void *seed) {
    uint64_t state = ((uintptr_t)seed + 1) * 0x9E3779B97F4A7C15u;
    void *live[N_LIVE] = {NULL};
    pthread_barrier_wait(&all_there);
    for (long i = 0; i < n_pairs; i++) {
        unsigned k = below(&state, N_LIVE);
        void *p = malloc(size_of(&state));
        touch(p);
        if (hands_over && i % 4 == 0)
            p = atomic_exchange_explicit(&shared[below(&state, N_SHARED)], p, memory_order_acq_rel);
        free(live[k]);
        live[k] = p;
    }
    for (unsigned k = 0; k < N_LIVE; k++) free(live[k]);
    return NULL;
}

static const struct {
    const char *name;
    size_t (*size)(uint64_t *);
    int hands_over;
} shapes[] = {{"small", small_size, 0},
              {"middle", middle_size, 0},
              {"mixed", mixed_size, 0},
              {"handed", small_size, 1}};

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long n_threads = atol(argv[2]);
    n_pairs = atol(argv[3]);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].name, argv[1]) != 0) continue;
        size_of = shapes[i].size;
        hands_over = shapes[i].hands_over;
    }
    if (size_of == NULL || n_threads < 1 || n_threads > 1024) return 2;
    pthread_t id[1024];
    pthread_barrier_init(&all_there, NULL, (unsigned)n_threads);
    for (long i = 0; i < n_threads; i++)
        if (pthread_create(&id[i], NULL, work, (void *)i) != 0) return 3;
    for (long i = 0; i < n_threads; i++) pthread_join(id[i], NULL);
    return 0;
}
