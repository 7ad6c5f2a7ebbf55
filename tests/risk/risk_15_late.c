/* risk_15_late.c - a limit of addresses (RLIMIT_AS) that comes while the program runs.
 *
 *     risk_15_late HOW LIMIT_MIB BLOCK_BYTES
 *
 * HOW is the call that sets it: setrlimit, setrlimit64, prlimit, prlimit64, all of them for itself, or `outside`: another process
 * does. After it mappings, threads and children work; what a large block had is mmap's when it was freed; malloc gives what is left,
 * and again after it was freed; more when the limit is raised, and without it. Prints the MiB that malloc gave. With a fourth argument threads
 * allocate all the while; not with glibc, which maps 64 MiB for each. Runs with any malloc. With VT_LINKED it is linked with an archive,
 * and its mmap is libc's, which does not ask the heap for what it only holds.
 */
#include "risk.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct link {
    struct link *next;
};

static _Atomic int is_over;

static void *churn(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *at[200] = {0};
    while (!is_over) {
        seed = seed * 1103515245 + 12345;
        unsigned i = (seed >> 8) % 200;
        size_t n = (seed >> 16) % 20 == 0 ? 200000 : (seed >> 12) % 3000 + 1;
        free(at[i]);
        at[i] = malloc(n);
        if (at[i] != NULL) memset(at[i], (int)seed, n < 100 ? n : 100);
    }
    for (int i = 0; i < 200; i++) free(at[i]);
    return NULL;
}

static void *a_little(void *arg) {
    size_t *n_failed = arg;
    for (size_t n = 1; n < 3000; n++) {
        void *p = malloc(n);
        *n_failed += p == NULL;
        free(p);
    }
    return NULL;
}

static size_t addresses(void) {
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    MUST(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoul(text, NULL, 10) * 4096;
}

static int set_limit(const char *how, size_t n_bytes) {
    struct rlimit l = {n_bytes, RLIM_INFINITY};
    struct rlimit64 l64 = {n_bytes, RLIM_INFINITY};
    pid_t me = getpid();
    if (strcmp(how, "setrlimit") == 0) return setrlimit(RLIMIT_AS, &l);
    if (strcmp(how, "setrlimit64") == 0) return setrlimit64(RLIMIT_AS, &l64);
    if (strcmp(how, "prlimit") == 0) return prlimit(me, RLIMIT_AS, &l, NULL);
    if (strcmp(how, "prlimit64") == 0) return prlimit64(0, RLIMIT_AS, &l64, NULL);
    pid_t other = fork();
    int status = -1;
    if (other == 0) _exit(prlimit(me, RLIMIT_AS, &l, NULL) != 0);
    return waitpid(other, &status, 0) == other && status == 0 ? 0 : -1;
}

static size_t fill_up(size_t n_bytes) {
    struct link *all = NULL, *l;
    size_t given = 0;
    errno = 0;
    while ((l = malloc(n_bytes)) != NULL) {
        l->next = all;
        all = l;
        ((char *)l)[n_bytes - 1] = 1;
        given += n_bytes;
    }
    CHECK_EQ(errno, ENOMEM);
    while (all != NULL) {
        l = all->next;
        free(all);
        all = l;
    }
    return given;
}

static void threads_work(void) {
    enum { N = 4 };
    pthread_t id[N];
    size_t n_failed[N] = {0};
    for (int i = 0; i < N; i++) CHECK_EQ(pthread_create(&id[i], NULL, a_little, &n_failed[i]), 0);
    for (int i = 0; i < N; i++) {
        pthread_join(id[i], NULL);
        CHECK_EQ(n_failed[i], 0);
    }
}

static void *map(size_t n_bytes) {
    return mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void mappings_work(size_t n_bytes) {
    void *p = map(n_bytes);
    if (CHECK_NE(p, MAP_FAILED)) munmap(p, n_bytes);
}

static void freed_addresses_are_there_for_others(size_t n_bytes) {
    char *p = malloc(n_bytes);
    if (CHECK_NOT_NULL(p)) p[n_bytes - 1] = 1;
    free(p);
    mappings_work(n_bytes);
}

static void children_work(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        char *p = malloc(MiB(8));
        void *q = map(MiB(8));
        if (p == NULL || q == MAP_FAILED) _exit(1);
        memset(p, 1, MiB(8));
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv) {
    MUST(argc >= 4);
    const char *how = argv[1];
    size_t limit = MiB(strtoul(argv[2], NULL, 10)), n_bytes = strtoul(argv[3], NULL, 10);
    pthread_t busy[2];
    static void *keep[2000];
    for (size_t i = 0; i < 2000; i++) keep[i] = malloc(i * 3 + 1);
    for (size_t i = 0; argc > 4 && i < 2; i++) pthread_create(&busy[i], NULL, churn, (void *)i);
    MUST(set_limit(how, limit) == 0);
    mappings_work(MiB(10)); /* who was limited from outside learns of it now */
    CHECK_LE(addresses(), MiB(argc > 4 ? 60 : 40));
    threads_work();
    children_work();
#ifndef VT_LINKED
    if (argc <= 4) freed_addresses_are_there_for_others(limit / 2);
#else
    (void)freed_addresses_are_there_for_others;
#endif
    size_t given = fill_up(n_bytes), again = fill_up(n_bytes);
    CHECK_GE(again, given / 10 * 9);
    is_over = 1;
    for (size_t i = 0; argc > 4 && i < 2; i++) pthread_join(busy[i], NULL);
    MUST(set_limit(how, 4 * limit) == 0);
    CHECK_GE(fill_up(n_bytes), 3 * given);
    MUST(set_limit(how, RLIM_INFINITY) == 0);
    char *p = malloc(4 * limit + MiB(500));
    if (CHECK_NOT_NULL(p)) p[4 * limit + MiB(400)] = 1;
    free(p);
    for (size_t i = 0; i < 2000; i++) free(keep[i]);
    printf("%zu\n", given >> 20);
    return CHECK_DONE();
}
