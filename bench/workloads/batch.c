/* batch.c - allocate a batch of mixed sizes, then free all of it in order, reversed or shuffled.
 *
 * What a parser, a request or a phase of a compiler does. Sizes are 16 to 1023 bytes, each doubling
 * equally likely; sizes and the order of frees are drawn beforehand, so the loop measures the
 * allocator alone. "anew" is shuffled with sizes of 16 to 1024, all equally likely, and draws both
 * again for each batch: no batch needs what the last one left.
 */
#include "common.h"

struct batch {
    uint32_t n;
    uint16_t *size;  /* of the i-th allocation */
    uint32_t *order; /* the i-th free is of the block order[i] */
    void **block;
};

static void order_fill(struct batch *b, const char *how, struct rng *r) {
    bool reversed = strcmp(how, "reversed") == 0;
    bool in_order = strcmp(how, "in-order") == 0;
    for (uint32_t i = 0; i < b->n; i++) b->order[i] = reversed ? b->n - 1 - i : i;
    if (reversed || in_order) return;
    for (uint32_t i = b->n - 1; i > 0; i--) {
        uint32_t j = rng_below(r, i + 1), kept = b->order[i];
        b->order[i] = b->order[j];
        b->order[j] = kept;
    }
}

/* Returns the sum of the sizes. */
static uint64_t sizes_fill(struct batch *b, bool anew, struct rng *r) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        b->size[i] = (uint16_t)(anew ? 16 + rng_below(r, 1009) : rng_log_size(r, 16, 6));
        bytes += b->size[i];
    }
    return bytes;
}

static void batch_run(struct batch *b) {
    for (uint32_t i = 0; i < b->n; i++) b->block[i] = touched(malloc(b->size[i]), i);
    for (uint32_t i = 0; i < b->n; i++) free(b->block[b->order[i]]);
}

int main(int argc, char **argv) {
    need_args(argc, 3, "batch OBJECTS in-order|reversed|shuffled|anew PAIRS");
    struct rng r = rng_seeded(1);
    struct batch b = {.n = (uint32_t)number(argv[1])};
    b.size = table(b.n, sizeof *b.size);
    b.order = table(b.n, sizeof *b.order);
    b.block = table(b.n, sizeof *b.block);

    bool anew = strcmp(argv[2], "anew") == 0;
    uint64_t bytes = sizes_fill(&b, anew, &r);
    order_fill(&b, argv[2], &r);

    uint64_t rounds = number(argv[3]) / b.n;
    for (uint64_t i = 0; i < rounds; i++) {
        batch_run(&b);
        if (!anew || i + 1 == rounds) continue;
        bytes += sizes_fill(&b, anew, &r);
        order_fill(&b, argv[2], &r);
    }
    return finish(rounds * b.n, bytes);
}
