/* no_malloc.c - a program with a malloc of its own, which nobody may call while a thread waits for a lock or burns CPU time: whoever does
 * is a profiler in the middle of it. The library's own heap, which the program does not use, hands out nothing meanwhile either.
 *
 *     no_malloc        exit 1 if memory was asked for
 */
#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vitrine.h>

#include "burn_loop.h"

#define N_THREADS 4
#define BURN_MS 50

static __thread int is_busy; /* in a wait, or burning */
static atomic_int n_asked;

/* ---- malloc: from the bottom up, never again */

alignas(16) static char memory[32 << 20];
static atomic_size_t n_used;

static void *take(size_t n_bytes) {
    if (is_busy) n_asked++;
    size_t n = (n_bytes + 31) & ~(size_t)15; /* and 16 for its size */
    size_t at = atomic_fetch_add(&n_used, n);
    if (at + n > sizeof memory) return NULL;
    *(size_t *)(void *)(memory + at) = n_bytes;
    return memory + at + 16;
}

void *malloc(size_t n_bytes) { return take(n_bytes); }

void *calloc(size_t n, size_t n_bytes) { return take(n * n_bytes); } /* nothing is used twice */

void free(void *p) {
    if (p != NULL && is_busy) n_asked++;
}

void *realloc(void *p, size_t n_bytes) {
    void *at = take(n_bytes);
    size_t n_old = p != NULL ? *(size_t *)(void *)((char *)p - 16) : 0;
    if (at != NULL && p != NULL) memcpy(at, p, n_old < n_bytes ? n_old : n_bytes);
    return at;
}

/* ---- waits */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int n_at_last; /* threads that are about to wait for it */
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static struct timespec in_a_while(clockid_t clock, long ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

/* Each waits for 2 ms or more, longer than any that is left out: the locks are main's, and it keeps all but the last. */
static void wait_by_all(void) {
    struct timespec soon = in_a_while(CLOCK_REALTIME, 2);
    pthread_mutex_timedlock(&mutex, &soon);
    soon = in_a_while(CLOCK_MONOTONIC, 2);
    pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &soon);
    soon = in_a_while(CLOCK_REALTIME, 2);
    pthread_rwlock_timedrdlock(&rwlock, &soon);
    soon = in_a_while(CLOCK_MONOTONIC, 2);
    pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &soon);
    pthread_mutex_lock(&of_condition);
    soon = in_a_while(CLOCK_REALTIME, 2);
    pthread_cond_timedwait(&condition, &of_condition, &soon);
    soon = in_a_while(CLOCK_MONOTONIC, 2);
    pthread_cond_clockwait(&condition, &of_condition, CLOCK_MONOTONIC, &soon);
    pthread_mutex_unlock(&of_condition);
    n_at_last++;
    pthread_mutex_lock(&last);
    pthread_mutex_unlock(&last);
}

static void *work(void *unused) {
    is_busy = 1;
    wait_by_all();
    burn(BURN_MS);
    is_busy = 0;
    return unused;
}

int main(void) {
    struct vt_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    pthread_t id[N_THREADS];
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&last);
    pthread_rwlock_wrlock(&rwlock);
    vt_stats_get(&before);
    for (int i = 0; i < N_THREADS; i++)
        if (pthread_create(&id[i], NULL, work, NULL) != 0) return 2;
    while (n_at_last < N_THREADS) usleep(1000);
    for (int i = 0; i < 50; i++) usleep(1000); /* signals end it early */
    pthread_mutex_unlock(&last);
    for (int i = 0; i < N_THREADS; i++) pthread_join(id[i], NULL);
    vt_stats_get(&after);
    int seen = n_asked; /* stdio takes memory itself */
    if (seen != 0) printf("expected no malloc and no free in waits and ticks, seen %d\n", seen);
    /* a thread has a heap from its first malloc on, also if it frees at once */
    if (after.n_heaps == before.n_heaps && after.allocated == before.allocated) return seen != 0;
    printf("expected the library's heap unused, seen %d heaps and %d bytes more\n",
           (int)(after.n_heaps - before.n_heaps), (int)(after.allocated - before.allocated));
    return 1;
}
