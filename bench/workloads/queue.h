/* queue.h - batches of blocks on their way from threads to other threads.
 *
 * Bounded, and without malloc. A side that has to wait is woken only when the queue is half full
 * (or half empty), so that a row measures blocks freed by a foreign thread and not the system's
 * sleeping and waking.
 */
#ifndef BENCH_QUEUE_H
#define BENCH_QUEUE_H

#include "common.h"
#include <pthread.h>

enum { BATCH = 256, N_BATCHES = 32 }; /* blocks in a batch, batches in a queue */

struct batch {
    void *block[BATCH];
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t half_full, half_empty;
    unsigned first, n_batches;
    unsigned n_putting; /* threads that may still put */
    struct batch slot[N_BATCHES];
};

static inline void queue_open(struct queue *q, unsigned n_putting) {
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->half_full, NULL);
    pthread_cond_init(&q->half_empty, NULL);
    q->n_putting = n_putting;
}

static inline void queue_put(struct queue *q, const struct batch *b) {
    pthread_mutex_lock(&q->lock);
    while (q->n_batches == N_BATCHES) pthread_cond_wait(&q->half_empty, &q->lock);
    q->slot[(q->first + q->n_batches++) % N_BATCHES] = *b;
    if (q->n_batches >= N_BATCHES / 2) pthread_cond_signal(&q->half_full);
    pthread_mutex_unlock(&q->lock);
}

/* One of those who put has ended. */
static inline void queue_close_one(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    if (--q->n_putting == 0) pthread_cond_broadcast(&q->half_full);
    pthread_mutex_unlock(&q->lock);
}

/* False when the queue is empty and all who put have ended. */
static inline bool queue_get(struct queue *q, struct batch *b) {
    pthread_mutex_lock(&q->lock);
    while (q->n_batches == 0 && q->n_putting > 0) pthread_cond_wait(&q->half_full, &q->lock);
    bool got = q->n_batches > 0;
    if (got) {
        *b = q->slot[q->first];
        q->first = (q->first + 1) % N_BATCHES;
        if (--q->n_batches <= N_BATCHES / 2) pthread_cond_signal(&q->half_empty);
    }
    pthread_mutex_unlock(&q->lock);
    return got;
}

#endif
