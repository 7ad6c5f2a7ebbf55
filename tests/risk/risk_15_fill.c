/* risk_15_fill.c - takes all there is below an address space limit, in blocks of one size, twice.
 *
 *     risk_15_fill BLOCK_BYTES LEAST_MIB
 *
 * malloc must answer NULL with ENOMEM when the limit is reached, not before LEAST_MIB were given,
 * and give as much again after all was freed. Small blocks are touched wholly, large ones at their
 * ends.
 */
#include "risk.h"

#include <sys/resource.h>

struct link {
    struct link *next;
};

static size_t fill_up(size_t n_bytes, struct link **all) {
    size_t given = 0;
    for (;;) {
        errno = 0;
        struct link *l = malloc(n_bytes);
        if (!l) break;
        l->next = *all;
        *all = l;
        ((char *)l)[n_bytes - 1] = 1;
        given += n_bytes;
    }
    CHECK_EQ(errno, ENOMEM);
    return given;
}

static void free_all(struct link *all) {
    while (all) {
        struct link *next = all->next;
        free(all);
        all = next;
    }
}

int main(int argc, char **argv) {
    struct rlimit limit;
    struct link *all = NULL;
    size_t given[3];
    require_preloaded();
    MUST(argc == 3 && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
    size_t n_bytes = strtoul(argv[1], NULL, 10), least = MiB(strtoul(argv[2], NULL, 10));
    for (int turn = 0; turn < 3; turn++) {
        given[turn] = fill_up(n_bytes, &all);
        free_all(all);
        all = NULL;
    }
    check_say("limit %zu MiB, blocks of %zu: %zu MiB, then %zu, then %zu",
              (size_t)limit.rlim_cur >> 20, n_bytes, given[0] >> 20, given[1] >> 20,
              given[2] >> 20);
    CHECK_GE(given[0], least);
    CHECK_GE(given[1], given[0] / 10 * 9);
    CHECK_GE(given[2], given[0] / 10 * 9);
    return CHECK_DONE();
}
