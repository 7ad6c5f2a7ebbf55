/* first_call.c - any function of the family may be the first one a process calls.
 *
 * The library sets itself up in the first call, whichever that is; most tests begin with malloc and see
 * the rest only after it. Here each function gets a fresh process of its own.
 */
#include "../check.h"

#include <malloc.h>
#include <sys/wait.h>

static void by_malloc(void) { CHECK_NOT_NULL(opaque(malloc(100))); }
static void by_malloc_large(void) { CHECK_NOT_NULL(opaque(malloc(10 << 20))); }
static void by_malloc_too_large(void) { CHECK_FAILS(malloc(opaque_size(SIZE_MAX)), ENOMEM); }
static void by_calloc(void) {
    void *p = calloc(100, 100);
    CHECK_EQ(p ? first_nonzero(p, 10000) : 0, 10000);
}
static void by_realloc(void) { CHECK_NOT_NULL(opaque(realloc(NULL, 100))); }
static void by_reallocarray(void) { CHECK_NOT_NULL(opaque(reallocarray(NULL, 10, 10))); }
static void by_free(void) { free(opaque(NULL)), CHECK_TRUE(1); }
static void by_aligned_alloc(void) { CHECK_ALIGNED(aligned_alloc(1 << 20, 1), 1 << 20); }
static void by_posix_memalign(void) {
    void *p = NULL;
    CHECK_EQ(posix_memalign(&p, 4096, 100), 0);
    CHECK_ALIGNED(p, 4096);
}
static void by_memalign(void) { CHECK_ALIGNED(memalign(256, 10), 256); }
static void by_usable_size(void) { CHECK_EQ(malloc_usable_size(opaque(NULL)), 0); }
static void by_release(void) {
    /* Vitrine's own; a static program that does not use it does not have it */
    size_t (*release)(void) = SYMBOL(size_t(*)(void), vt_release_free_memory);
    if (release) release();
    CHECK_TRUE(1);
}
#ifdef __GLIBC__
static void by_trim(void) { CHECK_LE((unsigned)malloc_trim(0), 1); }
static void by_mallinfo(void) { CHECK_LE(mallinfo2().uordblks, (size_t)1 << 30); }
static void by_mallopt(void) { CHECK_EQ(mallopt(M_ARENA_MAX, 1), 1); }
static void by_stats(void) { malloc_stats(), CHECK_TRUE(1); }
static void by_info(void) { CHECK_EQ(malloc_info(0, stderr), 0); }
#endif

static const struct {
    const char *name;
    void (*call)(void);
} firsts[] = {
    {"malloc", by_malloc},
    {"malloc of 10 MiB", by_malloc_large},
    {"malloc of too much", by_malloc_too_large},
    {"calloc", by_calloc},
    {"realloc", by_realloc},
    {"reallocarray", by_reallocarray},
    {"free(NULL)", by_free},
    {"aligned_alloc", by_aligned_alloc},
    {"posix_memalign", by_posix_memalign},
    {"memalign", by_memalign},
    {"malloc_usable_size(NULL)", by_usable_size},
    {"vt_release_free_memory", by_release},
#ifdef __GLIBC__
    {"malloc_trim", by_trim},
    {"mallinfo2", by_mallinfo},
    {"mallopt", by_mallopt},
    {"malloc_stats", by_stats},
    {"malloc_info", by_info},
#endif
};
enum { N_FIRSTS = sizeof firsts / sizeof *firsts };

/* The second call is malloc: whatever the first one set up must serve it. */
static int run_first(int which) {
    firsts[which].call();
    void *p = opaque(malloc(1000));
    CHECK_NOT_NULL(p);
    free(p);
    return check_state.n_failed != 0;
}

static int status_of_child(int which) {
    char number[16];
    snprintf(number, sizeof number, "%d", which);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "first_call", number, (char *)NULL);
        _exit(CHECK_SKIPPED);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv) {
    if (argc > 1) return run_first(atoi(argv[1])); /* nothing before it, not even our own check */
    check_allocator();
    for (int i = 0; i < N_FIRSTS; i++) {
        int status = status_of_child(i);
        if (status == CHECK_SKIPPED) CHECK_SKIP("cannot run itself again");
        if (!CHECK_EQ(status, 0)) check_say("  when %s is the first call", firsts[i].name);
    }
    return CHECK_DONE();
}
