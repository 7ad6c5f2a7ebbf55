/* workout.c - an ordinary day of an allocator, for the tests that change the surroundings instead
 * of the program.
 *
 *     workout [threads=N] [ops=N] [live=N] [max=BYTES] [stride=BYTES] [fork=0|1] [strict=0|1] [seed=N]
 *
 * Each thread keeps `live` blocks of random size and replaces, grows, shrinks and checks them; some
 * blocks travel to other threads through a shared exchange and are freed there. With strict=0 a
 * refusal (NULL) is a legal answer, but only with ENOMEM and with every older block untouched.
 *
 * Exit 0: all well. 1: corrupted data, wrong errno, misaligned block, or a refusal under strict=1.
 * Last line: "workout: N given, M refused". Used by rows 1, 11, 12, 15, 16, 18, 20, 21 and 22.
 */
#include "risk.h"

#include <stdatomic.h>

enum { EXCHANGE = 64, MAX_THREADS = 64, MAX_LIVE = 4096 };

struct options {
    long threads, ops, live, max, stride, fork, strict, seed;
};
static struct options opt = {
    .threads = 4, .ops = 20000, .live = 200, .max = 1 << 20, .stride = 4096, .fork = 1, .seed = 1};

struct block { /* lies at the start of every allocation */
    size_t n_bytes;
    uint64_t tag; /* what its marks must look like */
};

static _Atomic(struct block *) exchange[EXCHANGE];
static atomic_long n_given, n_refused;

static void die(const char *what, const void *p, unsigned long long expected,
                unsigned long long seen) {
    printf("FAIL: %s at %p: expected %llu, seen %llu\n", what, p, expected, seen);
    fflush(stdout);
    _exit(1);
}

/* Marks a block at its first and last bytes and at every stride between: cheap for large blocks, and
 * a page (or, with a longer stride, a slice of 64 KiB) that was lost or handed out twice still shows. */
static void mark(struct block *b, size_t n, uint64_t tag) {
    unsigned char *p = (unsigned char *)b;
    b->n_bytes = n;
    b->tag = tag;
    for (size_t i = sizeof *b; i < n; i += (size_t)opt.stride)
        p[i] = (unsigned char)(tag + i / 4096);
    if (n > sizeof *b) p[n - 1] = (unsigned char)~tag;
}

static void check(const struct block *b, size_t upto) {
    const unsigned char *p = (const unsigned char *)b;
    size_t n = b->n_bytes;
    for (size_t i = sizeof *b; i < n && i < upto; i += (size_t)opt.stride) {
        unsigned char want = (unsigned char)(b->tag + i / 4096);
        if (i == n - 1) want = (unsigned char)~b->tag;
        if (p[i] != want) die("block content", p + i, want, p[i]);
    }
    if (n > sizeof *b && upto >= n && p[n - 1] != (unsigned char)~b->tag)
        die("last byte", p + n - 1, (unsigned char)~b->tag, p[n - 1]);
}

static size_t random_size(uint64_t *rng) {
    uint64_t r = next_random(rng);
    size_t n = sizeof(struct block), max = (size_t)opt.max;
    switch (r & 15) {
    case 0: n += (r >> 8) % max; break; /* anything up to the largest */
    case 1:
    case 2: n += (r >> 8) % (max / 16 + 1); break;
    case 3:
    case 4:
    case 5: n += (r >> 8) % 4096; break;
    default: n += (r >> 8) % 256; break;
    }
    return n;
}

static struct block *refused(void) {
    if (errno != ENOMEM) die("errno of a refusal", NULL, ENOMEM, (unsigned long long)errno);
    if (opt.strict) die("refusals under strict=1", NULL, 0, 1);
    atomic_fetch_add(&n_refused, 1);
    return NULL;
}

static struct block *take(uint64_t *rng) {
    size_t n = random_size(rng), align = 16;
    uint64_t how = next_random(rng);
    void *p = NULL;
    errno = 0;
    switch (how % 8) {
    case 0:
        p = calloc(n / 16 + 1, 16);
        for (size_t i = 0; p && i < n; i += i < 512 ? 1 : 509)
            if (((char *)p)[i] != 0)
                die("calloc byte", (char *)p + i, 0, (unsigned char)((char *)p)[i]);
        break;
    case 1:
        align = (size_t)16 << (how >> 8) % 10; /* 16 B to 8 KiB */
        errno = posix_memalign(&p, align, n);
        if (errno) p = NULL;
        break;
    case 2:
        align = 64;
        n = (n + 63) & ~(size_t)63;
        p = aligned_alloc(align, n);
        break;
    default: p = malloc(n);
    }
    if (!p) return refused();
    if ((uintptr_t)p % align) die("misalignment", p, 0, (uintptr_t)p % align);
    atomic_fetch_add(&n_given, 1);
    mark(p, n, how >> 16);
    return p;
}

