/* risk_08_foreign.c - blocks of glibc's own malloc reach the preloaded free, realloc and
 * malloc_usable_size.
 *
 * They come from libc's symbols by handle, as from a library that was bound before the preload or
 * with deep binding: the main heap (brk), a mapped large block, and a second arena in another
 * thread. All three must be recognised and handed back to glibc, and the program goes on.
 */
#include "risk.h"

#include <gnu/libc-version.h>

static void *(*libc_malloc)(size_t);

static void cross(unsigned seed) {
    for (size_t n = 1; n < MiB(3); n = n * 2 + 5) {
        unsigned char *p = libc_malloc(n), *q = libc_malloc(n), *r = libc_malloc(n);
        MUST(p && q && r);
        fill(p, n, seed);
        fill(q, n, seed + 1);
        CHECK_GE(malloc_usable_size(p), n);
        unsigned char *moved = realloc(p, n * 2 + 10);
        MUST(moved != NULL);
        CHECK_EQ(intact(moved, n, seed), n);
        fill(moved, n * 2 + 10, seed);
        free(moved);
        CHECK_EQ(intact(q, n, seed + 1), n);
        free(q);
        free(r);
    }
}

static void *thread(void *arg) {
    cross((unsigned)(uintptr_t)arg);
    return NULL;
}

int main(void) {
    pthread_t id[2];
    require_preloaded();
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    MUST(libc != NULL);
    libc_malloc = (void *(*)(size_t))dlsym(libc, "malloc");
    MUST(libc_malloc != NULL && libc_malloc != malloc);
    cross(1);
    for (uintptr_t i = 0; i < 2; i++)
        MUST(pthread_create(&id[i], NULL, thread, (void *)(10 * i)) == 0);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(id[i], NULL), 0);
    return CHECK_DONE();
}
