/* steady.c - what a thread does over and over again while others are there, for steady.py to count.
 *
 * steady SHAPE PAIRS: so many pairs of malloc and free (of realloc: steps), two more threads asleep. All sizes come from a fixed seed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KiB(n) ((size_t)(n)*1024)

static uint64_t state = 0x9E3779B97F4A7C15u; /* xorshift64*; only the main thread draws */
static uint32_t below(uint32_t n) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(((state * 0x2545F4914F6CDD1Du >> 32) * n) >> 32);
}

static void *live[10000];
static void touch(void *p) { *(volatile char *)p = 1; }

static size_t small_size(void) { return 8 + below(1001); }
static size_t middle_size(void) { return KiB(1) + below(KiB(15) + 1); }
static size_t mixed_size(void) {
    return below(8) == 0 ? KiB(1) + below(KiB(59) + 1) : small_size();
}
static size_t size_64(void) { return 64; }

/* ---- one thread ---- */

static void replace(long n, unsigned n_live, size_t (*size)(void)) {
    for (long i = 0; i < n; i++) {
        unsigned k = below(n_live);
        free(live[k]);
        touch(live[k] = malloc(size()));
    }
}
static void small(long n) { replace(n, 2000, small_size); }
static void middle(long n) { replace(n, 500, middle_size); }
static void mixed(long n) { replace(n, 2000, mixed_size); }

/* 10,000 blocks, of which a fifth stays: each time another one. */
static void ring(long n) {
    enum { ALL = 10000, KEPT = ALL / 5 };
    unsigned first = 0;
    for (long done = 0; done < n; first = (first + KEPT) % ALL) {
        for (unsigned i = 0; i < ALL; i++) {
            if (live[i] != NULL) continue;
            touch(live[i] = malloc(16 + below(497)));
            done++;
        }
        for (unsigned i = KEPT; i < ALL; i++) {
            free(live[(first + i) % ALL]);
            live[(first + i) % ALL] = NULL;
        }
    }
}

static void aligned(long n) {
    for (long i = 0; i < n; i++) {
        unsigned k = below(500);
        free(live[k]);
        if (posix_memalign(&live[k], (size_t)64 << below(7), 1 + below(4096)) != 0) abort();
        touch(live[k]);
    }
}

static void zeroed(long n) {
    for (long i = 0; i < n; i++) {
        unsigned k = below(1000);
        free(live[k]);
        touch(live[k] = calloc(1, 8 + below(8000)));
    }
}

static void growing(long n) {
    for (long done = 0; done < n;) {
        char *p = NULL;
        for (size_t size = 64; size <= KiB(64); size += 64, done++) touch(p = realloc(p, size));
        free(p);
    }
}

static void again(long n, size_t n_bytes) {
    for (long i = 0; i < n; i++) {
        void *p = malloc(n_bytes);
        touch(p);
        free(p);
    }
}
static void again_8K(long n) { again(n, KiB(8)); }
static void again_64K(long n) { again(n, KiB(64)); }

/* ---- from one thread to another, by a queue without a locked instruction of its own ---- */

enum { N_QUEUE = 4096 };
static void *queue[N_QUEUE];
static _Atomic long n_put, n_got;
static long n_handed;

static void *take_and_free(void *unused) {
    for (long i = 0; i < n_handed; i++) {
        while (atomic_load_explicit(&n_put, memory_order_acquire) <= i) sched_yield();
        free(queue[i % N_QUEUE]);
        atomic_store_explicit(&n_got, i + 1, memory_order_release);
    }
    return unused;
}

static void hand_over(long n, size_t (*size)(void)) {
    pthread_t other;
    n_handed = n;
    pthread_create(&other, NULL, take_and_free, NULL);
    for (long i = 0; i < n; i++) {
        while (i - atomic_load_explicit(&n_got, memory_order_acquire) >= N_QUEUE) sched_yield();
        touch(queue[i % N_QUEUE] = malloc(size()));
        atomic_store_explicit(&n_put, i + 1, memory_order_release);
    }
    pthread_join(other, NULL);
}
static void handed_64(long n) { hand_over(n, size_64); }
static void handed_small(long n) { hand_over(n, small_size); }
static void handed_mixed(long n) { hand_over(n, mixed_size); }

/* ---- */

static pthread_barrier_t all_there;

static void *sleep_on(void *unused) {
    free(malloc(100));
    pthread_barrier_wait(&all_there);
    for (;;) pause();
    return unused;
}

static const struct {
    const char *name;
    void (*run)(long n);
} shapes[] = {{"small", small},
              {"middle", middle},
              {"mixed", mixed},
              {"ring", ring},
              {"aligned", aligned},
              {"zeroed", zeroed},
              {"growing", growing},
              {"again-8K", again_8K},
              {"again-64K", again_64K},
              {"handed-64", handed_64},
              {"handed-small", handed_small},
              {"handed-mixed", handed_mixed}};

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    pthread_barrier_init(&all_there, NULL, 3);
    for (int i = 0; i < 2; i++) {
        pthread_t sleeper;
        pthread_create(&sleeper, NULL, sleep_on, NULL);
    }
    pthread_barrier_wait(&all_there);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (strcmp(shapes[i].name, argv[1]) != 0) continue;
        shapes[i].run(atol(argv[2]));
        _exit(0); /* the sleepers sleep */
    }
    return 2;
}
