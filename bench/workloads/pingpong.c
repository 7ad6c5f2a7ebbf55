/* pingpong.c - malloc and free of one block, over and over.
 *
 * The shortest path of an allocator and nothing else: the block just freed is the one handed out
 * next.
 */
#include "common.h"

int main(int argc, char **argv) {
    need_args(argc, 2, "pingpong SIZE PAIRS");
    size_t size = number(argv[1]);
    uint64_t pairs = number(argv[2]);

    for (uint64_t i = 0; i < pairs; i++) free(touched(malloc(size), i));
    return finish(pairs, size);
}
