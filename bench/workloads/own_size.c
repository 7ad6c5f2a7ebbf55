/* own_size.c - threads that each use a size of their own.
 *
 * As in a server whose threads have different tasks: what one frees is of no use to another. The
 * sizes run from 16 bytes to 32 KiB; each thread replaces random blocks in a live set.
 */
#include "common.h"
#include <pthread.h>

enum { N_LIVE = 500, N_SIZES = 16 };

static const uint32_t size_of[N_SIZES] = {16,   48,   96,   160,  256,    448,   768,     KiB(1),
                                          1600, 2560, 4000, 5400, KiB(8), 12000, KiB(16), KiB(32)};

struct worker {
    pthread_t thread;
    unsigned processor;
    struct rng rng;
    size_t size;
    uint64_t n_steps;
    void *live[N_LIVE];
};

static void *work(void *arg) {
    struct worker *w = arg;
    pin_to_processor(w->processor);
    for (uint64_t i = 0; i < w->n_steps; i++) {
        void **slot = &w->live[rng_below(&w->rng, N_LIVE)];
        free(*slot);
        *slot = touched(malloc(w->size), i);
    }
    for (unsigned i = 0; i < N_LIVE; i++) free(w->live[i]);
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 2, "own_size THREADS REPLACEMENTS");
    unsigned n_threads = (unsigned)number(argv[1]);
    if (n_threads == 0 || n_threads > N_SIZES) return 2;

    static struct worker worker[N_SIZES];
    uint64_t n_steps = number(argv[2]) / n_threads, bytes = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        struct worker *w = &worker[i];
        w->processor = i;
        w->rng = rng_seeded(i);
        w->size = size_of[i];
        w->n_steps = n_steps;
        bytes += n_steps * w->size;
        if (pthread_create(&w->thread, NULL, work, w)) die("cannot start a thread");
    }
    for (unsigned i = 0; i < n_threads; i++) pthread_join(worker[i].thread, NULL);
    return finish(n_steps * n_threads, bytes);
}
