/* demo.c - a small server in one process: the program of `make demo`.
 *
 *   listener  makes requests and hands them to the workers in batches
 *   workers   keep a cache of records, answer each request, and free it: blocks of another thread
 *   writer    sends the answers, and frees them: blocks of another thread again
 *
 * After the rush most records expire, the threads wait for work that does not come, and the program sleeps for a second.
 * Then it says on one line what all this took. It knows nothing of any particular malloc.
 *
 *   cc -O2 -pthread demo.c -o demo && ./demo && LD_PRELOAD=libvitrine.so.1 ./demo
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define N_REQUESTS 800000
#define N_WORKERS 3
#define N_RECORDS 100000 /* in each worker's cache */
#define N_KEEP 1000      /* one record in so many outlives the rush */
#define BATCH 64
#define DEPTH 64 /* batches that may wait in a queue */
#define IDLE_SECONDS 1

struct request {
    uint32_t key;
    uint32_t body_bytes;
    char *body;
};

struct record {
    size_t n_bytes;
    char text[];
};

struct answer {
    size_t n_bytes;
    char *text;
};

/* ---- queues: batches of pointers from one thread to another ---- */

struct batch {
    size_t n;
    void *item[BATCH];
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct batch waiting[DEPTH];
    size_t n_in, n_out;
};

#define QUEUE                                                                                      \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0, {NULL}}}, 0, 0 }

