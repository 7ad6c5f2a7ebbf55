/* rings.c - threads that fill a table with small blocks, then free all but a moving fifth.
 *
 * Requests that leave something behind. Each thread has its own table of 10,000 blocks of 16 to 512
 * bytes; what stays is another fifth each time, so that slabs empty only in part. With a BURST, the
 * main thread beside them does as much as one of them: so many blocks at once, then none.
 */
#include "common.h"
#include <pthread.h>

enum { N_BLOCKS = 10000, N_KEPT = N_BLOCKS / 5, THREADS_MAX = 64 };

struct worker {
    pthread_t thread;
    unsigned processor;
    struct rng rng;
    uint64_t n_rounds, n_pairs, bytes;
    void *block[N_BLOCKS];
};

static void *sized(struct worker *w) {
    size_t size = 16 + rng_below(&w->rng, 497);
    w->bytes += size;
    return touched(malloc(size), w->n_pairs++);
}

static void round_of(struct worker *w, unsigned first_kept) {
    for (unsigned i = 0; i < N_BLOCKS; i++)
        if (w->block[i] == NULL) w->block[i] = sized(w);
    for (unsigned i = N_KEPT; i < N_BLOCKS; i++) {
        void **slot = &w->block[(first_kept + i) % N_BLOCKS];
        free(*slot);
        *slot = NULL;
    }
}

static void *work(void *arg) {
    struct worker *w = arg;
    pin_to_processor(w->processor);
    for (uint64_t i = 0; i < w->n_rounds; i++) round_of(w, (unsigned)(i % 5) * N_KEPT);
    for (unsigned i = 0; i < N_BLOCKS; i++) free(w->block[i]);
    return NULL;
}

static void bursts(struct worker *w, uint32_t n_blocks, uint64_t n_bursts) {
    void **block = table(n_blocks, sizeof *block);
    for (uint64_t i = 0; i < n_bursts; i++) {
        for (uint32_t j = 0; j < n_blocks; j++) block[j] = sized(w);
        for (uint32_t j = 0; j < n_blocks; j++) free(block[j]);
    }
}

int main(int argc, char **argv) {
    need_args(argc, 3, "rings THREADS BURST PAIRS");
    unsigned n_threads = (unsigned)number(argv[1]);
    uint32_t burst = (uint32_t)number(argv[2]);
    if (n_threads == 0 || n_threads > THREADS_MAX) return 2;
    uint64_t share = number(argv[3]) / n_threads;

    static struct worker worker[THREADS_MAX], main_thread;
    for (unsigned i = 0; i < n_threads; i++) {
        struct worker *w = &worker[i];
        w->processor = i;
        w->rng = rng_seeded(i);
        w->n_rounds = share / (N_BLOCKS - N_KEPT) + 1;
        if (pthread_create(&w->thread, NULL, work, w)) die("cannot start a thread");
    }
    main_thread.rng = rng_seeded(n_threads);
    pin_to_processor(n_threads);
    if (burst > 0) bursts(&main_thread, burst, share / burst + 1);

    uint64_t n_pairs = main_thread.n_pairs, bytes = main_thread.bytes;
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(worker[i].thread, NULL);
        n_pairs += worker[i].n_pairs;
        bytes += worker[i].bytes;
    }
    return finish(n_pairs, bytes);
}
