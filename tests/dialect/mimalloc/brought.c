/* brought.c - mi_manage_os_memory: memory that the program mapped becomes an arena, and a heap in it takes its blocks from there alone.
 * As blocks.c: with our header and with Debian's, on our libraries.   brought original   what the original does too, on that. */
#include "check.h"

#include <mimalloc.h>
#include <pthread.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)

static bool is_original;

static char *map(size_t n_bytes, int prot, int flags, int fd) {
    size_t all = n_bytes + 32 * MIB;
    char *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK_TRUE(p != MAP_FAILED);
    p = (char *)(((uintptr_t)p + 32 * MIB - 1) & ~(32 * MIB - 1));
    return mmap(p, n_bytes, prot, flags | MAP_FIXED, fd, 0);
}

static char *map_plainly(size_t n_bytes) {
    return map(n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static mi_arena_id_t manage(char *at, size_t n_bytes, bool is_zero) {
    mi_arena_id_t id = 0;
    size_t n = 0;
    CHECK_TRUE(mi_manage_os_memory_ex(at, n_bytes, true, false, is_zero, -1, true, &id));
    CHECK_TRUE(id != 0);
    CHECK_EQ(mi_arena_area(id, &n), at);
    CHECK_EQ(n, n_bytes);
    return id;
}

static bool is_in(const char *at, size_t n_bytes, const void *p, size_t n) {
    return p != NULL && (const char *)p >= at && (const char *)p + n <= at + n_bytes;
}

static bool is_all(const char *p, int byte, size_t n) {
    while (n > 0 && p[n - 1] == (char)byte) n--;
    return n == 0;
}

struct seen {
    size_t n_blocks, n_areas;
    const void *wanted;
    bool is_found;
};

static bool look(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
                 void *arg) {
    struct seen *s = arg;
    (void)heap, (void)size;
    s->n_areas += block == NULL && area->used > 0;
    s->n_blocks += block != NULL;
    s->is_found |= block != NULL && block == s->wanted;
    return true;
}

/* ---- what the original does, too ---- */

#define N 500

static size_t size_of(unsigned i) {
    static const size_t sizes[] = {1, 24, 100, 1000, 2000, 5000, 10000, 70000, 300000};
    return sizes[i % (sizeof sizes / sizeof sizes[0])];
}

static void check_blocks(void) {
    static char *at[N];
    char *mine = map_plainly(128 * MIB);
    mi_arena_id_t id = manage(mine, 128 * MIB, /* is_zero */ true);
    mi_heap_t *h = mi_heap_new_in_arena(id), *other = mi_heap_new();
    CHECK_TRUE(h != NULL);
    for (unsigned i = 0; i < N; i++) {
        size_t n = size_of(i);
        at[i] = i % 2 == 0 ? mi_heap_malloc(h, n) : mi_heap_zalloc(h, n);
        CHECK_TRUE(is_in(mine, 128 * MIB, at[i], n));
        CHECK_GE(mi_usable_size(at[i]), n);
        if (i % 2 != 0) CHECK_TRUE(is_all(at[i], 0, n));
        memset(at[i], (int)i, mi_usable_size(at[i]));
        CHECK_TRUE(mi_heap_contains_block(h, at[i]) && mi_heap_check_owned(h, at[i]));
        CHECK_TRUE(!mi_heap_contains_block(other, at[i]));
        CHECK_TRUE(!is_in(mine, 128 * MIB, mi_malloc(n), n));
        CHECK_TRUE(!is_in(mine, 128 * MIB, mi_heap_malloc(other, n), n));
    }
    struct seen s = {0, 0, at[3], false};
    CHECK_TRUE(mi_heap_visit_blocks(h, true, look, &s));
    CHECK_EQ(s.n_blocks, N);
    CHECK_TRUE(s.is_found && s.n_areas > 5);
    for (unsigned i = 0; i < N; i++) {
        CHECK_TRUE(is_all(at[i], (int)i, size_of(i)));
        if (i % 3 == 0) {
            at[i] = mi_heap_realloc(h, at[i], size_of(i) * 2);
            CHECK_TRUE(is_in(mine, 128 * MIB, at[i], size_of(i) * 2));
            CHECK_TRUE(is_all(at[i], (int)i, size_of(i)));
        }
        errno = 77;
        if (i % 2 == 0) mi_free(at[i]);
        CHECK_EQ(errno, 77);
    }
    for (unsigned i = 0; i < N; i++) { /* what was used before is zero, if that is asked for */
        char *p = mi_heap_zalloc(h, size_of(i));
        CHECK_TRUE(is_all(p, 0, size_of(i)));
    }
    mi_heap_destroy(h);
    h = mi_heap_new_in_arena(id); /* and all of it is there again */
    for (unsigned i = 0; i < 4; i++)
        CHECK_TRUE(is_in(mine, 128 * MIB, mi_heap_malloc(h, 20 * MIB), 20 * MIB));
    mi_heap_destroy(h);
    mi_heap_destroy(other);
}

static void check_aligned(void) {
    char *mine = map_plainly(64 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 64 * MIB, true));
    for (size_t align = 16; align <= 65536; align *= 2)
        for (unsigned i = 0; i < 9; i++) {
            char *p = mi_heap_malloc_aligned(h, size_of(i), align);
            CHECK_TRUE(is_in(mine, 64 * MIB, p, size_of(i)) && (uintptr_t)p % align == 0);
            memset(p, 1, size_of(i));
            char *q = mi_heap_zalloc_aligned_at(h, size_of(i) + 32, align / 4 * 3, 16);
            CHECK_TRUE(q == NULL); /* no power of two */
            if (align <= 16384) {
                q = mi_heap_zalloc_aligned_at(h, size_of(i) + 32, align, 8);
                CHECK_TRUE(is_in(mine, 64 * MIB, q, size_of(i) + 32));
                CHECK_EQ(((uintptr_t)q + 8) % align, 0);
                CHECK_TRUE(is_all(q, 0, size_of(i) + 32));
                memset(q, 1, size_of(i) + 32);
                CHECK_TRUE(is_all(p, 1, size_of(i)));
                mi_free(q);
            }
            p = mi_heap_realloc_aligned(h, p, size_of(i) * 3, align);
            CHECK_TRUE(is_in(mine, 64 * MIB, p, size_of(i) * 3) && (uintptr_t)p % align == 0);
            CHECK_TRUE(is_all(p, 1, size_of(i)));
            mi_free(p);
        }
    mi_heap_destroy(h);
}

/* A full one fails, and free blocks of it can be had again. */
static void check_full(void) {
    char *mine = map_plainly(32 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 32 * MIB, true));
    void *last = NULL, *p;
    size_t n = 0;
    while ((p = mi_heap_malloc(h, 100000)) != NULL && n < 1000) {
        CHECK_TRUE(is_in(mine, 32 * MIB, p, 100000));
        last = p;
        n++;
    }
    CHECK_TRUE(n > 100 && n < 340);
    CHECK_FAILS(mi_heap_malloc(h, 100000), ENOMEM);
    CHECK_TRUE(mi_malloc(100000) != NULL);
    mi_free(last);
    CHECK_EQ(mi_heap_malloc(h, 100000), last);
    mi_heap_destroy(h);
}