static void queue_put(struct queue *q, const struct batch *b) {
    pthread_mutex_lock(&q->lock);
    while (q->n_in - q->n_out == DEPTH) pthread_cond_wait(&q->changed, &q->lock);
    q->waiting[q->n_in++ % DEPTH] = *b;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void queue_get(struct queue *q, struct batch *b) {
    pthread_mutex_lock(&q->lock);
    while (q->n_in == q->n_out) pthread_cond_wait(&q->changed, &q->lock);
    *b = q->waiting[q->n_out++ % DEPTH];
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static struct queue to_worker[N_WORKERS] = {QUEUE, QUEUE, QUEUE};
static struct queue to_writer[N_WORKERS] = {QUEUE, QUEUE, QUEUE};
static struct queue to_main =
    QUEUE; /* the writer has sent everything; a worker has expired its records */

/* ---- the parts ---- */

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Many small, few large: 16 bytes to 4 KiB. */
static size_t random_bytes(uint32_t *state) {
    unsigned shift = next_random(state) % 9;
    return 16 + next_random(state) % ((size_t)16 << shift);
}

static void *checked(void *p) {
    if (p != NULL) return p;
    fputs("demo: error: out of memory\n", stderr);
    exit(3);
}

static void store(struct record **place, const struct request *r) {
    struct record *new = checked(malloc(sizeof(*new) + r->body_bytes));
    new->n_bytes = r->body_bytes;
    memcpy(new->text, r->body, r->body_bytes);
    free(*place);
    *place = new;
}

/* The answer is put together piece by piece, as servers do. */
static struct answer *answer_to(const struct request *r, const struct record *old) {
    static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
    struct answer *a = checked(malloc(sizeof(*a)));
    char key[16];
    int key_bytes = snprintf(key, sizeof(key), "%u: ", r->key);
    size_t old_bytes = old != NULL ? old->n_bytes : 0;
    a->n_bytes = sizeof(head) - 1;
    a->text = checked(malloc(a->n_bytes));
    memcpy(a->text, head, a->n_bytes);
    a->text = checked(realloc(a->text, a->n_bytes + (size_t)key_bytes));
    memcpy(a->text + a->n_bytes, key, (size_t)key_bytes);
    a->n_bytes += (size_t)key_bytes;
    if (old_bytes == 0) return a;
    a->text = checked(realloc(a->text, a->n_bytes + old_bytes));
    memcpy(a->text + a->n_bytes, old->text, old_bytes);
    a->n_bytes += old_bytes;
    return a;
}

static void *handle(struct request *r, struct record **cache) {
    struct record **place = &cache[r->key % N_RECORDS];
    struct answer *a = answer_to(r, *place);
    store(place, r);
    free(r->body);
    free(r);
    return a;
}

/* Most records go; the sum of the rest. */
static size_t expire(struct record **cache) {
    size_t kept = 0;
    for (size_t i = 0; i < N_RECORDS; i++) {
        if (cache[i] == NULL) continue;
        if (i % N_KEEP == 0) {
            kept += sizeof(struct record) + cache[i]->n_bytes;
            continue;
        }
        free(cache[i]);
        cache[i] = NULL;
    }
    return kept;
}

static void *worker(void *arg) {
    size_t me = (size_t)(uintptr_t)arg;
    struct record **cache = checked(calloc(N_RECORDS, sizeof(*cache)));
    for (;;) {
        struct batch b;
        queue_get(&to_worker[me], &b);
        if (b.n == 0) {
            b.item[0] = (void *)(uintptr_t)expire(cache);
            queue_put(&to_main, &b);
            continue; /* to wait for work that does not come */
        }
        for (size_t i = 0; i < b.n; i++) b.item[i] = handle(b.item[i], cache);
        queue_put(&to_writer[me], &b);
    }
    return NULL;
}

static void *writer(void *unused) {
    (void)unused;
    size_t n_sent = 0;
    for (size_t n = 0; n < N_REQUESTS / BATCH; n++) {
        struct batch b;
        queue_get(&to_writer[n % N_WORKERS], &b);
        for (size_t i = 0; i < b.n; i++) {
            struct answer *a = b.item[i];
            n_sent += a->n_bytes;
            free(a->text);
            free(a);
        }
    }
    struct batch done = {.item = {(void *)(uintptr_t)n_sent}};
    queue_put(&to_main, &done);
    return NULL;
}

static void listen_and_hand_out(void) {
    uint32_t state = 1;
    for (size_t n = 0; n < N_REQUESTS / BATCH; n++) {
        struct batch b = {.n = BATCH};
        for (size_t i = 0; i < BATCH; i++) {
            struct request *r = checked(malloc(sizeof(*r)));
            r->key = next_random(&state);
            r->body_bytes = (uint32_t)random_bytes(&state);
            r->body = checked(malloc(r->body_bytes));
            memset(r->body, 'x', r->body_bytes);
            b.item[i] = r;
        }
        queue_put(&to_worker[n % N_WORKERS], &b);
    }
}

/* ---- the story ---- */

static void start(void *(*f)(void *), size_t arg) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, (void *)(uintptr_t)arg) != 0) {
        fputs("demo: error: cannot start a thread\n", stderr);
        exit(3);
    }
}

static long resident_kib(void) {
    char text[128] = "";
    long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0) return 0;
    if (read(fd, text, sizeof(text) - 1) > 0) sscanf(text, "%*d %ld", &pages);
    close(fd);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double wall_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void) {
    struct batch b;
    struct rusage used;
    size_t kept = 0;
    double begin = wall_s();
    for (size_t i = 0; i < N_WORKERS; i++) start(worker, i);
    start(writer, 0);
    listen_and_hand_out();
    queue_get(&to_main, &b);
    size_t sent = (size_t)(uintptr_t)b.item[0];
    double rush_s = wall_s() - begin;
    for (size_t i = 0; i < N_WORKERS; i++) {
        queue_put(&to_worker[i], &(struct batch){.n = 0});
        queue_get(&to_main, &b);
        kept += (size_t)(uintptr_t)b.item[0];
    }
    sleep(IDLE_SECONDS);
    long idle_kib = resident_kib();
    getrusage(RUSAGE_SELF, &used);
    double cpu_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    printf(
        "requests=%d cpu_ms=%.0f wall_ms=%.0f peak_kib=%ld idle_kib=%ld kept_kib=%zu sent_kib=%zu\n",
        N_REQUESTS, cpu_s * 1e3, rush_s * 1e3, used.ru_maxrss, idle_kib, kept / 1024, sent / 1024);
    return 0;
}
