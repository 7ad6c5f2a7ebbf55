/* large.c - large blocks, some of them live at any time, random ones replaced.
 *
 * Sizes from LEAST_KIB through DOUBLINGS doublings; one byte per OS page is written, so the page
 * faults of an allocator that returns memory at once are part of the price, as they are for users.
 */
#include "common.h"

int main(int argc, char **argv) {
    need_args(argc, 4, "large LEAST_KIB DOUBLINGS LIVE REPLACEMENTS");
    size_t least = KiB(number(argv[1]));
    unsigned doublings = (unsigned)number(argv[2]);
    uint32_t n_live = (uint32_t)number(argv[3]);
    uint64_t n = number(argv[4]), bytes = 0;
    char **live = table(n_live, sizeof *live);
    struct rng r = rng_seeded(5);

    for (uint64_t i = 0; i < n; i++) {
        char **slot = &live[rng_below(&r, n_live)];
        size_t size = rng_log_size(&r, least, doublings);
        free(*slot);
        *slot = must(malloc(size));
        touch_pages(*slot, 0, size);
        bytes += size;
    }
    for (uint32_t i = 0; i < n_live; i++) free(live[i]);
    return finish(n, bytes);
}
