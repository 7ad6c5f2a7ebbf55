/* subject.c - a program for `vitrine run`: takes one step after another.
 *
 *   grow          20 MB from hold_much, 5 MB from hold_on, then the 20 MB are freed
 *   turns         100,000 blocks of 16 KiB, each freed before the next
 *   spin          0.3 s of CPU time
 *   contend       waits 0.1 s for a lock that a thread has, in wait_for_it
 *   line          reads a line and prints it
 *   fork          the rest is done by a child as well
 *   signals       says "ready", waits for a SIGINT or SIGTERM, then a little for more, prints how many came
 *   kill N        signal N to itself
 *   exit N, _exit N
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../asleep.h"

#define BLOCK 10000

static void *held[2500];
static volatile sig_atomic_t n_signals;

__attribute__((noinline)) static void hold_much(int i) {
    held[i] = malloc(BLOCK);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void hold_on(int i) {
    held[i] = malloc(BLOCK);
    __asm__ volatile("" ::: "memory");
}

static void turns(void) {
    for (int i = 0; i < 100000; i++) {
        held[0] = malloc(16384);
        __asm__ volatile("" ::: "memory");
        free(held[0]);
    }
}

static void grow(void) {
    for (int i = 0; i < 2000; i++) hold_much(i);
    for (int i = 2000; i < 2500; i++) hold_on(i);
    for (int i = 0; i < 2000; i++) free(held[i]);
}

__attribute__((noinline)) static void spin(void) {
    volatile unsigned long n = 0;
    clock_t end = clock() + CLOCKS_PER_SEC * 3 / 10;
    while (clock() < end)
        for (int i = 0; i < 1000000; i++) n = n + 1;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_held;

static void *hold_it(void *unused) {
    pthread_mutex_lock(&lock);
    is_held = 1;
    until_it_sleeps(getpid());
    usleep(100000);
    pthread_mutex_unlock(&lock);
    return unused;
}

__attribute__((noinline)) static void wait_for_it(void) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void contend(void) {
    pthread_t id;
    if (pthread_create(&id, NULL, hold_it, NULL) != 0) exit(9);
    while (!is_held) sched_yield(); /* awake: it sleeps in wait_for_it alone */
    wait_for_it();
    pthread_join(id, NULL);
}

static void line(void) {
    char text[100];
    if (fgets(text, sizeof text, stdin) != NULL) fputs(text, stdout);
    fflush(stdout);
}

static void count(int number) {
    (void)number;
    n_signals++;
}

static void signals(void) {
    sigset_t none;
    struct sigaction action = {.sa_handler = count};
    sigset_t both;
    sigemptyset(&none);
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, NULL); /* until we wait */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    puts("ready");
    fflush(stdout);
    sigsuspend(&none);
    sigprocmask(SIG_UNBLOCK, &both, NULL);
    usleep(300000); /* a second one would have come by now */
    printf("signals=%d\n", (int)n_signals);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int number = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (strcmp(argv[i], "grow") == 0) grow();
        if (strcmp(argv[i], "turns") == 0) turns();
        if (strcmp(argv[i], "spin") == 0) spin();
        if (strcmp(argv[i], "contend") == 0) contend();
        if (strcmp(argv[i], "line") == 0) line();
        if (strcmp(argv[i], "signals") == 0) signals();
        if (strcmp(argv[i], "fork") == 0 && fork() > 0) wait(NULL);
        if (strcmp(argv[i], "kill") == 0) kill(getpid(), number);
        if (strcmp(argv[i], "exit") == 0) exit(number);
        if (strcmp(argv[i], "_exit") == 0) _exit(number);
    }
    return 0;
}
