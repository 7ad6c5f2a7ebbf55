/* risk_06_dlclose.c - libraries that allocate are loaded and unloaded while other threads allocate.
 *
 *     risk_06_dlclose PLUGIN1.so PLUGIN2.so
 *
 * The two land at the same address in turn, so anything the allocator remembers by code address
 * would speak of the wrong library. Blocks outlive the library that took them.
 */
#include "risk.h"

#include <link.h>
#include <stdatomic.h>

enum { N_WORKERS = 2, KEPT = 64 };
static atomic_int stop;

static void *worker(void *arg) {
    uint64_t rng = 3 + (uintptr_t)arg;
    unsigned char *kept[KEPT] = {NULL};
    while (!atomic_load(&stop)) {
        uint64_t r = next_random(&rng);
        unsigned char **slot = &kept[r % KEPT];
        free(*slot);
        *slot = malloc(16 + (r >> 8) % 4000);
        if (*slot) **slot = 1;
    }
    for (int i = 0; i < KEPT; i++) free(kept[i]);
    return NULL;
}

int main(int argc, char **argv) {
    long turns = soak(600, 30000), n_same = 0;
    uintptr_t last = 0;
    struct {
        unsigned char *p;
        size_t n;
    } kept[KEPT] = {{NULL, 0}};
    pthread_t id[N_WORKERS];
    require_preloaded();
    MUST(argc == 3);
    for (long i = 0; i < N_WORKERS; i++) MUST(pthread_create(&id[i], NULL, worker, (void *)i) == 0);
    for (long turn = 0; turn < turns; turn++) {
        struct link_map *map;
        void *lib = dlopen(argv[1 + turn % 2], RTLD_NOW | RTLD_LOCAL);
        MUST(lib != NULL);
        int (*plugin_id)(void) = (int (*)(void))dlsym(lib, "plugin_id");
        void *(*take)(size_t) = (void *(*)(size_t))dlsym(lib, "plugin_take");
        void (*drop)(void *) = (void (*)(void *))dlsym(lib, "plugin_drop");
        MUST(plugin_id() == 1 + turn % 2);
        MUST(dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0);
        n_same += map->l_addr == last;
        last = map->l_addr;
        size_t slot = (size_t)turn % KEPT;
        if (kept[slot].p)
            CHECK_EQ(intact(kept[slot].p, kept[slot].n, (unsigned)slot), kept[slot].n);
        drop(kept[slot].p); /* taken by a library that is gone */
        kept[slot].n = 1 + (size_t)(turn * 997) % 30000;
        kept[slot].p = take(kept[slot].n);
        MUST(kept[slot].p != NULL);
        fill(kept[slot].p, kept[slot].n, (unsigned)slot);
        MUST(dlclose(lib) == 0);
        if (turn == 0) MUST(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL); /* it does go away */
    }
    for (size_t i = 0; i < KEPT; i++) free(kept[i].p);
    atomic_store(&stop, 1);
    for (int i = 0; i < N_WORKERS; i++) CHECK_EQ(pthread_join(id[i], NULL), 0);
    check_say("%ld loads, %ld at the address of the other library", turns, n_same);
    CHECK_TRUE(n_same > turns / 10);
    return CHECK_DONE();
}