/* Blocks of a heap that is deleted stay; of one that is destroyed they go, and others' stay. */
static void check_two_heaps(void) {
    char *mine = map_plainly(128 * MIB), *blocks[300];
    mi_arena_id_t id = manage(mine, 128 * MIB, true);
    mi_heap_t *a = mi_heap_new_in_arena(id), *b = mi_heap_new_in_arena(id);
    for (unsigned i = 0; i < 300; i++) {
        blocks[i] = mi_heap_malloc(i % 3 == 0 ? a : b, size_of(i));
        memset(blocks[i], (int)i, size_of(i));
    }
    CHECK_TRUE(mi_heap_contains_block(a, blocks[0]) && !mi_heap_contains_block(b, blocks[0]));
    mi_heap_destroy(a);
    mi_heap_t *c = mi_heap_new_in_arena(id);
    for (unsigned i = 0; i < 100; i++) memset(mi_heap_malloc(c, 1000), 255, 1000);
    mi_heap_delete(b);
    for (unsigned i = 0; i < 300; i++) {
        if (i % 3 == 0) continue;
        CHECK_TRUE(is_all(blocks[i], (int)i, size_of(i)));
        mi_free(blocks[i]);
    }
    mi_heap_destroy(c);
}

static void *free_all(void *blocks) {
    for (unsigned i = 0; i < N; i++) mi_free(((char **)blocks)[i]);
    return NULL;
}

static void check_free_by_another_thread(void) {
    static char *at[N];
    pthread_t thread;
    char *mine = map_plainly(128 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 128 * MIB, true));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            at[i] = mi_heap_malloc(h, size_of(i) / 4 + 1);
            CHECK_TRUE(is_in(mine, 128 * MIB, at[i], size_of(i) / 4 + 1));
        }
        pthread_create(&thread, NULL, free_all, at);
        pthread_join(thread, NULL);
    }
    mi_heap_destroy(h);
}

static void check_too_small(void) {
    mi_arena_id_t id = (mi_arena_id_t)1;
    char *mine = map_plainly(64 * MIB);
    CHECK_TRUE(!mi_manage_os_memory_ex(mine, 16 * MIB, true, false, true, -1, true, &id));
    CHECK_TRUE(!mi_manage_os_memory(mine, 31 * MIB, true, false, true, -1));
    memset(mine, 1, 64 * MIB); /* and it is ours still */
}