static struct block *resize(struct block *b, uint64_t *rng) {
    size_t n = random_size(rng), kept = b->n_bytes < n ? b->n_bytes : n;
    struct block *moved;
    errno = 0;
    moved = realloc(b, n);
    if (!moved) {
        refused();
        check(b, SIZE_MAX); /* the old block must stay whole */
        return b;
    }
    check(moved, kept);
    mark(moved, n, next_random(rng) >> 8);
    return moved;
}

static void drop(struct block *b) {
    if (!b) return;
    check(b, SIZE_MAX);
    errno = 4711;
    free(b);
    if (errno != 4711) die("errno after free", NULL, 4711, (unsigned long long)errno);
}

static void *work(void *arg) {
    uint64_t rng = 0x9E3779B97F4A7C15ULL * ((uintptr_t)arg + 1) + (uint64_t)opt.seed;
    struct block *live[MAX_LIVE] = {NULL};
    for (long i = 0; i < opt.ops; i++) {
        uint64_t r = next_random(&rng);
        struct block **slot = &live[(r >> 8) % (uint64_t)opt.live];
        switch (r & 7) {
        case 0:
            if (*slot) *slot = resize(*slot, &rng);
            break;
        case 1: /* freed by whoever swaps it out */
            drop(atomic_exchange(&exchange[(r >> 32) % EXCHANGE], *slot));
            *slot = NULL;
            break;
        default: drop(*slot); *slot = take(&rng);
        }
    }
    for (long i = 0; i < opt.live; i++) drop(live[i]);
    return NULL;
}

static void run_threads(long n) {
    pthread_t id[MAX_THREADS];
    long started = 0;
    for (; started < n - 1; started++)
        if (pthread_create(&id[started], NULL, work, (void *)(started + 1))) {
            if (opt.strict)
                die("threads started", NULL, (unsigned long long)n,
                    (unsigned long long)started + 1);
            break;
        }
    work(NULL);
    for (long i = 0; i < started; i++) pthread_join(id[i], NULL);
}

static void run_child(void) {
    int status = 0;
    pid_t pid = fork();
    if (pid < 0) {
        if (opt.strict) die("errno of fork", NULL, 0, (unsigned long long)errno);
        return;
    }
    if (pid == 0) {
        opt.ops /= 4;
        run_threads(opt.threads > 2 ? 2 : opt.threads);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        printf("FAIL: child of fork: expected exit status 0, seen %s\n", how_ended(status));
        fflush(stdout);
        _exit(1);
    }
}

static void parse(int argc, char **argv) {
    static const struct {
        const char *name;
        long *value;
    } row[] = {
        {"threads=", &opt.threads}, {"ops=", &opt.ops},       {"live=", &opt.live},
        {"max=", &opt.max},         {"fork=", &opt.fork},     {"strict=", &opt.strict},
        {"seed=", &opt.seed},       {"stride=", &opt.stride},
    };
    for (int i = 1; i < argc; i++) {
        size_t r = 0, n = sizeof row / sizeof *row;
        while (r < n && strncmp(argv[i], row[r].name, strlen(row[r].name))) r++;
        if (r == n) {
            printf("FAIL: unknown argument '%s'\n", argv[i]);
            exit(2);
        }
        *row[r].value = strtol(argv[i] + strlen(row[r].name), NULL, 0);
    }
    if (opt.threads < 1 || opt.threads > MAX_THREADS) opt.threads = 1;
    if (opt.live < 1 || opt.live > MAX_LIVE) opt.live = MAX_LIVE;
}

int main(int argc, char **argv) {
    char line[96];
    parse(argc, argv);
    run_threads(opt.threads);
    if (opt.fork) run_child();
    for (int i = 0; i < EXCHANGE; i++) drop(atomic_exchange(&exchange[i], NULL));
    /* no stdio: its buffer may be refused */
    int n = snprintf(line, sizeof line, "workout: %ld given, %ld refused\n", atomic_load(&n_given),
                     atomic_load(&n_refused));
    return write(1, line, (size_t)n) == n ? 0 : 1;
}
