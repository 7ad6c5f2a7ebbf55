/* realloc_shrinks.c - the end of a large block that shrinks goes back to the system at once, and the block may have it again. Each part
 * in a process of its own: a heap that was used before keeps more of what is free. */
#include "../check.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB(n) ((size_t)(n) << 20)
#define SLACK MIB(8)

static size_t resident(void) {
    size_t n_kib = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    if (!CHECK_NOT_NULL(f)) return 0;
    while (fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmRSS: %zu", &n_kib) == 1) break;
    fclose(f);
    return n_kib << 10;
}

static unsigned char *touched(size_t n) {
    unsigned char *p = malloc(n);
    if (CHECK_NOT_NULL(p)) memset(p, 3, n);
    return p;
}

static void in_one_step(void) {
    size_t before = resident();
    unsigned char *p = touched(MIB(100));
    CHECK_GE(resident(), before + MIB(100) - SLACK);
    unsigned char *q = realloc(p, MIB(60));
    CHECK_EQ(q, p);
    CHECK_LE(resident(), before + MIB(60) + SLACK);
    CHECK_EQ(malloc_usable_size(q), MIB(60));
    q = realloc(q, MIB(100));
    CHECK_EQ(q, p);
    CHECK_EQ(malloc_usable_size(q), MIB(100));
    CHECK_EQ(q[MIB(60) - 1], 3);
    free(q);
}

/* Each step alone is hardly worth a call. */
static void in_small_steps(void) {
    size_t before = resident();
    unsigned char *p = touched(MIB(64)), *q = p;
    for (size_t n = MIB(64); n > MIB(1); n -= 65536) {
        q = realloc(q, n);
        CHECK_EQ(malloc_usable_size(q), n);
        if (n % MIB(8) == 0) CHECK_LE(resident(), before + n + n / 16 + SLACK);
    }
    CHECK_EQ(q, p);
    free(q);
}

static void many_blocks(void) {
    static unsigned char *at[64];
    size_t before = resident();
    for (int i = 0; i < 64; i++) at[i] = touched(MIB(1));
    for (int i = 0; i < 64; i++) CHECK_EQ(realloc(at[i], MIB(1) * 5 / 8), at[i]);
    CHECK_LE(resident(), before + MIB(40) + SLACK);
    for (int i = 0; i < 64; i++) free(at[i]);
}

/* A heap that took back what it had given keeps more of what is free, but not what a realloc cuts off. */
static void again_and_again(void) {
    static const size_t less[] = {MIB(180), MIB(100), 1000};
    size_t before = resident();
    for (size_t k = 0; k < 6; k++) {
        unsigned char *p = touched(MIB(300));
        p = realloc(p, less[k % 3]);
        CHECK_LE(resident(), before + less[k % 3] + SLACK);
        CHECK_EQ(p[999], 3);
        free(p);
    }
}

/* A block that swings does not cost a page fault for each page, each time. */
static void swinging(void) {
    enum { N = 2000, N_PAGES = 3 << 20 >> 12 };
    struct rusage u0, u1;
    unsigned char *p = touched(MIB(4));
    getrusage(RUSAGE_SELF, &u0);
    for (int i = 0; i < N; i++) {
        p = realloc(p, MIB(1));
        p = realloc(p, MIB(4));
        memset(p, i, MIB(4));
    }
    getrusage(RUSAGE_SELF, &u1);
    CHECK_LE(u1.ru_minflt - u0.ru_minflt, N * N_PAGES / 2);
    free(p);
}

/* What was kept goes back as time passes, with the next call that has little to do with it, though nobody called meanwhile. */
static void kept_goes_back(void) {
    size_t before = resident();
    static void *at[256];
    for (int k = 0; k < 3; k++) free(touched(MIB(200)));
    CHECK_GE(resident(), before + MIB(150));
    sleep(4);
    for (int k = 0; k < 256; k++) at[k] = malloc(8000);
    CHECK_LE(resident(), before + MIB(120)); /* three quarters of 300 MiB, four times, is 95 */
    for (int k = 0; k < 256; k++) free(at[k]);
}

static void apart(void (*part)(void)) {
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        part();
        _exit(CHECK_DONE());
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void) {
    check_allocator();
    apart(in_one_step);
    apart(in_small_steps);
    apart(many_blocks);
    apart(again_and_again);
    apart(swinging);
    apart(kept_goes_back);
    return CHECK_DONE();
}
