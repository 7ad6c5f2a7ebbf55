/* arenas.c - arenas that have memory of their own: the same words from the original and from ours. Sizes are told where they must be. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define N 1000

static unsigned u32(const char *name) {
    unsigned n = 0;
    size_t len = sizeof(n);
    int err = mallctl(name, &n, &len, NULL, 0);
    return err == 0 ? n : (unsigned)-err;
}

static size_t of_arena(unsigned arena, const char *what) {
    char name[80];
    size_t n = 0, len = sizeof(n);
    snprintf(name, sizeof(name), "stats.arenas.%u.%s", arena, what);
    int err = mallctl(name, &n, &len, NULL, 0);
    if (err != 0) printf("%s: %d\n", what, err);
    return n;
}

static int act(unsigned arena, const char *what) {
    char name[80];
    snprintf(name, sizeof(name), "arena.%u.%s", arena, what);
    return mallctl(name, NULL, NULL, NULL, 0);
}

static void renew(void) {
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
}

/* Its number; UINT32_MAX: nobody's. */
static unsigned arena_of(void *p) {
    unsigned n = 77;
    size_t len = sizeof(n);
    return mallctl("arenas.lookup", &n, &len, &p, sizeof(p)) == 0 ? n : UINT32_MAX;
}

static size_t total(void) {
    size_t n = 0, len = sizeof(n);
    renew();
    mallctl("stats.allocated", &n, &len, NULL, 0);
    return n;
}

static bool is_near(size_t n, size_t wanted) {
    return n >= wanted && n <= wanted + wanted / 4 + 65536;
}

static int flags;
static unsigned arena;
static void *blocks[N];

static void fill(size_t n_bytes) {
    for (int i = 0; i < N; i++) {
        blocks[i] = mallocx(n_bytes, flags);
        memset(blocks[i], i, n_bytes);
    }
}

static void say_of(const char *when, size_t wanted) {
    renew();
    size_t small = of_arena(arena, "small.allocated"), large = of_arena(arena, "large.allocated");
    printf("%s: its own %d, regions %d\n", when, is_near(small + large, wanted),
           of_arena(arena, "pactive") * 4096 >= wanted);
}

static void sizes(void) {
    static const size_t each[] = {16, 100, 1000, 5000, 20000, 100000, 300000};
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        size_t before = total();
        fill(each[i]);
        say_of("filled", N * each[i]);
        printf("lookup: %d %d\n", arena_of(blocks[0]) == arena, arena_of(blocks[N - 1]) == arena);
        for (int k = 0; k < N; k += 2) dallocx(blocks[k], flags);
        say_of("half of it", N / 2 * each[i]);
        printf("reset: %d\n", act(arena, "reset"));
        renew();
        printf("left: %zu %zu, in all not more than before %d\n",
               of_arena(arena, "small.allocated"), of_arena(arena, "large.allocated"),
               total() <= before + 65536);
    }
    printf("counted: %d\n", of_arena(arena, "small.nmalloc") >= N * 4);
}

static void *use_in_thread(void *unused) {
    unsigned before, now = arena;
    size_t len = sizeof(before);
    printf("thread.arena: %d", mallctl("thread.arena", &before, &len, &now, sizeof(now)));
    printf(" was automatic %d, is now %d\n", before < u32("opt.narenas"),
           u32("thread.arena") == arena);
    renew();
    printf("threads: %u\n", u32("opt.narenas") > 0 ? (unsigned)of_arena(arena, "uptime") > 0 : 0);
    void *p[] = {malloc(100),
                 calloc(10, 100),
                 realloc(malloc(10), 3000),
                 aligned_alloc(256, 700),
                 malloc(200000),
                 memalign(4096, 100000),
                 mallocx(50, 0),
                 mallocx(60, MALLOCX_ZERO),
                 realloc(NULL, 70)};
    for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) printf("%d", arena_of(p[i]) == arena);
    printf(" in it\n");
    void *other = mallocx(100, MALLOCX_ARENA(0) | MALLOCX_TCACHE_NONE);
    printf("one of arena 0: %u\n", arena_of(other));
    dallocx(other, 0);
    printf("destroyed while in use: %d\n", act(arena, "destroy"));
    for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) free(p[i]);
    return unused;
}

