/* risk_03_fork_storm.c - fork while eight threads allocate, in every way to make a process.
 *
 * The child of fork has one thread; a lock that another thread held at that moment stays locked for
 * ever unless the allocator took it first. Children here allocate 1 MB in small pieces, free what
 * they inherited, start threads, fork again. atfork handlers of the program, registered before and
 * after the allocator's own, allocate too, and one of them forks. A child that hangs is ended by
 * its own alarm and counted as a failure.
 */
#include "risk.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>

enum { N_WORKERS = 8, N_SHARED = 256, CHILD_SECONDS = 60 };

static _Atomic(unsigned char *) shared[N_SHARED];
static atomic_int stop, in_nested_fork;
static atomic_long n_handler_calls;
static char *self;

static unsigned char *block_of(uint64_t r) {
    size_t n = 32 + (r >> 16) % (r % 50 ? 1000 : 200000);
    unsigned char *p = malloc(n);
    if (!p) _exit(3);
    memset(p, (int)(r >> 56), 32);
    return p;
}

static void drop(unsigned char *p) {
    for (int i = 1; p && i < 32; i++)
        if (p[i] != p[0]) _exit(4);
    free(p);
}

static void *worker(void *arg) {
    uint64_t rng = (uintptr_t)arg * 77 + 5;
    while (!atomic_load(&stop)) {
        uint64_t r = next_random(&rng);
        drop(atomic_exchange(&shared[r % N_SHARED], block_of(r)));
        if (r % 64 == 0) {
            void *big = malloc(MiB(3));
            if (big) memset(big, 1, 4096);
            free(big);
        }
    }
    return NULL;
}

static void churn(uint64_t seed, size_t n_bytes) {
    unsigned char *kept[64] = {NULL};
    for (size_t done = 0; done < n_bytes;) {
        uint64_t r = next_random(&seed);
        unsigned char **slot = &kept[(r >> 8) % 64];
        drop(*slot);
        *slot = block_of(r);
        done += malloc_usable_size(*slot);
    }
    for (int i = 0; i < 64; i++) drop(kept[i]);
}

static void *child_thread(void *arg) {
    churn((uintptr_t)arg, MiB(1));
    return NULL;
}

/* What a child does; anything but a return is a failure that the parent sees. */
static void be_child(long turn) {
    alarm(CHILD_SECONDS);
    churn((uint64_t)turn + 1, MiB(1));
    if (turn % 2)
        for (int i = 0; i < N_SHARED; i++) drop(atomic_exchange(&shared[i], NULL));
    if (turn % 4 == 0) {
        pthread_t id[2];
        for (int i = 0; i < 2; i++)
            if (pthread_create(&id[i], NULL, child_thread, (void *)(turn + i + 1))) _exit(5);
        for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    }
    if (turn % 8 == 1) { /* a grandchild */
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(CHILD_SECONDS);
            churn((uint64_t)turn, MiB(1));
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || status) _exit(6);
    }
}

static void reap(pid_t pid, const char *what) {
    int status = -1;
    MUST(pid > 0);
    MUST(waitpid(pid, &status, 0) == pid);
    if (!CHECK_EQ(status, 0)) {
        check_say("child of %s: expected exit status 0, seen %s", what, how_ended(status));
        exit(check_done(__FILE__));
    }
}

/* ---- the program's own atfork handlers */
static void touch(void) {
    void *p = malloc(500), *q = calloc(3, 70000);
    if (!p || !q) abort();
    atomic_fetch_add(&n_handler_calls, 1);
    free(q);
    free(p);
}
static void fork_in_handler(void) {
    touch();
    if (atomic_exchange(&in_nested_fork, 1)) return; /* the inner fork runs the handlers as well */
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        churn(9, KiB(100));
        _exit(0);
    }
    reap(pid, "fork in an atfork handler");
}

static void early_handlers(int argc, char **argv, char **env) {
    (void)argc, (void)argv, (void)env;
    pthread_atfork(touch, touch, touch);
}
__attribute__((section(".preinit_array"),
               used)) static void (*early_entry)(int, char **, char **) = early_handlers;

/* ---- other ways to make a process */
static void by_vfork(void) {
    char *argv[] = {self, (char *)"child", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv(self, argv);
        _exit(127);
    }
    reap(pid, "vfork");
}

static void by_spawn(void) {
    extern char **environ;
    char *argv[] = {self, (char *)"child", NULL};
    pid_t pid = -1;
    CHECK_EQ(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
    reap(pid, "posix_spawn");
}

static void by_daemon(void) {
    char seen = 0;
    int fd[2];
    MUST(pipe(fd) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (daemon(1, 1)) _exit(7); /* forks; the middle process ends with 0 */
        alarm(CHILD_SECONDS);
        churn(3, MiB(1));
        if (write(fd[1], "k", 1) != 1) _exit(8);
        _exit(0);
    }
    close(fd[1]);
    reap(pid, "daemon");
    CHECK_EQ(read(fd[0], &seen, 1), 1); /* 0: the daemon died before its word */
    CHECK_EQ(seen, 'k');
    close(fd[0]);
}

static void by_popen(void) {
    char text[16] = "";
    FILE *f = popen("echo hello", "r");
    MUST(f != NULL);
    CHECK_NOT_NULL(fgets(text, sizeof text, f));
    CHECK_EQ(pclose(f), 0);
    CHECK_STR(text, "hello\n");
    CHECK_EQ(system("exit 3"), 3 << 8);
}

static void *forking_thread(void *arg) {
    long from = (long)(intptr_t)arg, n = soak(60, 5000);
    for (long turn = from; turn < from + n; turn++) {
        pid_t pid = fork();
        if (pid == 0) {
            be_child(turn);
            _exit(0);
        }
        reap(pid, "fork");
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t id[N_WORKERS], forker;
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        churn(4, MiB(1));
        return 0;
    }
    require_preloaded();
    self = realpath("/proc/self/exe", NULL);
    MUST(pthread_atfork(touch, touch, touch) == 0);
    MUST(pthread_atfork(touch, fork_in_handler, touch) == 0);
    for (long i = 0; i < N_WORKERS; i++) MUST(pthread_create(&id[i], NULL, worker, (void *)i) == 0);
    MUST(pthread_create(&forker, NULL, forking_thread, (void *)1000L) == 0);
    forking_thread((void *)0L); /* two threads fork at the same time */
    CHECK_EQ(pthread_join(forker, NULL), 0);
    for (int i = 0; i < soak(5, 50); i++) {
        by_vfork();
        by_spawn();
        by_daemon();
        by_popen();
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < N_WORKERS; i++) CHECK_EQ(pthread_join(id[i], NULL), 0);
    CHECK_TRUE(atomic_load(&n_handler_calls) > 100);
    CHECK_EQ(atomic_load(&in_nested_fork), 1);
    return CHECK_DONE();
}
