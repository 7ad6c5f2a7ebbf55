/* misuse.c - every wrong free a program can make, one per run.
 *
 *     misuse list         prints "NAME WORDS..." for each case; WORDS must be in the report
 *     misuse NAME HOW     commits it; HOW says who frees: local, remote (a new thread for each
 *                         free), together (one other thread makes all the frees)
 *
 * After the mistake the program goes on allocating until the allocator must have seen every freed
 * block, prints "went on" and exits 0. misuse.sh decides what should have happened.
 */
#include "risk.h"

enum { NEIGHBOURS = 200 };

/* ---- who frees */
struct job {
    void **blocks;
    int n;
};
static void *run_job(void *arg) {
    struct job *j = arg;
    for (int i = 0; i < j->n; i++) free(j->blocks[i]);
    return NULL;
}
static const char *how = "local";

/* Frees the blocks in order; with "remote" each in a thread of its own. */
static void release(void **blocks, int n) {
    pthread_t id;
    int step = strcmp(how, "remote") == 0 ? 1 : n;
    for (int i = 0; i < n; i += step) {
        struct job j = {blocks + i, step};
        if (strcmp(how, "local") == 0) {
            run_job(&j);
            continue;
        }
        MUST(pthread_create(&id, NULL, run_job, &j) == 0);
        MUST(pthread_join(id, NULL) == 0);
    }
}
static void release_one(void *p) { release(&p, 1); }

/* Makes the owner of the class look at everything that came back to it. */
static void settle(size_t n_bytes) {
    enum { MANY = 3000 };
    static void *again[MANY];
    int n = n_bytes > 100000 ? 20 : MANY;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < n; i++) {
            again[i] = malloc(n_bytes);
            if (again[i]) memset(again[i], 7, n_bytes < 4096 ? n_bytes : 4096);
        }
        for (int i = 0; i < n; i++) free(again[i]);
    }
}

/* A block with living neighbours on both sides, so its slab stays. */
static unsigned char *block_among_others(size_t n_bytes) {
    void *p[NEIGHBOURS];
    int n = n_bytes > 1000000 ? 3 : NEIGHBOURS;
    for (int i = 0; i < n; i++) {
        p[i] = malloc(n_bytes);
        MUST(p[i] != NULL);
    }
    return p[n / 2];
}

/* ---- the mistakes */
static void twice(size_t n) {
    void *p = block_among_others(n), *both[2] = {p, p};
    release(both, 2);
    settle(n);
}
static void twice_with_others_between(size_t n) {
    void *p[12];
    for (int i = 0; i < 11; i++) p[i] = block_among_others(n);
    p[11] = p[0];
    release(p, 12);
    settle(n);
}
static void twice_by_two(size_t n) { /* once here, once elsewhere */
    void *p = block_among_others(n);
    free(p);
    release_one(p);
    settle(n);
}
static void interior(size_t n, size_t at) {
    release_one(block_among_others(n) + at);
    settle(n);
}
static void *pass(void *p) { return opaque(p); }
static int in_data = 7;
static int in_bss[64];
static const char in_text[64] = "read only";

static void on_stack(size_t n) {
    char buffer[256];
    buffer[0] = (char)n;
    release_one(pass((void *)(((uintptr_t)buffer + 31) & ~(uintptr_t)15)));
}
static void mapped(size_t n) {
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(p != MAP_FAILED);
    release_one(p);
}
static void resize_freed(size_t n, size_t to) {
    void *p = block_among_others(n);
    release_one(p);
    p = realloc(pass(p), to);
    if (p) memset(p, 1, to < n ? to : n);
    settle(n);
}
/* So many that their slabs must be used again, and the links between them are followed. */
static void written_after_free(size_t n, int byte, int forge) {
    enum { MANY = 400 };
    static unsigned char *p[MANY];
    void *freed[MANY / 2];
    for (int i = 0; i < MANY; i++) {
        p[i] = malloc(n);
        MUST(p[i] != NULL);
    }
    for (int i = 0; i < MANY; i += 2) freed[i / 2] = p[i];
    release(freed, MANY / 2);
    for (int i = 0; i < MANY; i += 2) {
        memset(pass(p[i]), byte, n);
        if (forge)
            memcpy(pass(p[i]), &p[i + 1],
                   sizeof p[i]); /* the link is now a live neighbour's address */
    }
    settle(n);
}
static void *function(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    MUST(f != NULL);
    return f;
}
#define NEW "_Znwm"
#define NEW_ARRAY "_Znam"
#define NEW_ALIGNED "_ZnwmSt11align_val_t"
#define DELETE "_ZdlPv"
#define DELETE_ARRAY "_ZdaPv"
/* A block of one operator, freed by another, or by C's functions. */
static void mismatched(const char *maker, const char *freer, size_t n) {
    void *(*make)(size_t, size_t) = (void *(*)(size_t, size_t))function(maker);
    void (*give)(void *, size_t) = (void (*)(void *, size_t))function(freer);
    give(make(n, 64), n); /* who does not know the second argument does not look at it */
    settle(n);
}
static void resize_new(size_t n) {
    void *(*make)(size_t) = (void *(*)(size_t))function(NEW);
    void *p = realloc(make(n), 2 * n);
    MUST(p != NULL);
    settle(n);
}
static void sized(size_t n, size_t claimed) {
    void *(*make)(size_t) = (void *(*)(size_t))function(NEW);
    void (*sized_delete)(void *, size_t) = (void (*)(void *, size_t))function("_ZdlPvm");
    sized_delete(make(n), claimed);
    settle(n);
}
static void sized_c(size_t n, size_t claimed) {
    void (*sized_free)(void *, size_t) = (void (*)(void *, size_t))function("free_sized");
    sized_free(block_among_others(n), claimed);
    settle(n);
}