static void moves(void) {
    char *p = mallocx(100, flags);
    memset(p, 5, 100);
    p = rallocx(p, 200000, flags);
    printf("grown: %d %d\n", arena_of(p) == arena, p[0] == 5 && p[99] == 5);
    p = rallocx(p, 50, flags | MALLOCX_ALIGN(64));
    printf("shrunk: %d %d %d\n", arena_of(p) == arena, p[0] == 5 && p[49] == 5,
           ((uintptr_t)p & 63) == 0);
    p = rallocx(p, 3000, flags | MALLOCX_ZERO);
    printf("zeroed: %d %d\n", p[49] == 5, p[2999] == 0);
    dallocx(p, flags);
    p = mallocx(1000, flags | MALLOCX_ZERO);
    bool is_zero = true;
    for (int i = 0; i < 1000; i++) is_zero &= p[i] == 0;
    printf("zero: %d, size %d\n", is_zero, sallocx(p, flags) >= 1000);
    sdallocx(p, 1000, flags);
}

static void settings(void) {
    char name[80];
    ssize_t ms = 123, was = 0, first = 0;
    size_t len = sizeof(was);
    snprintf(name, sizeof(name), "arena.%u.dirty_decay_ms", arena);
    printf("decay: %d", mallctl(name, &was, &len, &ms, sizeof(ms)));
    printf(" %zd", was);
    printf(" %d", mallctl(name, &was, &len, NULL, 0));
    mallctl("arena.0.dirty_decay_ms", &first, &len, NULL, 0);
    printf(" %zd, arena 0 has %zd\n", was, first);
    ms = 4567;
    printf("default: %d", mallctl("arenas.dirty_decay_ms", &was, &len, &ms, sizeof(ms)));
    unsigned next;
    size_t len4 = sizeof(next);
    mallctl("arenas.create", &next, &len4, NULL, 0);
    snprintf(name, sizeof(name), "arena.%u.dirty_decay_ms", next);
    mallctl(name, &was, &len, NULL, 0);
    printf(" the next one has %zd\n", was);
    const char *dss = "disabled", *now;
    snprintf(name, sizeof(name), "arena.%u.dss", next);
    printf("dss: %d", mallctl(name, NULL, NULL, &dss, sizeof(dss)));
    mallctl(name, &now, &len, NULL, 0);
    printf(" %s", now);
    mallctl("opt.dss", &now, &len, NULL, 0);
    printf(", the option %s\n", now);
    snprintf(name, sizeof(name), "arena.%u.retain_grow_limit", next);
    size_t limit = 16384;
    printf("limit: %d", mallctl(name, NULL, NULL, &limit, sizeof(limit)));
    limit = 0;
    mallctl(name, &limit, &len, NULL, 0);
    printf(" %zu\n", limit);
    printf("gone: %d\n", act(next, "destroy"));
}

static void *free_elsewhere(void *unused) {
    for (int i = 0; i < N; i++) dallocx(blocks[i], MALLOCX_TCACHE_NONE);
    return unused;
}

/* With an argument it also asks what the original does not survive. */
int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return arena_of(&arena) == UINT32_MAX && arena_of(NULL) == UINT32_MAX ? 0 : 3;
    unsigned before = u32("arenas.narenas"), again;
    size_t len = sizeof(arena);
    pthread_t thread;
    void *plain = malloc(100);
    printf("plain: automatic %d\n", arena_of(plain) < before);
    printf("create: %d", mallctl("arenas.create", &arena, &len, NULL, 0));
    printf(" %d %d\n", arena == before, u32("arenas.narenas") == before + 1);
    flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
    sizes();
    moves();
    settings();
    fill(200);
    pthread_create(&thread, NULL, free_elsewhere, NULL);
    pthread_join(thread, NULL);
    renew();
    printf("freed by another thread: %zu\n", of_arena(arena, "small.allocated"));
    pthread_create(&thread, NULL, use_in_thread, NULL);
    pthread_join(thread, NULL);
    fill(300);
    printf("purge, decay: %d %d\n", act(arena, "purge"), act(arena, "decay"));
    size_t with = total();
    printf("destroy: %d\n", act(arena, "destroy"));
    printf("it took its blocks with it: %d\n", with - total() >= N * 300);
    printf("destroyed again: %d, reset %d\n", act(arena, "destroy"), act(arena, "reset"));
    printf("of the destroyed: %d %zu\n", of_arena(4097, "small.nmalloc") >= N,
           of_arena(4097, "small.allocated"));
    mallctl("arenas.create", &again, &len, NULL, 0);
    printf("its number is used again: %d\n", again == arena || again == arena + 1);
    printf("no such: %d %d\n", act(3000, "purge"), act(3000, "reset"));
    unsigned wrong = 4000;
    printf("thread.arena: %d\n", mallctl("thread.arena", NULL, NULL, &wrong, sizeof(wrong)));
    free(plain);
    return 0;
}
