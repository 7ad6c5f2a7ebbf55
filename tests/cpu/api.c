/* api.c - vt_cpu_start, vt_cpu_dump, vt_cpu_stop and labels; time that passes; and timers that the system refuses.
 *
 *   api calls FILE     every function, with what it returns
 *   api held FILE      as on a busy machine, but without chance: no tick arrives before the labels have changed
 *   api wall FILE      half a second of burning and half a second of sleep, in functions of their own
 *   api refused FILE   no timer can be had (RLIMIT_SIGPENDING is 0): the start says so, and the program goes on
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <vitrine.h>

#include "burn_loop.h"

/* In slices: each tick of the clock ends one. */
__attribute__((noinline)) static void sleep_it(int ms) {
    struct timespec t, slice = {0, 5000000};
    long until = -1;
    do {
        nanosleep(&slice, NULL);
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (until < 0) until = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms;
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < until);
}

static int n_bad;
#define EXPECT(x, wanted)                                                                          \
    do {                                                                                           \
        int seen_ = (x);                                                                           \
        if (seen_ != (wanted)) n_bad++, printf("%s: expected %d, seen %d\n", #x, (wanted), seen_); \
    } while (0)

/* With a label, or without. It changes here, so that this is on the stack also where no tick has met the thread before. */
__attribute__((noinline)) static void burn_it(const char *value, int ms) {
    if (value != NULL) EXPECT(vt_label_push("request", value), 0);
    burn(ms);
    if (value != NULL) vt_label_pop();
    sink++;
}

__attribute__((noinline)) static void serve(const char *value, int ms) {
    EXPECT(vt_label_push("request", value), 0);
    burn_it(NULL, ms);
    vt_label_pop();
    sink++;
}

static void calls(const char *file) {
    char other[1024];
    snprintf(other, sizeof other, "%s.part", file);
    EXPECT(vt_cpu_stop(), -ENOENT);
    EXPECT(vt_cpu_dump(other), -ENOENT);
    EXPECT(vt_cpu_start("/nowhere/at/all"), -ENOENT);
    EXPECT(vt_cpu_start(file), 0);
    EXPECT(vt_cpu_start(file), -EBUSY);
    burn_it("slow one", 300);
    EXPECT(pthread_setname_np(pthread_self(), "renamed"), 0);
    EXPECT(vt_cpu_dump(other), 0);
    EXPECT(vt_cpu_dump(NULL), 0);
    burn_it(NULL, 100);
    EXPECT(vt_cpu_stop(), 0);
    EXPECT(vt_cpu_stop(), -ENOENT);
}

/* The first label comes after time without one; the third is met by ticks, which arrive again, and what comes after it is told of by
 * none. */
static void held(const char *file) {
    sigset_t prof, before;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    EXPECT(vt_cpu_start(file), 0);
    EXPECT(pthread_sigmask(SIG_BLOCK, &prof, &before), 0);
    burn_it(NULL, 60);
    serve("first", 100);
    serve("second", 40);
    serve("second", 40);
    EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    burn_it(NULL, 60);
    serve("third", 40);
    EXPECT(pthread_sigmask(SIG_BLOCK, &prof, NULL), 0);
    burn_it(NULL, 60);
    EXPECT(vt_cpu_stop(), 0);
}

int main(int argc, char **argv) {
    struct rlimit none = {0, 0};
    if (argc != 3) return 2;
    if (strcmp(argv[1], "calls") == 0) calls(argv[2]);
    if (strcmp(argv[1], "held") == 0) held(argv[2]);
    if (strcmp(argv[1], "wall") == 0) {
        EXPECT(vt_cpu_start(argv[2]), 0);
        burn_it(NULL, 500);
        sleep_it(500);
        EXPECT(vt_cpu_stop(), 0);
    }
    if (strcmp(argv[1], "refused") == 0) {
        setrlimit(RLIMIT_SIGPENDING, &none);
        EXPECT(vt_cpu_start(argv[2]), -EAGAIN);
        EXPECT(vt_cpu_stop(), -ENOENT);
        burn_it(NULL, 20);
    }
    return n_bad != 0;
}