#define TWICE "double free"
#define INSIDE "not the start of a block"
#define STRANGE "not a pointer from malloc"
#define DAMAGED "free list corrupted"
#define SIZED "sized delete"
#define OTHER "mismatched free"
/* CASE(name, words, body): one row, one mistake. "WORDS*": only the secure library must catch it,
 * the default one goes on. "WORDS?": must be caught where the owner freed the block itself; while a
 * block freed by another thread is on its way home, the program may also go on. */
#define CASES(CASE)                                                                                \
    CASE(twice_16, TWICE, twice(16))                                                               \
    CASE(twice_64, TWICE, twice(64))                                                               \
    CASE(twice_1000, TWICE, twice(1000))                                                           \
    CASE(twice_5000, TWICE, twice(5000))                                                           \
    CASE(twice_60000, TWICE, twice(60000))                                                         \
    CASE(twice_100k, TWICE, twice(100000))                                                         \
    CASE(twice_1m, TWICE, twice(MiB(1)))                                                           \
    CASE(twice_64m, TWICE, twice(MiB(64)))                                                         \
    CASE(twice_by_two_64, TWICE, twice_by_two(64))                                                 \
    CASE(twice_by_two_5000, TWICE, twice_by_two(5000))                                             \
    CASE(twice_by_two_1m, TWICE, twice_by_two(MiB(1)))                                             \
    CASE(twice_between_48, TWICE, twice_with_others_between(48))                                   \
    CASE(twice_between_3000, TWICE, twice_with_others_between(3000))                               \
    CASE(twice_between_1m, TWICE, twice_with_others_between(MiB(1)))                               \
    CASE(stack, STRANGE, on_stack(1))                                                              \
    CASE(static_data, STRANGE, release_one(pass(&in_data)))                                        \
    CASE(static_bss, STRANGE, release_one(pass(&in_bss[16])))                                      \
    CASE(static_text, STRANGE, release_one(pass((void *)(uintptr_t)in_text)))                      \
    CASE(code, STRANGE, release_one(pass((void *)(uintptr_t)&twice)))                              \
    CASE(libc_data, STRANGE, release_one(pass(&environ)))                                          \
    CASE(mapped_page, STRANGE, mapped(4096))                                                       \
    CASE(mapped_64m, STRANGE, mapped(MiB(64)))                                                     \
    CASE(small_number, STRANGE, release_one(pass((void *)16)))                                     \
    CASE(one, STRANGE, release_one(pass((void *)1)))                                               \
    CASE(wild, STRANGE, release_one(pass((void *)0x123456789ab0)))                                 \
    CASE(kernel_half, STRANGE, release_one(pass((void *)(uintptr_t)0xffff888000000010)))           \
    CASE(interior_16_of_64, INSIDE, interior(64, 16))                                              \
    CASE(interior_48_of_64, INSIDE, interior(64, 48))                                              \
    CASE(interior_500_of_1000, INSIDE, interior(1000, 496))                                        \
    CASE(interior_of_medium, INSIDE, interior(20000, 4096))                                        \
    CASE(interior_of_medium_far, INSIDE, interior(60000, 40960))                                   \
    CASE(interior_of_100k, INSIDE, interior(100000, 16))                                           \
    CASE(interior_of_1m, INSIDE, interior(MiB(1), 4096))                                           \
    CASE(interior_of_1m_far, INSIDE, interior(MiB(1), KiB(512)))                                   \
    CASE(interior_of_64m, INSIDE, interior(MiB(64), MiB(32)))                                      \
    CASE(misaligned_1, INSIDE, interior(64, 1))                                                    \
    CASE(misaligned_8, INSIDE, interior(64, 8))                                                    \
    CASE(misaligned_medium, INSIDE, interior(9000, 8))                                             \
    CASE(misaligned_1m, INSIDE, interior(MiB(1), 8))                                               \
    CASE(one_past_40, INSIDE, interior(40, 40))                                                    \
    CASE(one_past_1000, INSIDE, interior(1000, 1000))                                              \
    CASE(one_past_100k, INSIDE, interior(100000, 100000))                                          \
    CASE(realloc_freed_64, TWICE "?", resize_freed(64, 64))                                        \
    CASE(realloc_freed_64_up, TWICE "?", resize_freed(64, 5000))                                   \
    CASE(realloc_freed_20000, TWICE "?", resize_freed(20000, 40000))                               \
    CASE(realloc_freed_1m, TWICE "?", resize_freed(MiB(1), MiB(2)))                                \
    CASE(realloc_freed_64m, TWICE "?", resize_freed(MiB(64), MiB(65)))                             \
    CASE(written_zero_32, DAMAGED, written_after_free(32, 0, 0))                                   \
    CASE(written_ff_64, DAMAGED, written_after_free(64, 0xff, 0))                                  \
    CASE(written_41_1000, DAMAGED, written_after_free(1000, 0x41, 0))                              \
    CASE(written_41_9000, DAMAGED, written_after_free(9000, 0x41, 0))                              \
    CASE(written_link_64, DAMAGED, written_after_free(64, 0, 1))                                   \
    CASE(sized_delete_more, SIZED "*", sized(64, 1000))                                            \
    CASE(sized_delete_large, SIZED "*", sized(MiB(1), MiB(3)))                                     \
    CASE(sized_delete_less_64, SIZED "*", sized(64, 48))                                           \
    CASE(sized_delete_less_1000, SIZED "*", sized(1000, 990))                                      \
    CASE(sized_delete_less_5000, SIZED "*", sized(5000, 2000))                                     \
    CASE(sized_delete_less_60000, SIZED "*", sized(60000, 64))                                     \
    CASE(sized_delete_less_1m, SIZED "*", sized(MiB(1), MiB(1) - 4096))                            \
    CASE(free_sized_more, SIZED "*", sized_c(100, 5000))                                           \
    CASE(free_sized_less, SIZED "*", sized_c(5000, 100))                                           \
    CASE(malloc_delete_64, OTHER "*", mismatched("malloc", DELETE, 64))                            \
    CASE(malloc_delete_array_5000, OTHER "*", mismatched("malloc", DELETE_ARRAY, 5000))            \
    CASE(malloc_delete_1m, OTHER "*", mismatched("malloc", DELETE, MiB(1)))                        \
    CASE(new_free_64, OTHER "*", mismatched(NEW, "free", 64))                                      \
    CASE(new_free_20000, OTHER "*", mismatched(NEW, "free", 20000))                                \
    CASE(new_free_1m, OTHER "*", mismatched(NEW, "free", MiB(1)))                                  \
    CASE(new_delete_array_16, OTHER "*", mismatched(NEW, DELETE_ARRAY, 16))                        \
    CASE(new_array_delete_16, OTHER "*", mismatched(NEW_ARRAY, DELETE, 16))                        \
    CASE(new_array_sized_delete, OTHER "*", mismatched(NEW_ARRAY, "_ZdlPvm", 1000))                \
    CASE(new_array_free_300000, OTHER "*", mismatched(NEW_ARRAY, "free", 300000))                  \
    CASE(new_aligned_free, OTHER "*", mismatched(NEW_ALIGNED, "free", 500))                        \
    CASE(new_aligned_delete_array, OTHER "*", mismatched(NEW_ALIGNED, DELETE_ARRAY, 500))          \
    CASE(realloc_of_new, OTHER "*", resize_new(100))

#define AS_FUNCTION(name, words, body)                                                             \
    static void do_##name(void) { body; }
#define AS_ROW(name, words, body) {#name, words, do_##name},
CASES(AS_FUNCTION)
static const struct {
    const char *name, *words;
    void (*commit)(void);
} row[] = {CASES(AS_ROW)};

int main(int argc, char **argv) {
    size_t n = sizeof row / sizeof *row;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < n; i++) printf("%s %s\n", row[i].name, row[i].words);
        return 0;
    }
    MUST(argc == 3);
    require_preloaded();
    how = argv[2];
    for (size_t i = 0; i < n; i++)
        if (strcmp(row[i].name, argv[1]) == 0) {
            row[i].commit();
            check_say("went on");
            return 0;
        }
    return 2;
}
