/* risk_07_dlopen.c - loads a library that hogs static TLS, then the allocator, and uses it from new
 * threads.
 *
 *     risk_07_dlopen HOG.so          run without LD_PRELOAD
 */
#include "risk.h"

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);
static malloc_fn *take;
static free_fn *drop;

static void *user(void *arg) {
    for (size_t i = 1; i < 2000; i++) {
        unsigned char *p = take(i);
        MUST(p != NULL);
        fill(p, i, (unsigned)(uintptr_t)arg);
        if (intact(p, i, (unsigned)(uintptr_t)arg) != i) CHECK_EQ(0, i);
        drop(p);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t id[4];
    MUST(argc == 2);
    void *hog = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!hog) check_say("dlopen of the hog: %s", dlerror());
    MUST(hog != NULL);
    CHECK_EQ(((int (*)(void))dlsym(hog, "hog_touch"))(), 8);
    void *lib = dlopen(getenv("VT_SO"), RTLD_NOW | RTLD_LOCAL);
    if (!lib) check_say("dlopen of the allocator: %s", dlerror());
    MUST(lib != NULL);
    take = (malloc_fn *)dlsym(lib, "malloc");
    drop = (free_fn *)dlsym(lib, "free");
    MUST(take && drop);
    user(NULL);
    for (uintptr_t i = 0; i < 4; i++)
        MUST(pthread_create(&id[i], NULL, user, (void *)(i + 1)) == 0);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(id[i], NULL), 0);
    return CHECK_DONE();
}
