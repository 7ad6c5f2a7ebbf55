/* grow.c - buffers that grow by realloc.
 *
 * BUFFERS of them grow in turn from 16 bytes to MAX, then all are freed; PASSES times. They double,
 * or grow by steps of 1/64 of what they have (at least 64 bytes), or by BYTES at a time. With one
 * buffer the next addresses are often free; with several they are in each other's way. One byte per
 * OS page is written, as data would be.
 */
#include "common.h"

enum { BUFFERS_MAX = 64 };

static size_t grown(size_t size, bool doubling, size_t fixed, size_t max) {
    size_t step = doubling ? size : fixed ? fixed : size / 64 < 64 ? 64 : size / 64;
    return size + step > max ? max : size + step;
}

int main(int argc, char **argv) {
    need_args(argc, 4, "grow double|step|BYTES BUFFERS MAX_KIB PASSES");
    bool doubling = strcmp(argv[1], "double") == 0;
    size_t fixed = doubling || strcmp(argv[1], "step") == 0 ? 0 : number(argv[1]);
    unsigned n_buffers = (unsigned)number(argv[2]);
    size_t max = KiB(number(argv[3]));
    uint64_t n_passes = number(argv[4]), ops = 0;
    if (n_buffers == 0 || n_buffers > BUFFERS_MAX) return 2;

    char *buffer[BUFFERS_MAX];
    for (uint64_t pass = 0; pass < n_passes; pass++) {
        for (unsigned i = 0; i < n_buffers; i++) buffer[i] = touched(malloc(16), i);
        for (size_t size = 16, next; size < max; size = next) {
            next = grown(size, doubling, fixed, max);
            for (unsigned i = 0; i < n_buffers; i++) {
                buffer[i] = must(realloc(buffer[i], next));
                touch_pages(buffer[i], size, next);
            }
            ops += n_buffers;
        }
        for (unsigned i = 0; i < n_buffers; i++) {
            if (*(uint64_t *)buffer[i] != i) die("realloc lost the contents");
            free(buffer[i]);
        }
    }
    return finish(ops, max);
}