/* ---- what is ours alone ---- */

/* Memory that is shared with another process: what a block holds is where that finds it. */
static void check_shared(void) {
    int fd = memfd_create("brought", 0), status;
    CHECK_EQ(ftruncate(fd, (off_t)(32 * MIB)), 0);
    char *mine = map(32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 32 * MIB, true));
    char *p = mi_heap_strdup(h, "a word for the child"), *q = mi_heap_zalloc(h, 100);
    pid_t child = fork();
    if (child == 0) {
        char *there = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        memcpy(there + (q - mine), "an answer", 10);
        _exit(strcmp(there + (p - mine), "a word for the child") != 0);
    }
    CHECK_TRUE(waitpid(child, &status, 0) == child && status == 0);
    CHECK_STR(q, "an answer");
    mi_heap_destroy(h);
    close(fd);
}

/* The beginning and end that are no multiples of 64 KiB are left out; pages without access are made accessible; and twice is too often. */
static void check_ranges(void) {
    mi_arena_id_t id = 0;
    size_t n = 0;
    char *mine = map(40 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK_TRUE(!mi_manage_os_memory_ex(mine + 1, 32 * MIB, false, false, true, -1, true, &id));
    CHECK_TRUE(mi_manage_os_memory_ex(mine + 1, 33 * MIB + 5, /* committed */ false, false, true,
                                      -1, true, &id));
    CHECK_EQ(mi_arena_area(id, &n), mine + 65536);
    CHECK_EQ(n, 33 * MIB - 65536);
    mi_heap_t *h = mi_heap_new_in_arena(id);
    char *p = mi_heap_malloc(h, n);
    CHECK_TRUE(p == mine + 65536);
    memset(p, 1, n);
    CHECK_TRUE(mi_heap_malloc(h, 1) == NULL);
    mi_heap_destroy(h);
    id = (mi_arena_id_t)5;
    CHECK_TRUE(!mi_manage_os_memory_ex(mine + 4 * MIB, 36 * MIB, true, false, true, -1, true, &id));
    CHECK_TRUE(id == 0);
    p = mi_malloc(40 * MIB); /* nor a block of malloc's */
    CHECK_TRUE(!mi_manage_os_memory(p, 40 * MIB, true, false, false, -1));
    mi_free(p);
#ifdef VITRINE_MIMALLOC
    CHECK_EQ(mi_arena_min_alignment(), 65536);
    CHECK_EQ(mi_arena_min_size(), 32 * MIB);
    CHECK_TRUE(mi_arena_contains(id, mine) == false);
#endif
}

/* v3's form: a function of the program's makes it accessible. */
#ifdef VITRINE_MIMALLOC
static bool commit(bool is_commit, void *start, size_t size, bool *is_zero, void *arg) {
    *is_zero = true;
    return is_commit && arg != NULL && mprotect(start, size, PROT_READ | PROT_WRITE) == 0;
}

static void check_committed_by_the_program(void) {
    mi_arena_id_t id = 0;
    char *mine = map(32 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    CHECK_TRUE(!mi_manage_memory(mine, 32 * MIB, false, false, false, -1, true, commit, NULL, &id));
    CHECK_TRUE(mi_manage_memory(mine, 32 * MIB, false, false, false, -1, true, commit, mine, &id));
    CHECK_TRUE(mi_arena_contains(id, mine));
    mi_heap_t *h = mi_heap_new_in_arena(id);
    CHECK_TRUE(is_all(mi_heap_zalloc(h, 100000), 0, 100000));
    mi_heap_destroy(h);
}
#endif

/* Memory that is not zero is not taken for it. */
static void check_not_zero(void) {
    char *mine = map_plainly(32 * MIB);
    memset(mine, 0xee, 32 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 32 * MIB, /* is_zero */ false));
    for (unsigned i = 0; i < 9; i++) {
        char *p = mi_heap_zalloc(h, size_of(i)), *q = mi_heap_zalloc_aligned(h, size_of(i), 4096);
        CHECK_TRUE(is_all(p, 0, mi_usable_size(p)) && is_all(q, 0, mi_usable_size(q)));
    }
    CHECK_TRUE(is_all(mi_heap_malloc(h, 100000), 0xee, 100000)); /* nobody touched it */
    mi_heap_destroy(h);
}

/* The names of C meet such blocks, too; as the default heap it serves them. */
static void check_plain_names(void) {
    char *mine = map_plainly(64 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 64 * MIB, true));
    mi_heap_t *before = mi_heap_set_default(h);
    char *p = malloc(100), *q = calloc(1000, 100), *r = aligned_alloc(4096, 8192);
    CHECK_TRUE(is_in(mine, 64 * MIB, p, 100) && is_in(mine, 64 * MIB, q, 100000));
    CHECK_TRUE(is_in(mine, 64 * MIB, r, 8192) && (uintptr_t)r % 4096 == 0);
    p = realloc(p, 200);
    CHECK_TRUE(is_in(mine, 64 * MIB, p, 200));
    mi_heap_set_default(before);
    memset(p, 7, 200);
    p = realloc(p, 10000); /* becomes one of the main heap */
    CHECK_TRUE(!is_in(mine, 64 * MIB, p, 1) && is_all(p, 7, 200));
    free(p);
    CHECK_TRUE(mi_is_in_heap_region(q) && mi_expand(q, 1000) == q);
    CHECK_TRUE(mi_realloc(q, 90000) == q);
    mi_free_size(q, 90000);
    mi_free_aligned(r, 4096);
    mi_heap_destroy(h);
}

