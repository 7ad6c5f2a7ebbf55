/* quiet.c - what a profiled program must not notice.
 *
 *   quiet idle     nothing comes to a process that uses no CPU time: SIGPROF is held back, and is not pending after a second
 *   quiet eintr N  N rounds of burning and of every call that sleeps; a call that ends with EINTR is a failure, and so is another errno
 *                  after the burning
 *   quiet restart  a read that waits for 200 ms, and is to have its bytes though signals of wall time come meanwhile
 *   quiet mine     a handler of SIGPROF that was there before, and a timer of the program's own: it gets its signals
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static int n_changed; /* times that errno was not what it was */

static void burn(int n) {
    errno = 4711;
    for (int i = 0; i < n * 1000; i++) sink = sink * 31 + 7;
    __asm__ volatile("" ::: "memory"); /* looked at again */
    n_changed += errno != 4711;
}

/* A period may end, or be told of, in what little it does before and after the sleep: not every time. */
static int idle(void) {
    sigset_t prof, pending;
    struct timespec none = {0, 0}, second = {1, 0};
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    sigprocmask(SIG_BLOCK, &prof, NULL);
    for (int i = 0; i < 5; i++) {
        nanosleep(&none, NULL);
        while (sigtimedwait(&prof, NULL, &none) > 0) {} /* what the start used */
        nanosleep(&second, NULL);
        sigpending(&pending);
        if (!sigismember(&pending, SIGPROF)) return 0;
    }
    puts("expected no signal in a second of sleep, seen SIGPROF in each of five");
    return 1;
}

static int n_interrupted, n_calls;

static void look(const char *call, int result) {
    n_calls++;
    if (result >= 0 || errno != EINTR) return;
    n_interrupted++;
    printf("%s ended with EINTR\n", call);
}

static int eintr(int n_rounds) {
    int pipes[2], poller = epoll_create1(0);
    sem_t never;
    sem_init(&never, 0, 0);
    if (pipe(pipes) != 0) return 2;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poller, EPOLL_CTL_ADD, pipes[0], &event);
    struct pollfd p = {.fd = pipes[0], .events = POLLIN};
    for (int i = 0; i < n_rounds * 2000; i++) look("poll", poll(&p, 1, 0)); /* nothing but calls */
    for (int i = 0; i < n_rounds; i++) {
        struct timespec ms = {0, 100000}, until;
        struct timeval tv = {0, 100};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(pipes[0], &set);
        burn(20);
        look("poll", poll(&p, 1, 0));
        look("poll", poll(&p, 1, 1));
        burn(20);
        look("select", select(pipes[0] + 1, &set, NULL, NULL, &tv));
        look("epoll_wait", epoll_wait(poller, &event, 1, 1));
        burn(20);
        look("nanosleep", nanosleep(&ms, NULL));
        look("usleep", usleep(100));
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec = (until.tv_nsec + 100000) % 1000000000;
        look("sem_timedwait", sem_timedwait(&never, &until));
    }
    printf("%d calls: expected 0 interrupted, seen %d; expected errno changed 0 times, seen %d\n",
           n_calls, n_interrupted, n_changed);
    return n_interrupted != 0 || n_changed != 0;
}

static int restart(void) {
    struct itimerspec once = {{0, 0}, {0, 200000000}};
    unsigned long long n;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0);
    if (fd < 0 || timerfd_settime(fd, 0, &once, NULL) != 0) return 2;
    if (read(fd, &n, sizeof n) == sizeof n) return 0;
    printf("expected a read that goes on after signals, seen %s\n", strerror(errno));
    return 1;
}

static volatile sig_atomic_t n_mine;

static void on_mine(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (info->si_code == SI_TIMER && info->si_value.sival_int == 77) n_mine++;
}

static int mine(int (*start)(const char *), void (*stop)(void)) {
    struct sigaction a = {.sa_sigaction = on_mine, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    timer_t timer;
    e.sigev_value.sival_int = 77;
    sigaction(SIGPROF, &a, NULL);
    if (timer_create(CLOCK_MONOTONIC, &e, &timer) != 0) return 2;
    if (start("mine.prof") != 1) return 3;
    timer_settime(timer, 0, &every, NULL);
    time_t until = time(NULL) + 20;
    while (n_mine < 10 && time(NULL) < until) burn(100);
    stop();
    int before = n_mine;
    while (n_mine < before + 3 && time(NULL) < until) burn(100);
    printf("expected the program's own ticks, while we profile and after: seen %d and %d\n", before,
           (int)n_mine - before);
    return before < 10 || n_mine < before + 3;
}

extern int ProfilerStart(const char *) __attribute__((weak));
extern void ProfilerStop(void) __attribute__((weak));

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "idle") == 0) return idle();
    if (argc > 2 && strcmp(argv[1], "eintr") == 0) return eintr(atoi(argv[2]));
    if (argc > 1 && strcmp(argv[1], "restart") == 0) return restart();
    if (argc > 1 && strcmp(argv[1], "mine") == 0) return mine(ProfilerStart, ProfilerStop);
    return 2;
}
