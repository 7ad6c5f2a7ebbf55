/* hostile.c - a program that is profiled where another user has planted things: it allocates, computes and waits a little.
 *
 *     hostile [WAY NAME]
 *
 * In the end it asks for a profile of this name itself, by one of the calls below, whose library is preloaded.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void by_vitrine(const char *name) {
    int (*dump)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "vt_heap_dump");
    if (dump != NULL) (void)dump(name);
}

static void by_mallctl(const char *name) {
    int (*ctl)(const char *, void *, size_t *, void *, size_t) =
        (int (*)(const char *, void *, size_t *, void *, size_t))dlsym(RTLD_DEFAULT, "mallctl");
    if (ctl != NULL) (void)ctl("prof.dump", NULL, NULL, &name, sizeof name);
}

static void by_profiler(const char *name) {
    int (*start)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "ProfilerStart");
    void (*stop)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "ProfilerStop");
    if (start != NULL && stop != NULL && start(name) != 0) stop();
}

static void ask(const char *way, const char *name) {
    if (strcmp(way, "vt_heap_dump") == 0) by_vitrine(name);
    if (strcmp(way, "mallctl") == 0) by_mallctl(name);
    if (strcmp(way, "ProfilerStart") == 0) by_profiler(name);
}

int main(int argc, char **argv) {
    volatile double sum = 0;
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(1000);
        if (p == NULL) return 1;
        p[0] = (char)i;
        sum += p[0];
        if (i % 2) free(p);
    }
    if (argc == 3) ask(argv[1], argv[2]);
    return 0;
}
