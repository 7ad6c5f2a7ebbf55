/* chain.c - blocks that pass through three threads.
 *
 * The first allocates, the second passes on what it gets with a block of its own for every three,
 * the third reads and frees all of them. A request that is received, enriched and answered. Blocks
 * travel in batches through two queues, see queue.h.
 */
#include "queue.h"

enum { OWN = BATCH / 4, N_THREADS = 3 };

static struct queue to_second, to_third;
static size_t size; /* 0: mixed, 16 to 1023 bytes; written once by main() */
static uint64_t n_batches;

static void fill(struct batch *b, unsigned from, unsigned to, struct rng *r) {
    for (unsigned i = from; i < to; i++)
        b->block[i] = touched(malloc(size ? size : rng_log_size(r, 16, 6)), i);
}

static void *allocate(void *unused) {
    struct rng r = rng_seeded(0);
    struct batch b = {0};
    pin_to_processor(0);
    for (uint64_t i = 0; i < n_batches; i++) {
        fill(&b, 0, BATCH - OWN, &r);
        queue_put(&to_second, &b);
    }
    queue_close_one(&to_second);
    return unused;
}

static void *pass_on(void *unused) {
    struct rng r = rng_seeded(1);
    struct batch b;
    pin_to_processor(1);
    while (queue_get(&to_second, &b)) {
        fill(&b, BATCH - OWN, BATCH, &r);
        queue_put(&to_third, &b);
    }
    queue_close_one(&to_third);
    return unused;
}

static void *free_all(void *sum) {
    struct batch b;
    pin_to_processor(2);
    while (queue_get(&to_third, &b)) {
        for (unsigned i = 0; i < BATCH; i++) {
            *(uint64_t *)sum += *(uint64_t *)b.block[i];
            free(b.block[i]);
        }
    }
    return sum;
}

int main(int argc, char **argv) {
    need_args(argc, 2, "chain SIZE|0 BLOCKS");
    size = number(argv[1]);
    n_batches = number(argv[2]) / BATCH;

    void *(*const work[N_THREADS])(void *) = {allocate, pass_on, free_all};
    pthread_t thread[N_THREADS];
    uint64_t sum = 0;
    queue_open(&to_second, 1);
    queue_open(&to_third, 1);
    for (unsigned i = 0; i < N_THREADS; i++)
        if (pthread_create(&thread[i], NULL, work[i], &sum)) die("cannot start a thread");
    for (unsigned i = 0; i < N_THREADS; i++) pthread_join(thread[i], NULL);
    return finish(n_batches * BATCH, sum);
}
