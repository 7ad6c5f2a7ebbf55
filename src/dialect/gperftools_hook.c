/* gperftools_hook.c - functions of the program's that are called at each malloc and free, malloc_hook_c.h.
 *
 * While there is one, the heap's fast paths are cut, as they are for exact mode, and every call is told here. While there is none,
 * nothing is paid. The hooks for mmap and sbrk are kept and not called, as in gperftools since 2.11.
 *
 * Climate: malloc; setting host.   Owns: the lists.   Locks: none.
 */
#include "compat/gperftools/malloc_hook_c.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/base.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "os/os.h"
#include "stack/stack.h"

typedef void any_hook(void);

#define N_HOOKS 7 /* of a kind; one more was set by Set...Hook */
struct list {
    _Atomic(any_hook *) hook[N_HOOKS + 1];
};
#define SET_ONE N_HOOKS

enum kind { NEW, DELETE, PRE_MMAP, MMAP, MUNMAP, MREMAP, PRE_SBRK, SBRK, N_KINDS };
static struct list lists[N_KINDS];

/* ---- what the heap tells ---- */

static void call_new(const void *p, size_t n_bytes) {
    for (unsigned i = 0; i <= N_HOOKS; i++) {
        any_hook *h = atomic_load_explicit(&lists[NEW].hook[i], memory_order_acquire);
        if (h != NULL) ((MallocHook_NewHook)h)(p, n_bytes);
    }
}

static void call_delete(const void *p) {
    for (unsigned i = 0; i <= N_HOOKS; i++) {
        any_hook *h = atomic_load_explicit(&lists[DELETE].hook[i], memory_order_acquire);
        if (h != NULL) ((MallocHook_DeleteHook)h)(p);
    }
}

static bool is_empty(const struct list *l) {
    for (unsigned i = 0; i <= N_HOOKS; i++)
        if (atomic_load_explicit(&l->hook[i], memory_order_relaxed) != NULL) return false;
    return true;
}

static void watch_if_needed(void) {
    static const struct vt_heap_hooks hooks = {call_new, call_delete, NULL};
    bool is_needed = !is_empty(&lists[NEW]) || !is_empty(&lists[DELETE]);
    if (vt__life_start() == 0) vt__debug_set_hooks(is_needed ? &hooks : NULL);
}

/* ---- lists ---- */

static int add(enum kind kind, any_hook *hook) {
    if (hook == NULL) return 0;
    for (unsigned i = 0; i < N_HOOKS; i++) {
        any_hook *none = NULL;
        /* release: what the program wrote before it added the hook; pairs with the acquire where it is called */
        if (!atomic_compare_exchange_strong_explicit(&lists[kind].hook[i], &none, hook,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue;
        watch_if_needed();
        return 1;
    }
    return 0;
}

static int take_out(enum kind kind, any_hook *hook) {
    if (hook == NULL) return 0;
    for (unsigned i = 0; i < N_HOOKS; i++) {
        any_hook *it = hook;
        if (!atomic_compare_exchange_strong(&lists[kind].hook[i], &it, NULL)) continue;
        watch_if_needed();
        return 1;
    }
    return 0;
}

static any_hook *set(enum kind kind, any_hook *hook) {
    any_hook *before = atomic_exchange(&lists[kind].hook[SET_ONE], hook);
    watch_if_needed();
    return before;
}

#define HOOK(name, kind)                                                                           \
    VT_EXPORT int MallocHook_Add##name(MallocHook_##name hook) {                                   \
        return add(kind, (any_hook *)hook);                                                        \
    }                                                                                              \
    VT_EXPORT int MallocHook_Remove##name(MallocHook_##name hook) {                                \
        return take_out(kind, (any_hook *)hook);                                                   \
    }                                                                                              \
    VT_EXPORT MallocHook_##name MallocHook_Set##name(MallocHook_##name hook) {                     \
        return (MallocHook_##name)set(kind, (any_hook *)hook);                                     \
    }
HOOK(NewHook, NEW)
HOOK(DeleteHook, DELETE)
HOOK(PreMmapHook, PRE_MMAP)
HOOK(MmapHook, MMAP)
HOOK(MunmapHook, MUNMAP)
HOOK(MremapHook, MREMAP)
HOOK(PreSbrkHook, PRE_SBRK)
HOOK(SbrkHook, SBRK)

#define REPLACEMENT(name)                                                                          \
    VT_EXPORT int MallocHook_Set##name(MallocHook_##name hook) {                                   \
        (void)hook;                                                                                \
        return 0;                                                                                  \
    }                                                                                              \
    VT_EXPORT int MallocHook_Remove##name(MallocHook_##name hook) {                                \
        (void)hook;                                                                                \
        return 0;                                                                                  \
    }
REPLACEMENT(MmapReplacement)
REPLACEMENT(MunmapReplacement)

/* ---- for hooks ---- */

/* The hook, whatever it was called through, our own frames, and then who called malloc. The minimal libraries answer 0, as there. */
VT_EXPORT int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count) {
    struct vt_frames frames;
    unsigned i = 0;
    int n = 0;
    if (!vt__gperftools.has_sampler) return 0;
    vt__stack_here(&frames);
    while (i < frames.n && !vt__is_own(frames.pc[i])) i++;
    while (i < frames.n && vt__is_own(frames.pc[i])) i++;
    for (i += (unsigned)vt_max((size_t)skip_count, 0); i < frames.n && n < max_depth; i++)
        result[n++] = (void *)frames.pc[i];
    return n;
}

VT_EXPORT void *unhooked_mmap(void *at, size_t n_bytes, int prot, int flags, int fd,
                              off_t offset) __asm__("_ZN10MallocHook12UnhookedMMapEPvmiiil");
VT_EXPORT void *unhooked_mmap(void *at, size_t n_bytes, int prot, int flags, int fd, off_t offset) {
    void *got = NULL;
    int err = vt__os_program_mmap(at, n_bytes, prot, flags, fd, offset, &got);
    if (err == 0) return got;
    errno = -err;
    return MAP_FAILED;
}

VT_EXPORT int unhooked_munmap(void *at,
                              size_t n_bytes) __asm__("_ZN10MallocHook14UnhookedMUnmapEPvm");
VT_EXPORT int unhooked_munmap(void *at, size_t n_bytes) {
    int err = vt__os_program_munmap(at, n_bytes);
    if (err == 0) return 0;
    errno = -err;
    return -1;
}
