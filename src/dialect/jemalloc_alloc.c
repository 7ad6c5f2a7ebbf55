/* jemalloc_alloc.c - mallocx and its sisters, names with je_, the variables of the program's. Translation, no logic.
 *
 * Flags name an alignment, zeroed memory, a cache, which says nothing here, and an arena. What is called malloc, free and so on
 * below is jemalloc_names.c's: the file is compiled with the same names as libc.c. Climate: malloc.
 */
#include <errno.h>
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/jemalloc.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

VT_EXPORT __attribute__((weak)) const char *malloc_conf;
VT_EXPORT __attribute__((weak)) const char *je_malloc_conf;
VT_EXPORT __attribute__((weak)) const char *malloc_conf_2_conf_harder;
VT_EXPORT void (*malloc_message)(void *opaque, const char *s);
VT_EXPORT void (*je_malloc_message)(void *opaque, const char *s);

/* Sizes above it always fail. */
#define LARGEST UINT64_C(0x7000000000000000)

#define CACHE_BITS 0xfff00u
#define ARENA_SHIFT 20 /* the number plus one; 0: none is named */

static size_t align_of(int flags) { return (size_t)1 << (flags & 63); }
static bool is_zeroed(int flags) { return (flags & MALLOCX_ZERO) != 0; }

/* False: there is no such arena. */
static bool heap_of(int flags, struct vt_own **out) {
    unsigned arena = vt__je_is_in_hook() ? 0 : (unsigned)flags >> ARENA_SHIFT;
    if (arena != 0) return vt__je_arena_heap(arena - 1, out);
    *out = vt__je_is_special() ? vt__je_thread_heap() : NULL;
    return true;
}

/* ---- allocation ---- */

static void *no_such_arena(void) {
    errno = ENOMEM;
    return NULL;
}

VT_NOINLINE static void *mallocx_with(size_t size, int flags) {
    struct vt_own *heap;
    void *p = heap_of(flags, &heap) ? vt__je_alloc_in(heap, align_of(flags), size, is_zeroed(flags))
                                    : no_such_arena();
    return vt__je_is_special() ? vt__je_given(p, is_zeroed(flags), "in mallocx()") : p;
}

VT_EXPORT void *mallocx(size_t size, int flags) {
    if (vt_likely(((unsigned)flags & ~CACHE_BITS) == 0)) return vt__fast_malloc(size);
    return mallocx_with(size, flags);
}

VT_EXPORT void *rallocx(void *p, size_t size, int flags) {
    struct vt_own *heap;
    size_t before = vt__usable_size(p);
    bool is_plain = align_of(flags) <= VT_BLOCK_ALIGN && (unsigned)flags >> ARENA_SHIFT == 0;
    void *to = is_plain && size > VT_MEDIUM_MAX ? vt__je_realloc_for(p, size, "in rallocx()")
               : heap_of(flags, &heap)          ? vt__je_realloc_in(heap, p, align_of(flags), size)
                                                : no_such_arena();
    if (vt__je_is_special()) to = vt__je_grown(to, before, "in rallocx()");
    size_t after = vt__usable_size(to);
    if (to != NULL && is_zeroed(flags) && after > before)
        __builtin_memset((char *)to + before, 0, after - before);
    return to;
}

VT_EXPORT size_t xallocx(void *p, size_t size, size_t extra, int flags) {
    size_t before = vt__usable_size(p);
    size_t most = extra > LARGEST - vt_min(size, LARGEST) ? LARGEST : size + extra;
    if (!vt__resize_in_place(p, most) && extra > 0) (void)vt__resize_in_place(p, size);
    if (vt__je_is_special()) (void)vt__je_grown(p, before, "in xallocx()");
    size_t after = vt__usable_size(p);
    if (after != before) vt__heap_count_again(vt_min(before, after));
    if (is_zeroed(flags) && after > before) __builtin_memset((char *)p + before, 0, after - before);
    return after;
}

