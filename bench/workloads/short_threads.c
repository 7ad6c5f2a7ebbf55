/* short_threads.c - many threads that live briefly and allocate a little.
 *
 * Four at a time, each makes and frees 32 small objects. What shows is the price of an allocator's
 * per-thread state: making it, and giving it up.
 */
#include "common.h"
#include <pthread.h>

enum { AT_ONCE = 4, N_OBJECTS = 32 };

static void *brief(void *arg) {
    struct rng r = rng_seeded((uintptr_t)arg);
    void *object[N_OBJECTS];
    for (unsigned i = 0; i < N_OBJECTS; i++)
        object[i] = touched(malloc(rng_log_size(&r, 16, 5)), i);
    for (unsigned i = 0; i < N_OBJECTS; i++) free(object[i]);
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 1, "short_threads THREADS");
    uint64_t n_waves = number(argv[1]) / AT_ONCE;

    for (uint64_t wave = 0; wave < n_waves; wave++) {
        pthread_t thread[AT_ONCE];
        for (uintptr_t i = 0; i < AT_ONCE; i++)
            if (pthread_create(&thread[i], NULL, brief, (void *)i)) die("cannot start a thread");
        for (unsigned i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
    }
    return finish(n_waves * AT_ONCE, N_OBJECTS);
}
