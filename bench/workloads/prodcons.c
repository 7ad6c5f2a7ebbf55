/* prodcons.c - producers allocate, consumers in other threads read and free.
 *
 * Blocks travel in batches through one queue, see queue.h.
 */
#include "queue.h"

enum { THREADS_MAX = 16 };

static struct queue queue;

struct worker {
    pthread_t thread;
    unsigned processor; /* producers and consumers on different ones */
    struct rng rng;
    size_t size;        /* 0: mixed, 16 to 1023 bytes */
    uint64_t n_batches; /* a producer's share of the work */
    uint64_t n_freed, sum;
};

static void *produce(void *arg) {
    struct worker *w = arg;
    struct batch b;
    pin_to_processor(w->processor);
    for (uint64_t i = 0; i < w->n_batches; i++) {
        for (unsigned j = 0; j < BATCH; j++)
            b.block[j] = touched(malloc(w->size ? w->size : rng_log_size(&w->rng, 16, 6)), i + j);
        queue_put(&queue, &b);
    }
    queue_close_one(&queue);
    return NULL;
}

static void *consume(void *arg) {
    struct worker *w = arg;
    struct batch b;
    pin_to_processor(w->processor);
    while (queue_get(&queue, &b)) {
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
    queue_open(&queue, n_producers);
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
