/* prodcons.c - producers allocate, consumers in other threads read and free.
 *
 * Blocks travel in batches through one bounded ring. A side that has to wait is woken only when the
 * ring is half full (or half empty), so that the row measures blocks freed by a foreign thread and
 * not the system's sleeping and waking.
 */
#include "common.h"
#include <pthread.h>

enum { BATCH = 256, RING = 32, THREADS_MAX = 16 };

struct batch {
    void *block[BATCH];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t half_full, half_empty;
    unsigned first, n_batches;
    unsigned n_producing; /* producers still at work */
    struct batch slot[RING];
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .half_full = PTHREAD_COND_INITIALIZER,
          .half_empty = PTHREAD_COND_INITIALIZER};

struct worker {
    pthread_t thread;
    unsigned processor; /* producers and consumers on different ones */
    struct rng rng;
    size_t size;        /* 0: mixed, 16 to 1023 bytes */
    uint64_t n_batches; /* a producer's share of the work */
    uint64_t n_freed, sum;
};

static void ring_put(const struct batch *b) {
    pthread_mutex_lock(&ring.lock);
    while (ring.n_batches == RING) pthread_cond_wait(&ring.half_empty, &ring.lock);
    ring.slot[(ring.first + ring.n_batches++) % RING] = *b;
    if (ring.n_batches >= RING / 2) pthread_cond_signal(&ring.half_full);
    pthread_mutex_unlock(&ring.lock);
}

static void ring_close_one(void) {
    pthread_mutex_lock(&ring.lock);
    if (--ring.n_producing == 0) pthread_cond_broadcast(&ring.half_full);
    pthread_mutex_unlock(&ring.lock);
}

/* False when the ring is empty and no producer is left. */
static bool ring_get(struct batch *b) {
    pthread_mutex_lock(&ring.lock);
    while (ring.n_batches == 0 && ring.n_producing > 0)
        pthread_cond_wait(&ring.half_full, &ring.lock);
    bool got = ring.n_batches > 0;
    if (got) {
        *b = ring.slot[ring.first];
        ring.first = (ring.first + 1) % RING;
        if (--ring.n_batches <= RING / 2) pthread_cond_signal(&ring.half_empty);
    }
    pthread_mutex_unlock(&ring.lock);
    return got;
}

static void *produce(void *arg) {
    struct worker *w = arg;
    struct batch b;
    pin_to_processor(w->processor);
    for (uint64_t i = 0; i < w->n_batches; i++) {
        for (unsigned j = 0; j < BATCH; j++)
            b.block[j] = touched(malloc(w->size ? w->size : rng_log_size(&w->rng, 16, 6)), i + j);
        ring_put(&b);
    }
    ring_close_one();
    return NULL;
}

static void *consume(void *arg) {
    struct worker *w = arg;
    struct batch b;
    pin_to_processor(w->processor);
    while (ring_get(&b)) {
        for (unsigned j = 0; j < BATCH; j++) {
            w->sum += *(uint64_t *)b.block[j];
            free(b.block[j]);
        }
        w->n_freed += BATCH;
    }
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 4, "prodcons PRODUCERS CONSUMERS SIZE|0 BLOCKS");
    unsigned n_producers = (unsigned)number(argv[1]), n_consumers = (unsigned)number(argv[2]);
    unsigned n_workers = n_producers + n_consumers;
    if (n_producers == 0 || n_consumers == 0 || n_workers > THREADS_MAX) return 2;

    static struct worker worker[THREADS_MAX];
    ring.n_producing = n_producers;
    for (unsigned i = 0; i < n_workers; i++) {
        struct worker *w = &worker[i];
        w->processor = i < n_producers ? 2 * i : 2 * (i - n_producers) + 1;
        w->rng = rng_seeded(i);
        w->size = number(argv[3]);
        w->n_batches = number(argv[4]) / BATCH / n_producers;
        if (pthread_create(&w->thread, NULL, i < n_producers ? produce : consume, w))
            die("cannot start a thread");
    }

    uint64_t n_freed = 0, sum = 0;
    for (unsigned i = 0; i < n_workers; i++) {
        pthread_join(worker[i].thread, NULL);
        n_freed += worker[i].n_freed;
        sum += worker[i].sum;
    }
    return finish(n_freed, sum);
}
