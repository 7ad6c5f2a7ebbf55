/* buffer.h - bytes that grow: a file, a server's answer, what came out of a packed one. Climate: cli. */
#ifndef REPORT_BUFFER_H
#define REPORT_BUFFER_H

#include "report/memory.h"

#define BUFFER_STEP ((size_t)1 << 20)

struct buffer {
    char *bytes; /* freed by free() */
    size_t n, cap;
};

static inline void buffer_room(struct buffer *b, size_t more) {
    if (b->cap - b->n >= more) return;
    b->cap = b->n + more + b->n / 2;
    b->bytes = report_resize(b->bytes, b->cap);
}

#endif
