/* subject.c - a program to be asked for something while it is busy or idle in one way or another.
 *
 *     subject MODE     prints "ready PID" of the process to ask, and goes on until a line comes on stdin
 *
 *   read      blocked in read()
 *   poll      blocked in poll(), which a signal breaks off
 *   threads   every thread blocked: some in a lock, one in poll(), the first in read()
 *   fast      mallocs and frees one small block, over and over: the slow path is never taken
 *   slow      takes the slow path over and over
 *   waits     waits for a mutex over and over, in wait_for_mutex
 *   late      the same with a read-write lock, in wait_for_reading, and takes none before it gets SIGUSR1
 *   none      blocked in read(), and malloc was never called
 *   fork      the child of a fork is to be asked, blocked in read(); the parent waits for it
 *   own       has a handler of its own for SIGURG, and takes the slow path now and then
 *   blocked   has the signal blocked, and takes the slow path now and then
 *   deaf      has the signal blocked, and does nothing
 *
 * All but `none` hold 4 MiB of keep_this. Exit 0: read() was never broken off by a signal.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[4096];

__attribute__((noinline)) static void keep_this(void) {
    for (int i = 0; i < 4096; i++) {
        kept[i] = malloc(1024);
        memset(kept[i], 1, 1024);
    }
}

/* Without stdio, which allocates. */
static void say_ready(void) {
    char line[32];
    int n = snprintf(line, sizeof line, "ready %d\n", (int)getpid());
    if (write(1, line, (size_t)n) != n) _exit(4);
}

static int wait_in_read(void) {
    char c;
    for (;;) {
        ssize_t n = read(0, &c, 1);
        if (n < 0) {
            perror("read");
            return 5;
        }
        if (n == 0 || c == '\n') return 0;
    }
}

static void wait_in_poll(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, -1) < 0 && errno == EINTR) {}
}

static int has_input(void) {
    int n = 0;
    return ioctl(0, FIONREAD, &n) == 0 && n > 0;
}

static void go_fast(void) {
    while (!has_input())
        for (int i = 0; i < 1000000; i++) {
            void *p = malloc(64);
            __asm__ volatile("" ::"r"(p) : "memory");
            free(p);
        }
}

static void go_slowly(unsigned pause_us) {
    while (!has_input()) {
        void *p = malloc(300000);
        __asm__ volatile("" ::"r"(p) : "memory");
        free(p);
        if (pause_us) usleep(pause_us);
    }
}

static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;

static void *wait_in_lock(void *arg) {
    pthread_mutex_lock(&locked);
    return arg;
}

static void *wait_in_poll_thread(void *arg) {
    wait_in_poll(*(int *)arg);
    return arg;
}

/* Two threads: one has the lock nearly all the time. */
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static volatile sig_atomic_t is_told;

static void on_told(int number) {
    (void)number;
    is_told = 1;
}

static void *hold_mutex(void *arg) {
    for (; !has_input(); usleep(100)) {
        pthread_mutex_lock(&contended);
        usleep(10000);
        pthread_mutex_unlock(&contended);
    }
    return arg;
}

static void *hold_writing(void *arg) {
    for (; !has_input(); usleep(100)) {
        pthread_rwlock_wrlock(&written);
        usleep(10000);
        pthread_rwlock_unlock(&written);
    }
    return arg;
}

__attribute__((noinline)) static void wait_for_mutex(void) {
    pthread_mutex_lock(&contended);
    pthread_mutex_unlock(&contended);
}

__attribute__((noinline)) static void wait_for_reading(void) {
    pthread_rwlock_rdlock(&written);
    pthread_rwlock_unlock(&written);
}

static int go_waiting(void *(*hold)(void *), void (*wait_once)(void)) {
    pthread_t id;
    if (pthread_create(&id, NULL, hold, NULL) != 0) return 6;
    while (!has_input()) wait_once();
    return pthread_join(id, NULL) != 0 ? 6 : 0;
}

static int go_waiting_late(void) {
    while (!has_input() && !is_told) usleep(1000);
    return go_waiting(hold_writing, wait_for_reading);
}

static void block_urgent(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static int start_threads(void) {
    static int fd[2];
    pthread_t id;
    pthread_mutex_lock(&locked);
    if (pipe(fd) != 0) return 6;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&id, NULL, wait_in_lock, NULL) != 0) return 6;
    return pthread_create(&id, NULL, wait_in_poll_thread, &fd[0]) != 0 ? 6 : 0;
}

static int fork_and_wait(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        say_ready();
        exit(wait_in_read());
    }
    if (waitpid(pid, &status, 0) != pid) return 7;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

static void on_urgent(int number) { (void)number; }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "read";
    if (strcmp(mode, "none") != 0) keep_this();
    if (strcmp(mode, "fork") == 0) return fork_and_wait();
    if (strcmp(mode, "threads") == 0 && start_threads() != 0) return 6;
    if (strcmp(mode, "own") == 0) {
        struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_RESTART};
        sigaction(SIGURG, &action, NULL);
    }
    if (strcmp(mode, "blocked") == 0 || strcmp(mode, "deaf") == 0) block_urgent();
    if (strcmp(mode, "late") == 0) signal(SIGUSR1, on_told);
    say_ready();
    if (strcmp(mode, "waits") == 0 && go_waiting(hold_mutex, wait_for_mutex) != 0) return 6;
    if (strcmp(mode, "late") == 0 && go_waiting_late() != 0) return 6;
    if (strcmp(mode, "poll") == 0) wait_in_poll(0);
    if (strcmp(mode, "fast") == 0) go_fast();
    if (strcmp(mode, "slow") == 0) go_slowly(0);
    if (strcmp(mode, "own") == 0 || strcmp(mode, "blocked") == 0) go_slowly(2000);
    return wait_in_read();
}
