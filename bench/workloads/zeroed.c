/* zeroed.c - calloc, in a live set in which random blocks are replaced.
 *
 * Sizes from LEAST bytes through DOUBLINGS doublings. Each block is read once per OS page (it must
 * be zero) and then written there: an allocator that knows which memory is still zero saves the
 * clearing.
 */
#include "common.h"

static void use(char *p, size_t size) {
    for (size_t at = 0; at < size; at += OS_PAGE_BYTES) {
        if (p[at] != 0 || p[size - 1] != 0) {
            say(STDERR_FILENO, "bench: error: calloc of %zu bytes is not zero\n", size);
            _exit(1);
        }
    }
    touch_pages(p, 0, size);
}

int main(int argc, char **argv) {
    need_args(argc, 4, "zeroed LEAST DOUBLINGS LIVE REPLACEMENTS");
    size_t least = number(argv[1]);
    unsigned doublings = (unsigned)number(argv[2]);
    uint32_t n_live = (uint32_t)number(argv[3]);
    uint64_t n = number(argv[4]), bytes = 0;
    char **live = table(n_live, sizeof *live);
    struct rng r = rng_seeded(3);

    for (uint64_t i = 0; i < n; i++) {
        char **slot = &live[rng_below(&r, n_live)];
        size_t size = rng_log_size(&r, least, doublings);
        free(*slot);
        *slot = must(calloc(1, size));
        use(*slot, size);
        bytes += size;
    }
    for (uint32_t i = 0; i < n_live; i++) free(live[i]);
    return finish(n, bytes);
}
