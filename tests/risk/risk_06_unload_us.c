/* risk_06_unload_us.c - the allocator itself is closed by dlclose and must stay.
 *
 * Run without LD_PRELOAD. A thread used it, so its pthread key has a destructor in the library;
 * when that thread ends after dlclose, the code must still be there. So must the blocks.
 */
#include "risk.h"

typedef void *malloc_fn(size_t);
typedef void free_fn(void *);
struct hands {
    malloc_fn *take;
    free_fn *drop;
    pthread_barrier_t used, closed;
};

static void *user(void *arg) {
    struct hands *h = arg;
    void *p = h->take(100), *q = h->take(70000);
    pthread_barrier_wait(&h->used);
    pthread_barrier_wait(&h->closed); /* the library was closed meanwhile */
    h->drop(p);
    h->drop(q);
    h->drop(h->take(33));
    return NULL; /* the allocator's destructor runs now */
}

int main(void) {
    const char *so = getenv("VT_SO");
    pthread_t id;
    void *lib = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!lib) check_say("dlopen: %s", dlerror());
    MUST(lib != NULL);
    struct hands h = {.take = (malloc_fn *)dlsym(lib, "malloc"),
                      .drop = (free_fn *)dlsym(lib, "free")};
    MUST(h.take != NULL && h.drop != NULL && h.take != malloc);
    MUST(pthread_barrier_init(&h.used, NULL, 2) == 0 &&
         pthread_barrier_init(&h.closed, NULL, 2) == 0);
    unsigned char *block = h.take(1000);
    MUST(block != NULL);
    fill(block, 1000, 5);
    MUST(pthread_create(&id, NULL, user, &h) == 0);
    pthread_barrier_wait(&h.used);
    CHECK_EQ(dlclose(lib), 0);
    void *again = dlopen(so, RTLD_NOW | RTLD_NOLOAD);
    MUST(again != NULL); /* still loaded although nobody holds it */
    dlclose(again);
    pthread_barrier_wait(&h.closed);
    CHECK_EQ(pthread_join(id, NULL), 0);
    CHECK_EQ(intact(block, 1000, 5), 1000);
    h.drop(block);
    return CHECK_DONE();
}
