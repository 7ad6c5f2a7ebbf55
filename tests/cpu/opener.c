/* opener.c - loads the profiler late, in this process or in the child of a fork, and profiles itself and two threads.
 *
 *     opener here|child LIBRARY FILE
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn_loop.h"

/* Half a second: a thread that libc started without our knowledge is found after 200 ms at most of what the process uses, if it runs then;
 * so it is alone. */
static __attribute__((noinline)) void *burn_in_thread(void *arg) {
    burn(500);
    return arg;
}

/* One that says so itself is known at once. */
static void (*register_thread)(void);

static __attribute__((noinline)) void *burn_registered(void *arg) {
    register_thread();
    burn(100);
    return arg;
}

static __attribute__((noinline)) void burn_here(void) {
    burn(200);
    sink++;
}

static int profile(const char *library, const char *file) {
    pthread_t id;
    void *l = dlopen(library, RTLD_NOW);
    if (l == NULL) return fprintf(stderr, "%s\n", dlerror()), 3;
    int (*start)(const char *) = (int (*)(const char *))dlsym(l, "ProfilerStart");
    void (*stop)(void) = (void (*)(void))dlsym(l, "ProfilerStop");
    register_thread = (void (*)(void))dlsym(l, "ProfilerRegisterThread");
    if (start(file) != 1) return 4;
    burn_here();
    if (pthread_create(&id, NULL, burn_in_thread, NULL) != 0) return 5;
    pthread_join(id, NULL);
    if (pthread_create(&id, NULL, burn_registered, NULL) != 0) return 5;
    pthread_join(id, NULL);
    stop();
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    if (strcmp(argv[1], "here") == 0) return profile(argv[2], argv[3]);
    pid_t pid = fork();
    if (pid == 0) exit(profile(argv[2], argv[3]));
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 6;
}
