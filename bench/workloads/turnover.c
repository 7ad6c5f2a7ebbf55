/* turnover.c - threads that die and leave their live objects to a successor.
 *
 * After the server simulation of Larson and Krishnan: each chain owns a live set and replaces
 * random objects in it; after a while its thread starts a successor, hands the set over and ends.
 * The successor frees what a dead thread allocated. One chain per THREADS. Sizes are LEAST to MOST
 * bytes, all equally likely.
 */
#include "common.h"
#include <pthread.h>
#include <semaphore.h>

enum { N_LIVE = 1000, PER_GENERATION = 20000, CHAINS_MAX = 64 };

struct chain {
    unsigned processor; /* of its first thread; successors inherit it */
    bool is_pinned;
    struct rng rng;
    uint64_t n_generations; /* still to come */
    uint64_t bytes;
    void *live[N_LIVE];
};

static uint32_t size_least, n_sizes; /* written once by main() */
static sem_t n_ended;

static void *generation(void *arg);

static void start(struct chain *c) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, generation, c)) die("cannot start a thread");
    pthread_detach(thread);
}

static void *generation(void *arg) {
    struct chain *c = arg;
    if (!c->is_pinned) pin_to_processor(c->processor);
    c->is_pinned = true;
    for (unsigned i = 0; i < PER_GENERATION; i++) {
        uint64_t draw = rng_next(&c->rng);
        void **slot = &c->live[scaled_high(draw, N_LIVE)];
        size_t size = size_least + scaled_low(draw, n_sizes);
        free(*slot);
        *slot = touched(malloc(size), i);
        c->bytes += size;
    }
    if (--c->n_generations > 0)
        start(c);
    else
        sem_post(&n_ended);
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 4, "turnover THREADS LEAST MOST REPLACEMENTS");
    unsigned n_chains = (unsigned)number(argv[1]);
    if (n_chains == 0 || n_chains > CHAINS_MAX) return 2;
    size_least = (uint32_t)number(argv[2]);
    n_sizes = (uint32_t)number(argv[3]) - size_least + 1;
    uint64_t n_generations = number(argv[4]) / PER_GENERATION / n_chains;
    if (n_generations == 0) n_generations = 1;

    static struct chain chain[CHAINS_MAX];
    sem_init(&n_ended, 0, 0);
    for (unsigned i = 0; i < n_chains; i++) {
        chain[i].processor = i;
        chain[i].rng = rng_seeded(i);
        chain[i].n_generations = n_generations;
        start(&chain[i]);
    }
    for (unsigned i = 0; i < n_chains; i++)
        while (sem_wait(&n_ended)) continue;

    uint64_t bytes = 0;
    for (unsigned i = 0; i < n_chains; i++) bytes += chain[i].bytes;
    return finish(n_generations * n_chains * PER_GENERATION, bytes);
}
