/* untouched.c - calloc and free in turn of a block that nobody looks at.
 *
 * A table made for a worst case that does not come. An allocator that knows which memory is still
 * zero has nothing to do.
 */
#include "common.h"

int main(int argc, char **argv) {
    need_args(argc, 2, "untouched SIZE PAIRS");
    size_t size = number(argv[1]);
    uint64_t pairs = number(argv[2]);

    for (uint64_t i = 0; i < pairs; i++) {
        void *p = must(calloc(1, size));
        keep(p);
        free(p);
    }
    return finish(pairs, size);
}
