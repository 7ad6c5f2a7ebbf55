/* threads.c - threads with names; threads.py knows what each of them has.
 *
 *   threads FILE END    alpha, then beta in its place, keep 4 MB each; gamma and delta live still and keep 2 MB each, delta was born
 *                       without a name; main keeps 1 MB. FILE, if not -, is a profile by call. END: exit or kill.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vitrine.h"

#pragma weak vt_heap_dump
enum { BLOCK = 10000 };
static void *kept[4][400];
static pthread_barrier_t all_have;

static void keep(void **to, int n) {
    for (int i = 0; i < n; i++) to[i] = malloc(BLOCK);
}

static void *short_lived(void *name) {
    pthread_setname_np(pthread_self(), name);
    keep(kept[((char *)name)[0] == 'b'], 400);
    return NULL;
}

static void *long_lived(void *name) {
    int is_delta = ((char *)name)[0] == 'd';
    void *before = is_delta ? malloc(BLOCK) : NULL;
    pthread_setname_np(pthread_self(), name);
    keep(kept[2 + is_delta], 200);
    free(before);
    pthread_barrier_wait(&all_have);
    pause();
    return NULL;
}

int main(int argc, char **argv) {
    static char *names[] = {"alpha", "beta", "gamma", "delta"};
    static void *mine[100];
    pthread_t t;
    if (argc != 3) return 2;
    pthread_barrier_init(&all_have, NULL, 3);
    keep(mine, 100);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t, NULL, short_lived, names[i]) != 0 || pthread_join(t, NULL) != 0)
            return 3;
    for (int i = 2; i < 4; i++)
        if (pthread_create(&t, NULL, long_lived, names[i]) != 0) return 3;
    pthread_barrier_wait(&all_have);
    if (argv[1][0] != '-' && (vt_heap_dump == NULL || vt_heap_dump(argv[1]) != 0)) return 4;
    if (strcmp(argv[2], "kill") == 0) raise(SIGKILL);
    return 0;
}
