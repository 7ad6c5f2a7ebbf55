/* zeroed.c - MALLOCX_ZERO and calloc: every byte that sallocx tells of is zero, and stays so through rallocx and xallocx, as long as each
 * call says MALLOCX_ZERO and nobody writes. And sallocx tells what nallocx said before. The same on the original. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

static const size_t sizes[] = {1,     5,     10,     13,     17,     100,   500,
                               1000,  1025,  3000,   5000,   17000,  33000, 50001,
                               65537, 70001, 100001, 300001, 3000001};
enum { N_SIZES = sizeof sizes / sizeof *sizes, N_DIRTY = 40 };

static unsigned n_wrong;

static void check(const char *what, const unsigned char *p, size_t n, size_t asked, int flags) {
    size_t i = 0;
    while (i < n && p[i] == 0) i++;
    if (i == n) return;
    if (n_wrong++ < 20)
        printf("%s(%zu, %#x): byte %zu of %zu is %#x\n", what, asked, (unsigned)flags, i, n, p[i]);
}

/* Blocks of all these sizes that were used to the last byte, and freed. */
static void leave_dirt(int flags) {
    static void *at[N_DIRTY];
    for (int i = 0; i < N_SIZES; i++) {
        int n = sizes[i] > 100000 ? 3 : N_DIRTY;
        for (int k = 0; k < n; k++) {
            at[k] = mallocx(sizes[i], flags);
            memset(at[k], 0xa5, sallocx(at[k], 0));
        }
        for (int k = 0; k < n; k++) dallocx(at[k], flags);
    }
}

/* A block has the size that nallocx tells, when it has moved, too. */
static void check_size(const char *what, void *p, size_t asked, int flags) {
    if (sallocx(p, 0) == nallocx(asked, flags)) return;
    if (n_wrong++ < 20)
        printf("%s(%zu, %#x): %zu bytes, nallocx says %zu\n", what, asked, (unsigned)flags,
               sallocx(p, 0), nallocx(asked, flags));
}

static void from_every_size_to_every_other(int flags) {
    int zero = flags | MALLOCX_ZERO;
    for (int i = 0; i < N_SIZES; i++) {
        unsigned char *p = mallocx(sizes[i], zero);
        check("mallocx", p, sallocx(p, 0), sizes[i], flags);
        check_size("mallocx", p, sizes[i], zero);
        for (int k = 0; k < N_SIZES; k++) {
            p = rallocx(p, sizes[(k * 7) % N_SIZES], zero);
            check("rallocx", p, sallocx(p, 0), sizes[(k * 7) % N_SIZES], flags);
            check_size("rallocx", p, sizes[(k * 7) % N_SIZES], zero);
        }
        for (int k = 0; k < N_SIZES; k++) {
            (void)xallocx(p, sizes[(k * 5) % N_SIZES], sizes[k], zero);
            check("xallocx", p, sallocx(p, 0), sizes[(k * 5) % N_SIZES], flags);
        }
        memset(p, 0x5a, sallocx(p, 0));
        dallocx(p, flags);
    }
}

/* What is behind the size that was asked for last may be old, not what comes anew. */
static void small_steps(int flags) {
    int zero = flags | MALLOCX_ZERO;
    for (size_t n = 1; n < 200000; n += n / 9 + 1) {
        unsigned char *p = mallocx(n, zero);
        size_t before = sallocx(p, 0);
        memset(p, 0x77, before);
        p = rallocx(p, n + n / 4 + 3, zero);
        if (sallocx(p, 0) > before)
            check("grown to", p + before, sallocx(p, 0) - before, n + n / 4 + 3, flags);
        memset(p, 0, sallocx(p, 0));
        for (size_t m = n; m > 0; m -= m / 5 + 1) {
            p = rallocx(p, m, zero);
            check("shrunk to", p, sallocx(p, 0), m, flags);
            check_size("rallocx", p, m, zero);
        }
        dallocx(p, flags);
    }
}

int main(void) {
    unsigned arena;
    size_t n = sizeof arena;
    if (mallctl("arenas.create", &arena, &n, NULL, 0) != 0) return 2;
    int flags[] = {0,
                   MALLOCX_TCACHE_NONE,
                   MALLOCX_ALIGN(64),
                   MALLOCX_ALIGN(4096),
                   MALLOCX_ALIGN(1 << 17),
                   MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE,
                   MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE | MALLOCX_ALIGN(256)};
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        leave_dirt(flags[i]);
        from_every_size_to_every_other(flags[i]);
        leave_dirt(flags[i]);
        small_steps(flags[i]);
    }
    leave_dirt(0);
    for (int i = 0; i < N_SIZES; i++) {
        unsigned char *p = calloc(1, sizes[i]);
        check("calloc", p, malloc_usable_size(p), sizes[i], 0);
        free(p);
    }
    printf("%u wrong\n", n_wrong);
    return n_wrong != 0;
}
