/* loads.c - a program that keeps 300 blocks of its own, loads a library, keeps 300 blocks through it, and maps 1 MiB. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *volatile kept[600];
static int n_kept;

__attribute__((noinline)) static void keep(void *unused) {
    (void)unused;
    kept[n_kept++] = malloc(10000);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (int i = 0; i < 300; i++) keep(NULL);
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    void (*run)(int, void (*)(void *), void *);
    *(void **)&run = dlsym(lib, "plugin_run");
    for (int i = 0; i < 300; i++) run(6, keep, NULL);
    void *p = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED;
}
