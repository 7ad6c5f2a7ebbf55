/* queue.h - queues of slabs, in medium.c and own.c. Climate: malloc, under the lock that keeps the queue, if there is one. */
#ifndef VT_HEAP_QUEUE_H
#define VT_HEAP_QUEUE_H

#include "heap/impl.h"

/* It has no block to hand out, neither freed nor fresh. */
VT_INLINE bool is_used_up(const struct slab *s) {
    return s->free == NULL && s->carved == vt__classes[s->cls].capacity;
}

VT_INLINE void queue_append(struct queue *q, struct slab *s) {
    s->next = 0;
    s->prev = q->last;
    if (q->last != 0)
        vt__slab(q->last)->next = vt__slab_id(s);
    else
        q->first = vt__slab_id(s);
    q->last = vt__slab_id(s);
}

VT_INLINE void queue_unlink(struct queue *q, struct slab *s) {
    if (s->prev != 0)
        vt__slab(s->prev)->next = s->next;
    else
        q->first = s->next;
    if (s->next != 0)
        vt__slab(s->next)->prev = s->prev;
    else
        q->last = s->prev;
}

#endif
