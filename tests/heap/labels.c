/* labels.c - a program whose blocks are told apart by labels, threads and ages; labels.sh knows how many there are of each. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vitrine.h"

enum { N_MAX = 64 };

__attribute__((noinline)) static void take(void **to, int n, size_t n_bytes) {
    for (int i = 0; i < n; i++) to[i] = malloc(n_bytes);
    __asm__ volatile("" ::: "memory");
}

static void give(void **from, int n) {
    for (int i = 0; i < n; i++) free(from[i]);
}

static void *in_thread(void *to) {
    vt_label_push("request", "download");
    take(to, 7, 7000);
    return NULL;
}

int main(int argc, char **argv) {
    static void *inner[N_MAX], *outer[N_MAX], *bare[N_MAX], *theirs[N_MAX];
    pthread_t t;
    if (vt_label_push("request", "upload") != 0 || vt_label_push("user", "anna") != 0) return 2;
    take(inner, 10, 10000);
    vt_label_pop();
    take(outer, 5, 5000);
    vt_label_pop();
    take(bare, 3, 3000);
    nanosleep(&(struct timespec){0, 150000000}, NULL);
    give(inner, 10); /* they keep their labels */
    if (pthread_create(&t, NULL, in_thread, theirs) != 0 || pthread_join(t, NULL) != 0) return 3;
    if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    return 0;
}
