/* hooks.c - experimental.hooks.install and remove: what a program hears of its own allocations, the same from the original and from ours. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>

static struct {
    unsigned n_allocated, n_freed;
    void *allocated, *freed, *extra;
    size_t size;
} volatile seen;

static void on_alloc(void *extra, int type, void *result, uintptr_t raw, uintptr_t args[3]) {
    (void)type, (void)raw;
    void *volatile mine = malloc(50); /* not told */
    free(mine);
    seen.n_allocated++;
    seen.allocated = result;
    seen.size = args[0];
    seen.extra = extra;
}
static void on_dalloc(void *extra, int type, void *address, uintptr_t args[3]) {
    (void)extra, (void)type, (void)args;
    seen.n_freed++;
    seen.freed = address;
}

static void run(const char *when) {
    seen.n_allocated = seen.n_freed = 0;
    for (size_t n = 100; n < 1000000; n *= 10) {
        void *volatile p = malloc(n);
        printf("%s: %d %d", when, seen.allocated == p, seen.size == n);
        free(p);
        printf(" %d\n", seen.freed == p);
    }
    printf("%s: %u %u\n", when, seen.n_allocated, seen.n_freed);
}

int main(void) {
    static char buffer[65536];
    struct {
        void *alloc, *dalloc, *expand, *extra;
    } mine = {(void *)on_alloc, (void *)on_dalloc, NULL, buffer};
    void *handle = NULL;
    size_t len = sizeof(handle);
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    printf("too few: %d\n", mallctl("experimental.hooks.install", &handle, &len, &mine, 8));
    printf("install: %d",
           mallctl("experimental.hooks.install", &handle, &len, &mine, sizeof(mine)));
    printf(" %d\n", handle != NULL);
    run("installed");
    printf("extra: %d\n", seen.extra == buffer);
    printf("remove: %d\n",
           mallctl("experimental.hooks.remove", NULL, NULL, &handle, sizeof(handle)));
    unsigned before = seen.n_allocated;
    void *volatile p = malloc(100);
    free(p);
    printf("removed: %d\n", seen.n_allocated == before);
    struct {
        void *callback, *context;
    } told = {(void *)on_alloc, buffer}, now = {NULL, NULL};
    len = sizeof(now);
    printf("activity: %d",
           mallctl("experimental.thread.activity_callback", NULL, NULL, &told, sizeof(told)));
    printf(" %d", mallctl("experimental.thread.activity_callback", &now, &len, NULL, 0));
    printf(" %d\n", now.callback == told.callback && now.context == buffer);
    return 0;
}
