/* leaky.c - a program that leaks at two places, as the notes that our users wrote have it; the sums are known.
 *
 *     leaky [STEP...]
 *
 *   grow      small_ones: 1 to 79 KiB, 80 calls (one of no bytes);   3,235,840 bytes
 *   more      large_ones: 4 to 156 KiB, 40 calls (one of no bytes);  3,194,880 bytes
 *   churn     freed_ones: the same sizes as both, each freed at once; nothing is left
 *   start P   vt_heap_start(P)            dump    vt_heap_dump: one more file
 *   off, on   vt_heap_set_rate(0), (1): forget about what follows, or remember all of it
 *   stop      vt_heap_stop
 *   fork      what follows happens in a child as well, and the parent waits for it at the end
 *   load L    dlopen(L), and its plugin_run calls back for 40 blocks of 10,000 bytes
 *
 * The functions of the library are looked up by name, so that one program does for a linked and a preloaded library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile leaked;

__attribute__((noinline)) static void small_ones(size_t i) {
    leaked = malloc(i * 1024);
    __asm__ volatile("" ::: "memory"); /* no tail call: it is to be seen in the stack */
}

__attribute__((noinline)) static void large_ones(size_t i) {
    leaked = malloc(i * 4096);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void freed_ones(size_t i) {
    leaked = malloc(i * 1024);
    free(leaked);
    leaked = malloc(i * 4096);
    free(leaked);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void called_back(void *unused) {
    (void)unused;
    leaked = malloc(10000);
    __asm__ volatile("" ::: "memory");
}

static void *named(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    if (f == NULL) fprintf(stderr, "no %s in this process\n", name), exit(3);
    return f;
}

static void must(int err, const char *what) {
    if (err != 0) fprintf(stderr, "%s: %d\n", what, err), exit(4);
}

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror()), exit(5);
    void (*run)(int, void (*)(void *), void *);
    *(void **)&run = dlsym(library, "plugin_run");
    for (int i = 0; i < 40; i++) run(2, called_back, NULL);
}

int main(int argc, char **argv) {
    pid_t child = 0;
    int status = 0;
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i];
        if (strcmp(step, "grow") == 0)
            for (size_t k = 0; k < 80; k++) small_ones(k);
        else if (strcmp(step, "more") == 0)
            for (size_t k = 0; k < 40; k++) large_ones(k);
        else if (strcmp(step, "churn") == 0)
            for (size_t k = 0; k < 80; k++) freed_ones(k);
        else if (strcmp(step, "start") == 0)
            must(((int (*)(const char *))named("vt_heap_start"))(argv[++i]), step);
        else if (strcmp(step, "dump") == 0)
            must(((int (*)(const char *))named("vt_heap_dump"))("asked for"), step);
        else if (strcmp(step, "stop") == 0)
            ((void (*)(void))named("vt_heap_stop"))();
        else if (strcmp(step, "off") == 0)
            ((void (*)(size_t))named("vt_heap_set_rate"))(0);
        else if (strcmp(step, "on") == 0)
            ((void (*)(size_t))named("vt_heap_set_rate"))(1);
        else if (strcmp(step, "fork") == 0)
            child = fork();
        else if (strcmp(step, "load") == 0)
            load(argv[++i]);
        else
            return 2;
    }
    return child > 0 && (waitpid(child, &status, 0) != child || status != 0) ? 6 : 0;
}
