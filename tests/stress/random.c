/* random.c - any operation on any block, from a seed: the same sequence each time, so a failure can be repeated.
 *
 * With threads=1 a round is a pure function of its seed. More threads do the same, each for itself, and let go of each
 * other's blocks now and then through the slots.
 */
#include "stress.h"

#define N_LIVE 400
#define N_STEPS 20000

struct live {
    void *p;
    size_t n;
};

static void forget(struct live *b) {
    if (b->p != NULL) {
        check_block(b->p, b->n);
        s_free(b->p);
    }
    b->p = NULL;
}

static void check_new(const void *p, size_t n, size_t align, const char *call) {
    if (p == NULL) die("%s of %zu bytes: expected a block, seen NULL", call, n);
    if ((uintptr_t)p % align != 0)
        die("%s of %zu bytes: expected a multiple of %zu, seen %p", call, n, align, p);
    size_t usable = s_usable((void *)(uintptr_t)p);
    if (usable < n) die("%s of %zu bytes: expected as many usable, seen %zu", call, n, usable);
}

static void take_zeroed(struct live *b, size_t n, uint64_t r) {
    size_t each = 1 + r % 8;
    n = n / each * each + each;
    b->p = s_calloc(n / each, each);
    b->n = n;
    check_new(b->p, n, 16, "calloc");
    const unsigned char *bytes = b->p;
    for (size_t i = 0; i < n; i += n <= 65536 ? 1 : 509)
        if (bytes[i] != 0)
            die("calloc of %zu bytes: byte %zu: expected 0, seen %u", n, i, bytes[i]);
}

static void resize(struct live *b, size_t n) {
    size_t old = b->n;
    void *p = s_realloc(b->p, n);
    check_new(p, n, 16, "realloc");
    /* the pattern is of the old address, which is only a number now */
    check_moved(p, b->p, old, old < n ? old : n);
    b->p = p;
    b->n = n;
}

static void step(struct live *live, uint64_t *rng, bool is_shared) {
    uint64_t r = next_random(rng);
    struct live *b = &live[r % N_LIVE];
    size_t n = some_size(next_random(rng));
    switch (r >> 32 & 15) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
        forget(b);
        b->p = s_malloc(n);
        b->n = n;
        check_new(b->p, n, 16, "malloc");
        break;
    case 7:
    case 8:
    case 9: forget(b); return;
    case 10:
    case 11:
        forget(b);
        take_zeroed(b, n, r >> 40);
        break;
    case 12:
    case 13:
        if (b->p == NULL) return;
        resize(b, (r & 1) != 0 ? b->n + n % (b->n + 100)
                               : n); /* growth by a little is the usual realloc */
        break;
    case 14: {
        size_t align = (size_t)16 << (r >> 40) % 13; /* up to 64 KiB; sometimes to 16 MiB */
        if ((r >> 48) % 64 == 0) align <<= 8;
        forget(b);
        b->p = s_aligned(align, n);
        b->n = n;
        check_new(b->p, n, align, "aligned_alloc");
        break;
    }
    default:
        if (!is_shared || b->p == NULL) return;
        check_block(b->p, b->n);
        b->p =
            swap_slot(r >> 40, b->p); /* another thread may free it; we go on with what was there */
        if (b->p == NULL) return;
        b->n = size_of_block(b->p);
        check_block(b->p, b->n);
        return;
    }
    fill_block(b->p, b->n);
}

static void sequence(uint64_t seed, bool is_shared) {
    static __thread struct live live[N_LIVE];
    memset(live, 0, sizeof(live));
    for (int i = 0; i < N_STEPS && (i < 2000 || !atomic_load(&run.is_over)); i++)
        step(live, &seed, is_shared);
    s_audit();
    for (int i = 0; i < N_LIVE; i++) forget(&live[i]);
}

static void *one_thread(void *i) {
    sequence(seed_of((uintptr_t)i), true);
    return NULL;
}

static void run_random(void) {
    if (run.n_threads <= 1)
        sequence(seed_of(0), false);
    else
        in_threads(run.n_threads, one_thread);
    empty_slots();
}

const struct scenario random_scenario = {"random", run_random,
                                         "any operation on any block, from a seed"};