VT_EXPORT size_t sallocx(const void *p, int flags) {
    (void)flags;
    return vt__usable_size(p);
}

VT_EXPORT void dallocx(void *p, int flags) {
    (void)flags;
    vt__fast_free(p);
}

void vt__free_sized(void *p, size_t n_bytes) { /* renamed, so that vt__fast_free is ours in it */
    (void)n_bytes;
    vt__fast_free(p);
}

VT_EXPORT void sdallocx(void *p, size_t size, int flags) {
    (void)flags, (void)size;
    vt__fast_free(p);
}

VT_EXPORT size_t nallocx(size_t size, int flags) {
    if (vt__life_start() != 0 || size > LARGEST) return 0;
    return vt__good_size(align_of(flags), size);
}

/* ---- realloc(p, 0) ---- */

static _Atomic uint64_t n_zero_reallocs;

void *vt__jemalloc_realloc_0(void *p) {
    enum { GIVES_BLOCK, FREES, ABORTS };
    atomic_fetch_add_explicit(&n_zero_reallocs, 1, memory_order_relaxed);
    if (vt_je(zero_realloc) == GIVES_BLOCK) return vt__realloc(p, 1);
    if (vt_je(zero_realloc) == ABORTS) {
        vt__je_say("Called realloc(non-null-ptr, 0) with zero_realloc:abort set", "", "");
        vt__os_abort();
    }
    vt__fast_free(p);
    return NULL;
}

uint64_t vt__je_zero_reallocs(void) {
    return atomic_load_explicit(&n_zero_reallocs, memory_order_relaxed);
}

/* ---- the same with je_ ---- */

VT_EXPORT void *je_malloc(size_t size) { return vt__fast_malloc(size); }
VT_EXPORT void *je_calloc(size_t n, size_t each) { return vt__calloc(n, each); }
VT_EXPORT void *je_realloc(void *p, size_t size) { return vt__realloc(p, size); }
VT_EXPORT void je_free(void *p) { vt__fast_free(p); }
VT_EXPORT void je_free_sized(void *p, size_t size) { vt__free_sized(p, size); }

#define SAME(type, name, parameters, arguments)                                                    \
    VT_EXPORT type je_##name parameters { return name arguments; }                                 \
    _Static_assert(true, "takes a semicolon")
SAME(int, posix_memalign, (void **out, size_t align, size_t size), (out, align, size));
SAME(void *, aligned_alloc, (size_t align, size_t size), (align, size)); /* allowed: one of ours */
SAME(void *, memalign, (size_t align, size_t size), (align, size));
SAME(void *, valloc, (size_t size), (size));
SAME(void *, pvalloc, (size_t size), (size));
SAME(size_t, malloc_usable_size, (void *p), (p));
SAME(void *, mallocx, (size_t size, int flags), (size, flags));
SAME(void *, rallocx, (void *p, size_t size, int flags), (p, size, flags));
SAME(size_t, xallocx, (void *p, size_t size, size_t extra, int flags), (p, size, extra, flags));
SAME(size_t, sallocx, (const void *p, int flags), (p, flags));
SAME(size_t, nallocx, (size_t size, int flags), (size, flags));
SAME(int, mallctl, (const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen),
     (name, oldp, oldlenp, newp, newlen));
SAME(int, mallctlnametomib, (const char *name, size_t *mib, size_t *miblen), (name, mib, miblen));
SAME(int, mallctlbymib,
     (const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen),
     (mib, miblen, oldp, oldlenp, newp, newlen));

VT_EXPORT void je_free_aligned_sized(void *p, size_t align, size_t size) {
    free_aligned_sized(p, align, size);
}
VT_EXPORT void je_dallocx(void *p, int flags) { dallocx(p, flags); }
VT_EXPORT void je_sdallocx(void *p, size_t size, int flags) { sdallocx(p, size, flags); }
VT_EXPORT void je_malloc_stats_print(void (*write_cb)(void *, const char *), void *opaque,
                                     const char *opts) {
    malloc_stats_print(write_cb, opaque, opts);
}
