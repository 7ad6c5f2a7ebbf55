/* aligned.c - aligned blocks, in a live set of 1000 in which random ones are replaced.
 *
 * aligned_alloc with the ALIGNMENT given (sizes are one to four times that), or posix_memalign when
 * ALIGNMENT is a word. "posix": alignments of 32 to 1024 bytes, sizes of 16 bytes to 4 KiB, each
 * doubling equally likely; "mixed": alignments of 64 to 4096, all sizes to 4 KiB equally likely. A
 * misaligned block is counted, not fatal: mimalloc 2.0.9 returns some (its issue 700), and the row
 * shall still compare; run.py shows the count.
 */
#include "common.h"

enum { N_LIVE = 1000 };

static uint64_t n_misaligned;

static void *checked(void *p, size_t alignment) {
    if ((uintptr_t)p % alignment) n_misaligned++;
    return p;
}

static void *posix_aligned(size_t alignment, size_t size) {
    void *p = NULL;
    if (posix_memalign(&p, alignment, size)) return NULL;
    return checked(p, alignment);
}

static void *posix_block(struct rng *r, size_t *size) {
    size_t alignment = (size_t)32 << rng_below(r, 6);
    *size = rng_log_size(r, 16, 8);
    return posix_aligned(alignment, *size);
}

static void *mixed_block(struct rng *r, size_t *size) {
    size_t alignment = (size_t)64 << rng_below(r, 7);
    *size = 16 + rng_below(r, KiB(4) - 15);
    return posix_aligned(alignment, *size);
}

static void *aligned_block(struct rng *r, size_t alignment, size_t *size) {
    *size = alignment * (1 + rng_below(r, 4));
    return checked(aligned_alloc(alignment, *size), alignment);
}

int main(int argc, char **argv) {
    need_args(argc, 2, "aligned ALIGNMENT|posix|mixed REPLACEMENTS");
    bool is_posix = strcmp(argv[1], "posix") == 0, is_mixed = strcmp(argv[1], "mixed") == 0;
    size_t alignment = is_posix || is_mixed ? 0 : number(argv[1]);
    uint64_t n = number(argv[2]), bytes = 0;
    struct rng r = rng_seeded(4);

    static void *live[N_LIVE];
    for (uint64_t i = 0; i < n; i++) {
        void **slot = &live[rng_below(&r, N_LIVE)];
        size_t size;
        free(*slot);
        void *p = is_posix   ? posix_block(&r, &size)
                  : is_mixed ? mixed_block(&r, &size)
                             : aligned_block(&r, alignment, &size);
        *slot = touched(p, i);
        bytes += size;
    }
    for (unsigned i = 0; i < N_LIVE; i++) free(live[i]);
    say(STDOUT_FILENO,
        "{\"ops\": %" PRIu64 ", \"check\": %" PRIu64 ", \"misaligned\": %" PRIu64 "}\n", n, bytes,
        n_misaligned);
    return 0;
}
