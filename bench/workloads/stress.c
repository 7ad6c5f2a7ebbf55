/* stress.c - threads with mixed lifetimes and sizes that pass objects to each other.
 *
 * Each step makes one object and frees one: three times in four from the thread's own table, else
 * by exchange with a table that all threads share, so that the freed object is usually another
 * thread's. Sizes are 16 to 511 bytes, one in 32 up to 8 KiB, one in 1024 up to 128 KiB.
 */
#include "common.h"
#include <pthread.h>
#include <stdatomic.h>

enum { N_OWN = 4000, N_SHARED = 2048, THREADS_MAX = 64 };

static _Atomic(void *) shared[N_SHARED];

struct worker {
    pthread_t thread;
    unsigned processor;
    struct rng rng;
    uint64_t n_steps, bytes;
    void *own[N_OWN];
};

static size_t stress_size(struct rng *r) {
    uint64_t draw = rng_next(r);
    if (draw % 1024 == 0) return rng_log_size(r, KiB(8), 4);
    if (draw % 32 == 0) return rng_log_size(r, 512, 4);
    return rng_log_size(r, 16, 5);
}

/* Returns what had to make room for `p`. */
static void *put(struct worker *w, void *p) {
    uint64_t draw = rng_next(&w->rng);
    /* acq_rel: the object's stamp goes with it, and we free what another thread wrote */
    if (draw % 4 == 0)
        return atomic_exchange_explicit(&shared[scaled_high(draw, N_SHARED)], p,
                                        memory_order_acq_rel);
    void **slot = &w->own[scaled_high(draw, N_OWN)];
    void *old = *slot;
    *slot = p;
    return old;
}

static void *work(void *arg) {
    struct worker *w = arg;
    pin_to_processor(w->processor);
    for (uint64_t i = 0; i < w->n_steps; i++) {
        size_t size = stress_size(&w->rng);
        char *p = touched(malloc(size), i);
        touch_pages(p, OS_PAGE_BYTES, size);
        w->bytes += size;
        free(put(w, p));
    }
    for (unsigned i = 0; i < N_OWN; i++) free(w->own[i]);
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 2, "stress THREADS STEPS");
    unsigned n_threads = (unsigned)number(argv[1]);
    if (n_threads == 0 || n_threads > THREADS_MAX) return 2;

    static struct worker worker[THREADS_MAX];
    for (unsigned i = 0; i < n_threads; i++) {
        struct worker *w = &worker[i];
        w->processor = i;
        w->rng = rng_seeded(i);
        w->n_steps = number(argv[2]) / n_threads;
        if (pthread_create(&w->thread, NULL, work, w)) die("cannot start a thread");
    }

    uint64_t bytes = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(worker[i].thread, NULL);
        bytes += worker[i].bytes;
    }
    for (unsigned i = 0; i < N_SHARED; i++) free(atomic_load(&shared[i]));
    return finish(number(argv[2]) / n_threads * n_threads, bytes);
}
