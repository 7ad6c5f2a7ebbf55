/* random_property.c - a long random walk over all entry points, with every byte accounted for.
 *
 * Each live block holds its own pattern over its whole usable size. Any two blocks that overlap, any byte
 * lost by realloc and any byte that calloc left dirty show. usage: random_property [SEED [STEPS]]
 */
#include "../check.h"

#include <malloc.h>

enum { N_SLOTS = 2000 };

static struct slot {
    unsigned char *p;
    size_t asked, usable;
    unsigned seed;
} slots[N_SLOTS];

static uint64_t state;

static uint64_t draw(void) { /* xorshift64*: the same walk for the same seed everywhere */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
}
static size_t below(size_t n) { return (size_t)(draw() >> 11) % n; }

/* Mostly small, as programs are; one in two hundred is large. */
static size_t draw_size(void) {
    switch (below(200)) {
    case 0: return below((size_t)4 << 20);
    case 1:
    case 2:
    case 3: return below(200000);
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10: return below(20000);
    default: return below(below(2) ? 128 : 1100);
    }
}

static void verify(const struct slot *s) {
    if (!CHECK_EQ(intact(s->p, s->usable, s->seed), s->usable))
        check_say("  in block %p of %zu bytes, usable %zu", (void *)s->p, s->asked, s->usable);
}

static void keep(struct slot *s, void *p, size_t n) {
    if (!CHECK_NOT_NULL(p)) exit(CHECK_DONE());
    s->p = p, s->asked = n, s->seed = (unsigned)draw();
    s->usable = malloc_usable_size(p);
    CHECK_GE(s->usable, n);
    fill(p, s->usable, s->seed);
}

static void step_take(struct slot *s) {
    size_t n = draw_size(), a = (size_t)1 << below(below(20) ? 8 : 17);
    void *p = NULL;
    switch (below(6)) {
    case 0:
        p = calloc(1, n);
        CHECK_EQ(p ? first_nonzero(p, n) : 0, n);
        break;
    case 1:
        p = aligned_alloc(a, n);
        CHECK_ALIGNED(p, a);
        break;
    case 2:
        if (a < sizeof(void *)) a = sizeof(void *);
        CHECK_EQ(posix_memalign(&p, a, n), 0);
        CHECK_ALIGNED(p, a);
        break;
    default: p = malloc(n);
    }
    CHECK_ALIGNED(p, 16);
    keep(s, p, n);
}

static void step_resize(struct slot *s) {
    size_t n = below(3) ? s->asked + below(s->asked + 64) : draw_size();
    if (n == 0) n = 1;
    size_t common = n < s->usable ? n : s->usable;
    unsigned char *p = realloc(s->p, n);
    if (!CHECK_NOT_NULL(p)) exit(CHECK_DONE());
    if (!CHECK_EQ(intact(p, common, s->seed), common))
        check_say("  realloc from %zu (usable %zu) to %zu gave %p", s->asked, s->usable, n,
                  (void *)p);
    keep(s, p, n);
}

int main(int argc, char **argv) {
    check_allocator();
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240229;
    long n_steps = argc > 2 ? atol(argv[2]) : 150000;
    state = seed * 2 + 1;
    for (long i = 0; i < n_steps; i++) {
        /* the live set swells and shrinks, so slabs fill, empty and change hands */
        struct slot *s = &slots[below(i / 20000 % 2 ? N_SLOTS / 10 : N_SLOTS)];
        if (!s->p)
            step_take(s);
        else if (below(4) == 0)
            step_resize(s);
        else {
            verify(s);
            free(s->p);
            s->p = NULL;
        }
        if (check_state.n_failed) {
            check_say("seed %llu, step %ld", (unsigned long long)seed, i);
            return CHECK_DONE();
        }
        if (i % 40000 == 39999)
            for (int k = 0; k < N_SLOTS; k++)
                if (slots[k].p && below(3)) verify(&slots[k]), free(slots[k].p), slots[k].p = NULL;
    }
    for (int k = 0; k < N_SLOTS; k++)
        if (slots[k].p) verify(&slots[k]), free(slots[k].p);
    return CHECK_DONE();
}
