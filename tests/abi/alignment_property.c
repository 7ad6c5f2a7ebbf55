/* alignment_property.c - all pairs of alignment and size: aligned, usable, apart, kept by realloc.
 *
 * All blocks are alive at once, each filled with its own pattern over its whole usable size (large ones
 * at both ends), so an overlap shows twice: as intervals and as contents.
 */
#include "../check.h"

#include <malloc.h>

static const size_t sizes[] = {
    0,     1,     8,     15,    16,    17,    24,     48,     63,     64,     65,    100,
    128,   200,   256,   500,   512,   1000,  1008,   1023,   1024,   1025,   1280,  2000,
    2048,  3000,  4000,  4095,  4096,  4097,  6000,   8192,   10000,  16384,  20000, 32767,
    32768, 32769, 50000, 65535, 65536, 65537, 100000, 131072, 200000, 262144, 300001};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_ALIGNMENTS = 22, N = N_SIZES * N_ALIGNMENTS };

struct block {
    unsigned char *p;
    size_t asked, usable, alignment;
    unsigned seed;
};
static struct block blocks[N];

/* At most this much at each end of a block is filled. */
enum { EDGE = 16 << 10 };

static void paint(const struct block *b) {
    size_t n = b->usable < EDGE ? b->usable : EDGE;
    fill(b->p, n, b->seed);
    fill(b->p + b->usable - n, n, b->seed + 1);
    if (b->usable < 2 * EDGE) fill(b->p, b->usable, b->seed); /* the ends meet: one pattern */
}

static int is_painted(const struct block *b) {
    if (b->usable < 2 * EDGE) return intact(b->p, b->usable, b->seed) == b->usable;
    return intact(b->p, EDGE, b->seed) == EDGE &&
           intact(b->p + b->usable - EDGE, EDGE, b->seed + 1) == EDGE;
}

static void *take(size_t alignment, size_t n, unsigned how) {
    void *p = NULL;
    switch (how % 3) {
    case 0: return memalign(alignment, n);
    case 1: return aligned_alloc(alignment, n);
    default: return posix_memalign(&p, alignment < 8 ? 8 : alignment, n) == 0 ? p : NULL;
    }
}

static void take_all(void) {
    for (unsigned a = 0; a < N_ALIGNMENTS; a++) {
        for (unsigned s = 0; s < N_SIZES; s++) {
            struct block *b = &blocks[a * N_SIZES + s];
            *b = (struct block){.asked = sizes[s], .alignment = (size_t)1 << a, .seed = a * 64 + s};
            b->p = take(b->alignment, b->asked, a + s);
            if (!CHECK_NOT_NULL(b->p)) exit(CHECK_DONE());
            b->usable = malloc_usable_size(b->p);
            int ok = CHECK_ALIGNED(b->p, b->alignment);
            ok &= CHECK_GE(b->usable, b->asked);
            if (!ok)
                check_say("  %zu bytes aligned to %zu at %p", b->asked, b->alignment, (void *)b->p);
            paint(b);
        }
    }
}

static int by_address(const void *a, const void *b) {
    const struct block *x = *(const struct block *const *)a, *y = *(const struct block *const *)b;
    return x->p < y->p ? -1 : x->p > y->p;
}

/* Plain insertion into place: qsort may allocate, and this program watches the heap. */
static void sort(struct block **v, unsigned n) {
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && by_address(&v[k - 1], &v[k]) > 0; k--) {
            struct block *t = v[k];
            v[k] = v[k - 1], v[k - 1] = t;
        }
}

static void blocks_are_apart(void) {
    static struct block *v[N];
    unsigned n = 0;
    for (unsigned i = 0; i < N; i++)
        if (blocks[i].p) v[n++] = &blocks[i];
    sort(v, n);
    for (unsigned i = 1; i < n; i++) {
        uintptr_t end = (uintptr_t)v[i - 1]->p + (v[i - 1]->usable ? v[i - 1]->usable : 1);
        if (!CHECK_LE(end, (uintptr_t)v[i]->p))
            check_say("  block of %zu (usable %zu, aligned %zu) at %p reaches into %p",
                      v[i - 1]->asked, v[i - 1]->usable, v[i - 1]->alignment, (void *)v[i - 1]->p,
                      (void *)v[i]->p);
    }
    for (unsigned i = 0; i < n; i++)
        if (!CHECK_TRUE(is_painted(v[i])))
            check_say("  in a block of %zu (usable %zu, aligned %zu) at %p", v[i]->asked,
                      v[i]->usable, v[i]->alignment, (void *)v[i]->p);
}

/* realloc promises 16 bytes only, whatever the block had before. */
static void resize(struct block *b, size_t n) {
    size_t common = n < b->usable ? n : b->usable;
    if (common > EDGE) common = EDGE;
    unsigned char *p = realloc(b->p, n);
    if (!CHECK_NOT_NULL(p)) exit(CHECK_DONE());
    b->p = p;
    CHECK_ALIGNED(p, 16);
    if (!CHECK_EQ(intact(p, common, b->seed), common))
        check_say("  after realloc from %zu (aligned %zu) to %zu", b->asked, b->alignment, n);
    b->asked = n;
    b->usable = malloc_usable_size(p);
    CHECK_GE(b->usable, n);
    paint(b);
}

static void realloc_keeps_the_data(void) {
    for (unsigned i = 0; i < N; i++) {
        struct block *b = &blocks[(i * 7919u) % N];
        switch (i % 4) {
        case 0: resize(b, b->asked * 2 + 1); break;
        case 1: resize(b, b->asked / 2 + 1); break;
        case 2: resize(b, b->asked + 1); break;
        default: break;
        }
    }
}

static void free_every(unsigned step, unsigned first) {
    for (unsigned i = first; i < N; i += step) {
        free(blocks[i].p);
        blocks[i].p = NULL;
    }
}

/* The largest alignment that is promised. Address space, not memory: little of it is touched. */
static void one_gibibyte(void) {
    static const size_t some[] = {1, 4096, 100000, 3 << 20};
    unsigned char *p[sizeof some / sizeof *some];
    size_t a = (size_t)1 << 30;
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        p[i] = aligned_alloc(a, some[i]);
        if (!CHECK_NOT_NULL(p[i])) return;
        CHECK_ALIGNED(p[i], a);
        CHECK_GE(malloc_usable_size(p[i]), some[i]);
        fill(p[i], some[i], i);
    }
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        CHECK_EQ(intact(p[i], some[i], i), some[i]);
        p[i] = realloc(p[i], some[i] * 2);
        if (!CHECK_NOT_NULL(p[i])) return;
        CHECK_EQ(intact(p[i], some[i], i), some[i]);
        free(p[i]);
    }
}

int main(void) {
    check_allocator();
    for (int round = 0; round < 2; round++) { /* the second one works in used memory */
        take_all();
        blocks_are_apart();
        free_every(3, (unsigned)round);
        blocks_are_apart();
        for (unsigned i = (unsigned)round; i < N; i += 3) {
            struct block *b = &blocks[i];
            b->p = take(b->alignment, b->asked, i);
            if (!CHECK_NOT_NULL(b->p)) return CHECK_DONE();
            CHECK_ALIGNED(b->p, b->alignment);
            b->usable = malloc_usable_size(b->p);
            paint(b);
        }
        realloc_keeps_the_data();
        blocks_are_apart();
        free_every(1, 0);
    }
    one_gibibyte();
    return CHECK_DONE();
}
