/* idle_threads.c - the resident memory of threads that allocated a little and now wait.
 *
 * Each makes 40 objects of 16 to 1023 bytes, frees every other one, and sleeps on a barrier.
 * RSS is read when all have done so, and again after one second without a call.
 */
#include "common.h"
#include <pthread.h>

enum { THREADS_MAX = 1000, N_OBJECTS = 40 };

static pthread_barrier_t all_allocated, all_measured;

static void *idler(void *arg) {
    struct rng r = rng_seeded((uintptr_t)arg);
    void *object[N_OBJECTS];
    for (unsigned i = 0; i < N_OBJECTS; i++)
        object[i] = touched(malloc(rng_log_size(&r, 16, 6)), i);
    for (unsigned i = 0; i < N_OBJECTS; i += 2) free(object[i]);
    pthread_barrier_wait(&all_allocated);
    pthread_barrier_wait(&all_measured);
    for (unsigned i = 1; i < N_OBJECTS; i += 2) free(object[i]);
    return NULL;
}

int main(int argc, char **argv) {
    need_args(argc, 1, "idle_threads THREADS");
    uintptr_t n = number(argv[1]);
    if (n == 0 || n > THREADS_MAX) return 2;
    pthread_barrier_init(&all_allocated, NULL, (unsigned)n + 1);
    pthread_barrier_init(&all_measured, NULL, (unsigned)n + 1);

    static pthread_t thread[THREADS_MAX];
    for (uintptr_t i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, idler, (void *)i)) die("cannot start a thread");

    pthread_barrier_wait(&all_allocated);
    uint64_t at_once = rss_kib();
    sleep_ms(1000);
    uint64_t idle = rss_kib();
    pthread_barrier_wait(&all_measured);
    for (uintptr_t i = 0; i < n; i++) pthread_join(thread[i], NULL);
    say(STDOUT_FILENO, "{\"check\": %zu, \"rss_kib\": %" PRIu64 ", \"idle_1s_kib\": %" PRIu64 "}\n",
        (size_t)n, at_once, idle);
    return 0;
}
