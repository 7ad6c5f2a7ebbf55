/* risk_17_map_count.c - a million large blocks, and the kernel's list of mappings stays short.
 *
 * vm.max_map_count is 65,530 by default; a mapping per block, or a protection change per block,
 * runs into it and then every mmap of the process fails, the loader's and the thread stacks' too.
 */
#include "risk.h"

enum { LIVE = 20000, MOST_MAPS = 1000 };

static long worst;
static void look(void) {
    long n = map_count();
    if (n > worst) worst = n;
}

int main(void) {
    static unsigned char *live[LIVE];
    uint64_t rng = 17;
    long ops = 1000000;
    require_preloaded();
    MUST(map_count() > 0);
    for (long i = 0; i < ops; i++) {
        uint64_t r = next_random(&rng);
        size_t at = (r >> 8) % LIVE, n = KiB(65) + (r >> 24) % (i % 64 ? KiB(128) : MiB(2));
        if (live[at] && live[at][0] != (unsigned char)at) CHECK_EQ(live[at][0], (unsigned char)at);
        if (live[at] && r % 16 == 0) {
            unsigned char *p = realloc(live[at], n);
            MUST(p != NULL);
            live[at] = p;
        } else {
            free(live[at]);
            live[at] = malloc(n);
            MUST(live[at] != NULL);
        }
        live[at][0] = (unsigned char)at; /* one page each, so 20,000 live ones fit anywhere */
        if (i % 50000 == 0) look();
    }
    look();
    for (size_t i = 0; i < LIVE; i += 2) { /* every other one goes: the worst case for merging */
        free(live[i]);
        live[i] = NULL;
    }
    look();
    malloc_trim(0);
    look();
    check_say("%ld large blocks, at most %ld mappings", ops, worst);
    CHECK_LE(worst, MOST_MAPS - 1);
    for (size_t i = 0; i < LIVE; i++) free(live[i]);
    return CHECK_DONE();
}
