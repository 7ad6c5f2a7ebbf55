/* late.c - a program with a life of its own loads the library late, by dlopen, and nothing breaks.
 *
 *     late LIBRARY
 *
 * Blocks of glibc that exist already are freed afterwards, by the program's free and by the
 * library's; blocks of the library are freed by the library. Threads come and go on both sides of
 * the dlopen.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400 };
typedef void *take_fn(size_t);
typedef void drop_fn(void *);
typedef void *resize_fn(void *, size_t);

static size_t size_of(int i) { return (size_t)1 << (i % 21); } /* 1 B to 1 MiB */

static void fill_all(unsigned char **p, take_fn *take, int seed) {
    for (int i = 0; i < N; i++) {
        p[i] = take(size_of(i));
        if (!p[i]) exit(10);
        memset(p[i], seed + i, size_of(i));
    }
}
static void drop_all(unsigned char **p, drop_fn *drop, int seed, int from, int to) {
    for (int i = from; i < to; i++) {
        if (p[i][0] != (unsigned char)(seed + i) ||
            p[i][size_of(i) - 1] != (unsigned char)(seed + i))
            exit(11);
        drop(p[i]);
    }
}
static void *thread(void *arg) {
    take_fn *take = (take_fn *)arg;
    unsigned char *p[N];
    fill_all(p, take ? take : malloc, 3);
    for (int i = 0; i < N; i++)
        if (p[i][0] != (unsigned char)(3 + i)) exit(12);
    if (!take) drop_all(p, free, 3, 0, N);
    return NULL;
}
static void in_threads(take_fn *take) {
    pthread_t id[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&id[i], NULL, thread, (void *)take)) exit(13);
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
}

int main(int argc, char **argv) {
    static unsigned char *old[N], *fresh[N], *theirs[N];
    if (argc != 2) return 2;
    fill_all(old, malloc, 1);
    in_threads(NULL);
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        printf("dlopen: %s\n", dlerror());
        return 3;
    }
    take_fn *take = (take_fn *)dlsym(lib, "malloc");
    drop_fn *drop = (drop_fn *)dlsym(lib, "free");
    resize_fn *resize = (resize_fn *)dlsym(lib, "realloc");
    if (!take || !drop || !resize || (void *)take == (void *)malloc) return 4;
    fill_all(fresh, malloc, 5);
    fill_all(theirs, take, 7);
    in_threads(NULL);
    in_threads(take);
    drop_all(old, free, 1, 0, N / 2); /* glibc's, by glibc */
    drop_all(old, drop, 1, N / 2, N); /* glibc's, by the library */
    for (int i = 0; i < N; i++) {     /* glibc's, grown by the library */
        unsigned char *p = resize(fresh[i], size_of(i) * 2);
        if (!p || p[0] != (unsigned char)(5 + i) || p[size_of(i) - 1] != p[0]) return 5;
        drop(p);
    }
    drop_all(theirs, drop, 7, 0, N);
    dlclose(lib);
    in_threads(NULL);
    free(malloc(100));
    printf("late: ok\n");
    return 0;
}
