/* frag.c - how much memory stays resident when most of a heap is freed, and the process then idles.
 *
 * Fills TOTAL_MIB with blocks of SIZE bytes (0: mixed, 16 to 4095 bytes, each doubling equally
 * likely), frees the first nine tenths or nine in ten at random, and reads RSS: at once, after each
 * idle time given (in seconds since the frees, with no call into the allocator meanwhile), and
 * after a refill of half of TOTAL_MIB in blocks of another size. The blocks are chained through
 * their first words: a table of pointers would count as resident memory.
 */
#include "common.h"

enum { KEEP_ONE_IN = 10, REFILL_SIZE = 336 };

struct block {
    struct block *next;
};

struct heap_plan {
    struct rng rng;
    size_t size; /* 0: mixed */
    uint64_t total_bytes;
};

struct live {
    struct block *first;
    uint64_t n_blocks, n_bytes;
};

static struct live fill(struct heap_plan *plan) {
    struct live live = {NULL, 0, 0};
    struct block **last = &live.first;
    while (live.n_bytes < plan->total_bytes) {
        size_t size = plan->size ? plan->size : rng_log_size(&plan->rng, 16, 8);
        struct block *b = must(malloc(size));
        memset(b, 1, size);
        *last = b;
        last = &b->next;
        live.n_blocks++;
        live.n_bytes += size;
    }
    *last = NULL;
    return live;
}

/* Replays the sizes that fill() drew, so the blocks need not carry them. */
static void thin_out(struct live *live, struct heap_plan *replay, bool at_random) {
    struct rng coin = rng_seeded(7);
    struct block **link = &live->first;
    uint64_t n = live->n_blocks, first_kept = n - n / KEEP_ONE_IN;
    for (uint64_t i = 0; i < n; i++) {
        size_t size = replay->size ? replay->size : rng_log_size(&replay->rng, 16, 8);
        struct block *b = *link;
        bool kept = at_random ? rng_below(&coin, KEEP_ONE_IN) == 0 : i >= first_kept;
        if (kept) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        free(b);
        live->n_blocks--;
        live->n_bytes -= size;
    }
}

int main(int argc, char **argv) {
    need_args(argc, 3, "frag random|first SIZE|0 TOTAL_MIB [IDLE_SECONDS...]");
    bool at_random = strcmp(argv[1], "random") == 0;
    const struct heap_plan plan = {rng_seeded(6), number(argv[2]), MiB(number(argv[3]))};
    struct heap_plan drawn = plan, replay = plan;

    uint64_t base = rss_kib();
    struct live live = fill(&drawn);
    uint64_t full = rss_kib();
    thin_out(&live, &replay, at_random);
    uint64_t freed = rss_kib();
    say(STDOUT_FILENO,
        "{\"check\": %" PRIu64 ", \"base_kib\": %" PRIu64 ", \"full_kib\": %" PRIu64
        ", \"kept_kib\": %" PRIu64 ", \"freed_kib\": %" PRIu64,
        live.n_blocks, base, full, live.n_bytes >> 10, freed);

    unsigned slept_s = 0;
    for (int i = 4; i < argc; i++) {
        unsigned until_s = (unsigned)number(argv[i]);
        sleep_ms((until_s - slept_s) * 1000);
        slept_s = until_s;
        uint64_t idle = rss_kib();
        say(STDOUT_FILENO, ", \"idle_%us_kib\": %" PRIu64, until_s, idle);
    }

    struct heap_plan refill = {rng_seeded(8), REFILL_SIZE, plan.total_bytes / 2};
    struct live second = fill(&refill);
    uint64_t refilled = rss_kib();
    say(STDOUT_FILENO, ", \"refilled_kib\": %" PRIu64 "}\n", refilled);
    keep(live.first);
    keep(second.first);
    return 0;
}
