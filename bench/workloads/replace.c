/* replace.c - a live set in which random objects are replaced by new ones of another size.
 *
 * The steady state of a server or an interpreter. 20 sizes, 16 to 472 bytes. With few objects all
 * stays in the cache; with 300,000 (about 70 MiB) the allocator's own cache misses show.
 */
#include "common.h"

enum { N_SIZES = 20, SIZE_LEAST = 16, SIZE_STEP = 24 };

int main(int argc, char **argv) {
    need_args(argc, 2, "replace LIVE REPLACEMENTS");
    uint32_t n_live = (uint32_t)number(argv[1]);
    uint64_t n = number(argv[2]);
    void **live = table(n_live, sizeof *live);
    struct rng r = rng_seeded(2);

    uint64_t bytes = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t draw = rng_next(&r);
        void **slot = &live[scaled_high(draw, n_live)];
        size_t size = SIZE_LEAST + SIZE_STEP * scaled_low(draw, N_SIZES);
        free(*slot);
        *slot = touched(malloc(size), i);
        bytes += size;
    }
    for (uint32_t i = 0; i < n_live; i++) free(live[i]);
    return finish(n, bytes);
}
