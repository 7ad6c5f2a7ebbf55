/* storm_blocks.h - blocks that any thread of the storm may have allocated, and any may free. For storm.c and its relatives. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define N_SHARED 512
static _Atomic(void *) shared_blocks[N_SHARED];

static unsigned next_number(void) {
    static __thread unsigned long state;
    if (state == 0) state = (unsigned long)&state;
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33);
}

static void use_blocks(void *(*take)(size_t), void *(*resize)(void *, size_t),
                       void (*give)(void *)) {
    for (int i = 0; i < 20; i++) {
        unsigned n = next_number();
        size_t n_bytes = 1 + n % (n % 16 == 0 ? 100000 : n % 4 == 0 ? 8000 : 300);
        char *p = take(n_bytes);
        if (p == NULL) continue;
        memset(p, 1, n_bytes);
        if (n % 8 == 3) {
            char *q = resize(p, n_bytes * 2);
            if (q != NULL) p = q;
        }
        give(atomic_exchange(&shared_blocks[n / 16 % N_SHARED], p));
    }
}
