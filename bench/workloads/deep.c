/* deep.c - malloc and free at the bottom of a deep stack: what a profiler pays that takes the stack of each.
 *
 *     deep recurring|random FRAMES PAIRS
 *
 * The outer frames stay. The last LEVELS are called anew for each pair, and each is one of BRANCHES calls: always the same
 * path, or a random one of the 3^8 = 6561 there are. Compiled without frame pointers, as most programs are.
 */
#include "common.h"

enum { LEVELS = 8, BRANCHES = 3, N_PATHS = 6561, SIZES = 64 };

struct work {
    uint64_t pairs, sum;
    struct rng rng;
    bool is_random;
};

__attribute__((noinline)) static uint64_t leaf(uint64_t i) {
    void *p = touched(malloc(16 + i % SIZES), i);
    free(p);
    return i & 1;
}

/* keep(): what follows a call makes it neither a jump nor part of a loop; what is added keeps the three apart. */
__attribute__((noinline)) static uint64_t inner(unsigned level, uint32_t path, uint64_t i) {
    uint64_t sum;
    if (level == 0) return leaf(i); /* a jump */
    switch (path % BRANCHES) {
    case 0: sum = 1 + inner(level - 1, path / BRANCHES, i); break;
    case 1: sum = 3 * inner(level - 1, path / BRANCHES, i); break;
    default: sum = 5 ^ inner(level - 1, path / BRANCHES, i); break;
    }
    keep(&sum);
    return sum;
}

__attribute__((noinline)) static void outer(unsigned n_frames, struct work *w) {
    if (n_frames > 0) {
        outer(n_frames - 1, w);
        keep(w);
        return;
    }
    for (uint64_t i = 0; i < w->pairs; i++) {
        uint32_t path = rng_below(&w->rng, N_PATHS);
        w->sum += inner(LEVELS, w->is_random ? path : 1, i);
    }
}

int main(int argc, char **argv) {
    need_args(argc, 3, "deep recurring|random FRAMES PAIRS");
    uint64_t n_frames = number(argv[2]);
    struct work w = {.pairs = number(argv[3]), .rng = rng_seeded(1)};
    w.is_random = !strcmp(argv[1], "random");
    if (n_frames < LEVELS + 4 || n_frames > 200) return 2;
    /* main, the outer ones and their last, the inner ones, the leaf */
    outer((unsigned)n_frames - LEVELS - 3, &w);
    return finish(w.pairs, w.sum);
}
