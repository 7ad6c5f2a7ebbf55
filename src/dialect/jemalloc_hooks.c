/* jemalloc_hooks.c - experimental.hooks.install: the program hears of every allocation. And the same hooks of the heap for junk:free.
 *
 * The heap tells that a block was made, freed or resized, not by which function: to the program all are malloc, free and realloc.
 * What a hook allocates itself it does not hear of.
 *
 * Climate: malloc where blocks are told, the nodes host.   Owns: the installed hooks.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "os/os.h"

struct installed { /* as the program has it */
    void (*alloc)(void *extra, int type, void *result, uintptr_t result_raw, uintptr_t args[3]);
    void (*dalloc)(void *extra, int type, void *address, uintptr_t args[3]);
    void (*expand)(void *extra, int type, void *address, size_t old_usable, size_t new_usable,
                   uintptr_t result_raw, uintptr_t args[4]);
    void *extra;
};
enum { BY_MALLOC = 0, BY_FREE = 0, BY_REALLOC = 0 }; /* the first of each of jemalloc's lists */

#define N_HOOKS 4
static struct installed installed[N_HOOKS];
static _Atomic uint8_t is_there[N_HOOKS]; /* 0 no, 1 it comes, 2 yes */

static bool is_called(unsigned i) {
    /* acquire: what it is; pairs with the release in write_hooks_install */
    return atomic_load_explicit(&is_there[i], memory_order_acquire) == 2;
}

static void allocated(const void *p, size_t n_bytes) {
    uintptr_t args[3] = {n_bytes, 0, 0};
    if (!vt__je_begin_telling()) return;
    for (unsigned i = 0; i < N_HOOKS; i++)
        if (is_called(i) && installed[i].alloc != NULL)
            installed[i].alloc(installed[i].extra, BY_MALLOC, (void *)(uintptr_t)p, (uintptr_t)p,
                               args);
    vt__je_end_telling();
}

static void freed(const void *p) {
    uintptr_t args[3] = {(uintptr_t)p, 0, 0};
    vt__je_fill_freed(p);
    if (p == NULL || !vt__je_begin_telling()) return;
    for (unsigned i = 0; i < N_HOOKS; i++)
        if (is_called(i) && installed[i].dalloc != NULL)
            installed[i].dalloc(installed[i].extra, BY_FREE, (void *)(uintptr_t)p, args);
    vt__je_end_telling();
}

/* What it had before is not known any more: 0. */
static void resized(const void *p, size_t n_bytes) {
    uintptr_t args[4] = {(uintptr_t)p, n_bytes, 0, 0};
    if (!vt__je_begin_telling()) return;
    for (unsigned i = 0; i < N_HOOKS; i++)
        if (is_called(i) && installed[i].expand != NULL)
            installed[i].expand(installed[i].extra, BY_REALLOC, (void *)(uintptr_t)p, 0,
                                vt__usable_size(p), (uintptr_t)p, args);
    vt__je_end_telling();
}

void vt__je_watch_blocks(void) {
    static const struct vt_heap_hooks hooks = {allocated, freed, resized};
    vt__heap_set_hooks(&hooks);
}

int vt__je_write_hooks_install(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp != sizeof(void *)) return EINVAL;
    if (c->newp == NULL || c->newlen != sizeof(struct installed)) return EINVAL;
    for (unsigned i = 0; i < N_HOOKS; i++) {
        uint8_t no = 0;
        if (!atomic_compare_exchange_strong(&is_there[i], &no, 1)) continue;
        const void *handle = &installed[i];
        __builtin_memcpy(&installed[i], c->newp, sizeof(installed[i]));
        atomic_store_explicit(&is_there[i], 2, memory_order_release);
        __builtin_memcpy(c->oldp, &handle, sizeof(handle));
        vt__je_watch_blocks();
        return 0;
    }
    return EAGAIN;
}

/* Blocks are told on, to nobody: who switches that off would have to know who else wants it. */
int vt__je_write_hooks_remove(const struct vt_je_call *c, uint64_t value) {
    if (!c->has_new || value == 0) return EINVAL;
    for (unsigned i = 0; i < N_HOOKS; i++)
        if ((uintptr_t)&installed[i] == value) atomic_store(&is_there[i], 0);
    return 0;
}

/* ---- experimental.thread.activity_callback: kept for the thread, and not called ---- */

struct activity {
    void (*callback)(void *context, uint64_t allocated, uint64_t deallocated);
    void *context;
};
static __thread struct activity activity __attribute__((tls_model("initial-exec")));

int vt__je_write_activity_callback(const struct vt_je_call *c, uint64_t value) {
    struct activity before = activity;
    (void)value;
    if (c->has_new && c->newlen != sizeof(activity)) return EINVAL;
    if (c->has_new) __builtin_memcpy(&activity, c->newp, sizeof(activity));
    return vt__je_store(c, &before, sizeof(before));
}