#define THREADS 4
static mi_heap_t *common;
static void *volatile exchange[64];

static void *work(void *seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    for (unsigned i = 0; i < 20000; i++) {
        random = random * 1103515245 + 12345;
        size_t n = random >> 25 == 0 ? 50000 : (random >> 16) % 1500 + 1;
        char *p = mi_heap_malloc(common, n);
        if (p == NULL) continue;
        memset(p, 1, n);
        p = __atomic_exchange_n(&exchange[random >> 8 & 63], p, __ATOMIC_ACQ_REL);
        if (p != NULL) CHECK_EQ(*p, 1);
        mi_free(p);
    }
    return NULL;
}

static void check_threads(void) {
    pthread_t threads[THREADS];
    int status;
    char *mine = map_plainly(64 * MIB);
    common = mi_heap_new_in_arena(manage(mine, 64 * MIB, true));
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (unsigned i = 0; i < 5; i++) { /* a child finds no lock held */
        pid_t child = fork();
        if (child == 0) {
            for (unsigned k = 0; k < 64; k++) mi_free(mi_heap_malloc(common, k * 100));
            _exit(0);
        }
        CHECK_TRUE(waitpid(child, &status, 0) == child && status == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 64; i++) {
        CHECK_TRUE(exchange[i] == NULL || is_in(mine, 64 * MIB, exchange[i], 1));
        mi_free(exchange[i]);
        exchange[i] = NULL;
    }
    struct seen s = {0, 0, NULL, false};
    CHECK_TRUE(mi_heap_visit_blocks(common, true, look, &s));
    CHECK_EQ(s.n_blocks, 0);
    mi_heap_destroy(common);
}

static void check_ends(void (*mistake)(char *), char *p, const char *words) {
    int out[2], status;
    char line[400] = "";
    CHECK_EQ(pipe(out), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 2);
        mistake(p);
        _exit(0);
    }
    close(out[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(out[0], line + n, sizeof line - 1 - n)) > 0;) n += (size_t)got;
    close(out[0]);
    CHECK_TRUE(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    if (!CHECK_TRUE(strstr(line, words) != NULL)) check_say("seen: %s", line);
}

static void free_twice(char *p) {
    mi_free(p);
    mi_free(p);
}
static void free_inside(char *p) { mi_free(p + 16); }
static void free_at(char *p) { mi_free(p); }
static void ask_size(char *p) { (void)!mi_usable_size(p + 1); }

static void check_mistakes(void) {
    char *mine = map_plainly(32 * MIB);
    mi_heap_t *h = mi_heap_new_in_arena(manage(mine, 32 * MIB, true));
    char *small = mi_heap_malloc(h, 100), *large = mi_heap_malloc(h, 200000);
    (void)!mi_heap_malloc(h, 100);
    check_ends(free_twice, small, "double free of 0x");
    check_ends(free_twice, small, "block of 112 bytes (class 6) is already free");
    check_ends(free_twice, large, "no block is there, it was freed or never allocated");
    check_ends(free_inside, small,
               "not the start of a block: 16 bytes inside a block of 112 bytes (class 6)");
    check_ends(free_inside, large,
               "not the start of a block: 16 bytes inside a block of 200704 bytes (large)");
    check_ends(free_inside, large + 99984, "not the start of a block: 100000 bytes inside a block");
    check_ends(free_at, mine + 31 * MIB, "no block is there, it was freed or never allocated");
    check_ends(ask_size, small, "not the start of a block: 1 bytes inside");
    mi_heap_destroy(h);
    check_ends(free_at, small, "no block is there");
}

int main(int argc, char **argv) {
    is_original = argc > 1 && strcmp(argv[1], "original") == 0;
    check_blocks();
    check_aligned();
    check_full();
    check_two_heaps();
    check_free_by_another_thread();
    check_too_small();
    if (is_original) return CHECK_DONE();
    check_shared();
    check_ranges();
#ifdef VITRINE_MIMALLOC
    check_committed_by_the_program();
#endif
    check_not_zero();
    check_plain_names();
    check_threads();
    check_mistakes();
    return CHECK_DONE();
}
