/* edge.h - text whose NUL is the last byte before a page of no access: who reads on is found. */
#ifndef VT_TEST_EDGE_H
#define VT_TEST_EDGE_H

#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "expect.h"

/* The bytes behind the two texts, until the next call. */
static const char *at_the_edge(const char *name, const char *between, const unsigned char *data,
                               size_t n_bytes) {
    static char *edge;
    if (edge == NULL) {
        char *area = mmap(NULL, MiB(2), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        edge = area + MiB(1);
        EXPECT(mprotect(edge, VT_OS_PAGE, PROT_NONE) == 0);
    }
    char *at = edge - strlen(name) - strlen(between) - n_bytes - 1;
    char *to = at;
    memcpy(to, name, strlen(name)), to += strlen(name);
    memcpy(to, between, strlen(between)), to += strlen(between);
    memcpy(to, data, n_bytes);
    edge[-1] = '\0';
    return at;
}

#endif
