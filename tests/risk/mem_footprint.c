/* mem_footprint.c - the weight of programs that need hardly anything; prints weight_kib().
 *
 *     mem_footprint trivial      a few small allocations
 *     mem_footprint threads      a hundred threads that allocated a little and wait
 */
#include "risk.h"

enum { N = 100 };
static pthread_barrier_t ready;

static void *idle(void *arg) {
    void *p[20];
    for (size_t i = 0; i < 20; i++) {
        p[i] = malloc(16 + i * 40);
        if (p[i]) memset(p[i], 1, 16 + i * 40);
    }
    for (size_t i = 0; i < 20; i += 2) free(p[i]);
    pthread_barrier_wait(&ready);
    for (;;) pause();
    return arg;
}

int main(int argc, char **argv) {
    pthread_attr_t attr;
    pthread_t id;
    for (size_t i = 0; i < 50; i++) free(malloc(i * 30));
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        pthread_barrier_init(&ready, NULL, N + 1);
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, KiB(256));
        for (int i = 0; i < N; i++)
            if (pthread_create(&id, &attr, idle, NULL)) return 3;
        pthread_barrier_wait(&ready);
    }
    printf("%ld\n", weight_kib());
    return 0;
}
