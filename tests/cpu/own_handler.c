/* own_handler.c - a program with handlers of its own for the profiler's signal, which it sets once the profile has begun.
 *
 *     own_handler               prints what it sees of them: the same with the profiler and without
 *     own_handler timer         the same with its own ITIMER_PROF, too
 *     own_handler late FILE     ticks that come after the profile has ended, and its own timer after that
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "burn_loop.h"

static volatile sig_atomic_t n_calls, n_from_us;
static volatile sig_atomic_t held; /* in the handler: bit 0 SIGPROF, 1 SIGUSR1, 2 SIGUSR2 */
static sigjmp_buf out;

static void note(void) {
    sigset_t now;
    n_calls++;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    held = sigismember(&now, SIGPROF) | sigismember(&now, SIGUSR1) << 1 |
           sigismember(&now, SIGUSR2) << 2;
}
static void by_number(int number) {
    if (number == SIGPROF) note();
}
static void by_info(int number, siginfo_t *info, void *context) {
    if (number == SIGPROF && context != NULL) note();
    if (info->si_pid == getpid()) n_from_us++;
}
static void jumping(int number) {
    if (number == SIGPROF) n_calls++;
    siglongjmp(out, 1);
}

static const char *name_of(const struct sigaction *a) {
    return a->sa_handler == SIG_DFL     ? "default"
           : a->sa_handler == SIG_IGN   ? "ignored"
           : a->sa_handler == by_number ? "by_number"
           : a->sa_handler == jumping   ? "jumping"
           : a->sa_sigaction == by_info ? "by_info"
                                        : "another";
}

static void set(const char *what, void (*handler)(int), int flags, int masked) {
    struct sigaction now = {.sa_handler = handler, .sa_flags = flags}, before;
    if (masked != 0) sigaddset(&now.sa_mask, masked);
    int err = sigaction(SIGPROF, &now, &before);
    printf("%s: %d; before %s, flags %x, mask %d %d\n", what, err, name_of(&before),
           before.sa_flags & ~0x04000000, sigismember(&before.sa_mask, SIGPROF),
           sigismember(&before.sa_mask, SIGUSR2));
}

/* Ticks come in the meantime, and are not for it. The system keeps one signal of a number at a time: ours is lost if it is sent while
 * a tick is on its way, and sent again. */
static void raise_it(const char *what) {
    n_calls = n_from_us = held = 0;
    burn(30);
    for (int i = 0; i < 3 && n_calls == 0; i++) raise(SIGPROF);
    printf("    %s: called %d, from us %d, held %x\n", what, (int)n_calls, (int)n_from_us,
           (unsigned)held);
}

__attribute__((noinline)) static void after_jump(void) {
    burn(200);
    sink++;
}

/* What ITIMER_PROF goes by: the system's ticks that found this process, which are more or less than its CPU time, by what else the machine
 * does. */
static long charged_us(void) {
    const clockid_t of_itimer_prof = (clockid_t)(~0u << 3); /* CPUCLOCK_PROF of the caller */
    struct timespec t;
    return clock_gettime(of_itimer_prof, &t) == 0 ? t.tv_sec * 1000000 + t.tv_nsec / 1000 : -1;
}

/* All of the profiler's ticks would be five times as many more. */
static void own_timer(void) {
    struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    n_calls = 0;
    long from_us = charged_us();
    setitimer(ITIMER_PROF, &every, NULL);
    burn(400);
    setitimer(ITIMER_PROF, &never, NULL);
    long n_due = (charged_us() - from_us) / 20000;
    if (n_calls >= n_due - 3 && n_calls <= n_due + 3)
        printf("own timer: as often as it should\n");
    else
        printf("own timer: %d times, not %ld\n", (int)n_calls, n_due);
}

extern int ProfilerStart(const char *) __attribute__((weak));
extern void ProfilerStop(void) __attribute__((weak));

/* So late may a tick of the process's timer be; on a busy machine more may pass, which is no case then. */
#define LATE_MS 100

static long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int late(const char *file) {
    sigset_t prof, before;
    struct timespec while_late = {0, 150000000};
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    if (ProfilerStart == NULL) return 3;
    signal(SIGPROF, by_number);
    for (int n_more = 0; n_more < 2; n_more++) /* there is another profile by then, or none */
        for (int n_tries = 0; n_tries < 20; n_tries++) {
            n_calls = 0;
            pthread_sigmask(SIG_BLOCK, &prof, &before);
            if (!ProfilerStart(file)) return 4;
            burn(60);
            long from_ms = now_ms();
            ProfilerStop();
            if (n_more > 0 && !ProfilerStart(file)) return 5;
            pthread_sigmask(SIG_SETMASK, &before, NULL);
            bool is_in_time = now_ms() - from_ms < LATE_MS;
            ProfilerStop();
            if (!is_in_time) continue;
            printf("late ticks, %d more profile: %d calls\n", n_more, (int)n_calls);
            break;
        }
    nanosleep(&while_late, NULL);
    own_timer();
    return 0;
}

int main(int argc, char **argv) {
    struct sigaction a;
    sigset_t now;
    if (argc == 3) return late(argv[2]);
    printf("asked: %d", sigaction(SIGPROF, NULL, &a));
    printf(" %s\n", name_of(&a));
    a.sa_handler = signal(SIGPROF, by_number);
    printf("signal: before %s\n", name_of(&a));
    raise_it("signal");
    raise_it("signal again");
    set("info", (void (*)(int))(void *)by_info, SA_SIGINFO | SA_RESTART, SIGUSR2);
    raise_it("info");
    set("once", by_number, (int)SA_RESETHAND, 0);
    raise_it("once");
    printf("asked: %d", sigaction(SIGPROF, NULL, &a));
    printf(" %s\n", name_of(&a));
    set("not deferred", by_number, SA_NODEFER, 0);
    raise_it("not deferred");
    set("ignored", SIG_IGN, 0, 0);
    raise_it("ignored");
    set("jumping", jumping, 0, SIGUSR2);
    if (sigsetjmp(out, 1) == 0) raise_it("never here");
    printf("    jumping: called %d\n", (int)n_calls);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    printf("    held after the jump: %d %d %d\n", sigismember(&now, SIGPROF),
           sigismember(&now, SIGUSR1), sigismember(&now, SIGUSR2));
    after_jump();
    set("by_number", by_number, SA_RESTART, 0);
    if (argc > 1) own_timer();
    errno = 0;
    printf("wrong: %d", signal(SIGPROF, SIG_ERR) == SIG_ERR);
    printf(" %s\n", strerrorname_np(errno));
    errno = 0;
    printf("no such: %d", sigaction(0, NULL, &a));
    printf(" %s", strerrorname_np(errno));
    printf(" %d", sigaction(SIGKILL, &a, NULL));
    printf(" %s", strerrorname_np(errno));
    printf(" %d\n", sigaction(1000, NULL, &a));
    a.sa_handler = signal(SIGUSR1, by_number);
    printf("another signal: before %s", name_of(&a));
    sigaction(SIGUSR1, NULL, &a);
    printf(", now %s\n", name_of(&a));
    return 0;
}
