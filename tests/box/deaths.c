/* deaths.c - a program that knows what it holds and what time it took, and then dies in the way it is told.
 *
 *   deaths [child] [drop] [threads=N] [burn=MS] [fork] [grow=MIB [times=N]] [fill=MIB] [DEATH]
 *
 *   child: all of it in a child, whose parent does nothing but wait
 *   drop: all of it as nobody, after giving up root
 *
 *   DEATH: exit _exit int term abort segv kill exec clone wait endless
 *
 * Says on stdout what is true: "keep N BYTES", "all N BYTES", "cpu SECONDS". Sizes are those of classes: nothing is rounded up.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_SMALL 1000
#define N_LARGE 100
#define SMALL 4096
#define LARGE 65536

static void *kept[64][N_SMALL + N_LARGE];
static unsigned n_threads = 1;

__attribute__((noinline)) static void keep_small(unsigned t) {
    for (int i = 0; i < N_SMALL; i++) kept[t][i] = malloc(SMALL);
}

__attribute__((noinline)) static void keep_large(unsigned t) {
    for (int i = 0; i < N_LARGE; i++) kept[t][N_SMALL + i] = malloc(LARGE);
}

__attribute__((noinline)) static void give_back(unsigned t) {
    void *volatile p;
    for (int i = 0; i < N_SMALL; i++) {
        p = malloc(SMALL);
        free(p);
    }
    (void)t;
}

static void *work(void *arg) {
    unsigned t = (unsigned)(size_t)arg;
    keep_small(t);
    keep_large(t);
    give_back(t);
    return NULL;
}

static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void burn(double seconds) {
    volatile unsigned long x = 0;
    for (double end = cpu_time() + seconds; cpu_time() < end;)
        for (int i = 0; i < 100000; i++) x += (unsigned long)i;
}

static int cloned(void *arg) {
    (void)arg;
    give_back(1);
    keep_small(1);
    for (int i = 0; i < N_SMALL; i++) free(kept[0][i]);
    _exit(0);
}

/* A process that libc does not know of: no handler of fork runs. */
static void bare_clone(void) {
    size_t n = 1 << 20;
    char *stack = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int pid = clone(cloned, stack + n, SIGCHLD, NULL), status;
    waitpid(pid, &status, 0);
    printf("cloned %d\n", status);
    fflush(stdout);
}

/* One block, long before it is used: a MiB every 5 ms, by nobody who allocates. */
__attribute__((noinline)) static void fill(unsigned n_mib) {
    static char *volatile block;
    block = malloc((size_t)n_mib << 20);
    for (unsigned i = 0; i < n_mib; i++) {
        memset(block + ((size_t)i << 20), 1, 1 << 20);
        usleep(5000);
    }
}

/* So much, touched, and given back; again and again. */
__attribute__((noinline)) static void grow(unsigned n_mib, unsigned n_times) {
    static void *grown[1 << 16];
    unsigned n = n_mib * 16;
    for (unsigned k = 0; k < n_times; k++) {
        for (unsigned i = 0; i < n; i++) {
            grown[i] = malloc(LARGE);
            memset(grown[i], 1, LARGE);
            usleep(n_times > 1 || i % 16 == 0 ? 500 : 0);
        }
        printf("grown %u\n", n_mib);
        fflush(stdout);
        for (unsigned i = 0; i < n; i++) free(grown[i]);
        malloc_trim(0);
        for (unsigned i = 0; i < 300; i++) { /* samples at which the fall is seen */
            void *volatile p = malloc(1 << 20);
            free(p);
            usleep(1000);
        }
    }
}

static void die(const char *how, char **argv) {
    if (strcmp(how, "_exit") == 0) _exit(3);
    if (strcmp(how, "int") == 0) raise(SIGINT);
    if (strcmp(how, "term") == 0) raise(SIGTERM);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "segv") == 0) *(volatile int *)8 = 1;
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "exec") == 0) execl(argv[0], argv[0], "quick", (char *)NULL);
    if (strcmp(how, "wait") == 0) pause();
    if (strcmp(how, "clone") == 0) {
        bare_clone();
        raise(SIGKILL);
    }
    if (strcmp(how, "endless") == 0)
        for (;;) give_back(0);
    exit(0);
}

static void run_threads(void) {
    pthread_t threads[64];
    for (size_t t = 1; t < n_threads; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    work(NULL);
    for (size_t t = 1; t < n_threads; t++) pthread_join(threads[t], NULL);
}

static void be_a_child(void) {
    int status = 0, pid = fork();
    if (pid == 0) return;
    waitpid(pid, &status, 0);
    _exit(0);
}

static void be_nobody(void) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(9);
}

int main(int argc, char **argv) {
    const char *how = "exit";
    double seconds = 0;
    int is_forking = 0;
    unsigned n_mib = 0, n_times = 1, n_fill = 0;
    if (argc > 1 && strcmp(argv[1], "quick") == 0) return 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "threads=", 8) == 0)
            n_threads = (unsigned)atoi(argv[i] + 8);
        else if (strncmp(argv[i], "burn=", 5) == 0)
            seconds = atof(argv[i] + 5) / 1000;
        else if (strncmp(argv[i], "fill=", 5) == 0)
            n_fill = (unsigned)atoi(argv[i] + 5);
        else if (strncmp(argv[i], "grow=", 5) == 0)
            n_mib = (unsigned)atoi(argv[i] + 5);
        else if (strncmp(argv[i], "times=", 6) == 0)
            n_times = (unsigned)atoi(argv[i] + 6);
        else if (strcmp(argv[i], "fork") == 0)
            is_forking = 1;
        else if (strcmp(argv[i], "child") == 0)
            be_a_child();
        else if (strcmp(argv[i], "drop") == 0)
            be_nobody();
        else
            how = argv[i];
    }
    run_threads();
    burn(seconds);
    if (n_mib > 0) grow(n_mib, n_times);
    if (n_fill > 0) fill(n_fill);
    if (is_forking) {
        int pid = fork(), status;
        if (pid == 0) {
            n_threads = 2;
            keep_large(63);
            printf("child %d\n", (int)getpid());
            fflush(stdout);
            die(how, argv);
        }
        waitpid(pid, &status, 0);
    }
    printf("pid %d\nkeep %ld\nall %ld\ncpu %.4f\n", (int)getpid(),
           (long)n_threads * (N_SMALL * SMALL + N_LARGE * LARGE),
           (long)n_threads * (2 * N_SMALL * SMALL + N_LARGE * LARGE), cpu_time());
    fflush(stdout);
    die(how, argv);
}
