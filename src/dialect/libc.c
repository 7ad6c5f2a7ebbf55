/* libc.c - the malloc family by the names of the C library. All in one object: a static glibc can be linked only when
 * the whole family is replaced at once.
 *
 * Translation, no logic: argument rules and errno here, memory in heap/.
 * Climate: malloc, but for malloc_info and malloc_stats (host).
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "dialect/blocks.h"
#include "dump/stats.h"
#include "heap/heap.h"
#include "life/upcalls.h"
#include "os/os.h"

#if defined(__clang__)
#define ALIAS_OF(name) __attribute__((alias(#name), visibility("default")))
#else
#define ALIAS_OF(name) __attribute__((alias(#name), visibility("default"), copy(name)))
#endif

/* In no header of glibc 2.36: cfree went out of it in 2.26, C23's two are newer. */
void cfree(void *p);
void free_sized(void *p, size_t n_bytes);
void free_aligned_sized(void *p, size_t align, size_t n_bytes);
#if !defined(__GLIBC__)
void *pvalloc(size_t n_bytes);
int mallopt(int param, int value);
int malloc_trim(size_t pad);
#endif

VT_EXPORT void *malloc(size_t n_bytes) { return block_alloc(n_bytes, VT_MADE_BY_MALLOC); }

VT_EXPORT void free(void *p) { block_free(p, VT_MADE_BY_MALLOC); }

VT_EXPORT void *calloc(size_t n, size_t each_bytes) { return block_calloc(n, each_bytes); }

VT_EXPORT void *realloc(void *p, size_t n_bytes) { return block_realloc(p, n_bytes); }

VT_EXPORT void *reallocarray(void *p, size_t n, size_t each_bytes) {
    size_t n_bytes;
    if (__builtin_mul_overflow(n, each_bytes, &n_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return block_realloc(p, n_bytes);
}

/* glibc's memalign takes any alignment and rounds it up to a power of two. */
VT_EXPORT void *memalign(size_t align, size_t n_bytes) {
    if (align > PTRDIFF_MAX) {
        errno = EINVAL;
        return NULL;
    }
    if (!vt_is_pow2(align)) align = align == 0 ? VT_BLOCK_ALIGN : (size_t)2 << vt_log2(align);
    return block_aligned(align, n_bytes, VT_MADE_BY_MALLOC);
}

VT_EXPORT void *aligned_alloc(size_t align, size_t n_bytes) {
    if (!vt_is_pow2(align)) {
        errno = EINVAL;
        return NULL;
    }
    return block_aligned(align, n_bytes, VT_MADE_BY_MALLOC);
}

VT_EXPORT int posix_memalign(void **out, size_t align, size_t n_bytes) {
    if (!vt_is_pow2(align) || align % sizeof(void *) != 0) return EINVAL;
    int saved = errno; /* the error is the return value; errno stays */
    void *p = block_aligned(align, n_bytes, VT_MADE_BY_MALLOC);
    errno = saved;
    if (p == NULL) return ENOMEM;
    *out = p;
    return 0;
}

VT_EXPORT void *valloc(size_t n_bytes) {
    return block_aligned(VT_OS_PAGE, n_bytes, VT_MADE_BY_MALLOC);
}

VT_EXPORT void *pvalloc(size_t n_bytes) {
    if (n_bytes > PTRDIFF_MAX) {
        errno = ENOMEM;
        return NULL;
    }
    return block_aligned(VT_OS_PAGE, vt_round_up(vt_max(n_bytes, 1), VT_OS_PAGE),
                         VT_MADE_BY_MALLOC);
}

VT_EXPORT size_t malloc_usable_size(void *p) { return block_size(p); }

VT_EXPORT void cfree(void *p) { block_free(p, VT_MADE_BY_MALLOC); }

VT_EXPORT void free_sized(void *p, size_t n_bytes) {
    block_free_sized(p, /* align */ 1, n_bytes, VT_MADE_BY_MALLOC);
}

VT_EXPORT void free_aligned_sized(void *p, size_t align, size_t n_bytes) {
    block_free_sized(p, align, n_bytes, VT_MADE_BY_MALLOC);
}

/* ---- asking and tuning ---- */

VT_EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    return vt__heap_release_all() > 0;
}

/* glibc's knobs turn nothing here; 1 means accepted, and programs test for it. */
VT_EXPORT int mallopt(int param, int value) {
    (void)param, (void)value;
    return 1;
}

#if defined(__GLIBC__) /* musl has none of these */
#define SHORT_WALK 256 /* slabs: a program of up to 8 MiB */

VT_EXPORT struct mallinfo2 mallinfo2(void) {
    struct vt_stats s = {.size = sizeof(s)};
    vt__heap_sums(&s, SHORT_WALK);
    return (struct mallinfo2){
        .arena = s.active - vt_min(s.active, s.large),
        .ordblks = s.n_heaps,
        .hblks = s.n_large,
        .hblkhd = s.large,
        .uordblks = s.allocated - s.large,
        .fordblks = s.cached + s.fragmented + s.retained,
        .keepcost = s.retained,
    };
}

VT_EXPORT struct mallinfo mallinfo(void) {
    struct mallinfo2 m = mallinfo2();
    return (struct mallinfo){
        .arena = (int)m.arena,
        .ordblks = (int)m.ordblks,
        .hblks = (int)m.hblks,
        .hblkhd = (int)m.hblkhd,
        .uordblks = (int)m.uordblks,
        .fordblks = (int)m.fordblks,
        .keepcost = (int)m.keepcost,
    };
}

VT_EXPORT void malloc_stats(void) {
    if (vt__door.write_stats != NULL)
        vt__door.write_stats(2, 1);
    else
        vt__stats_write_fd(2, VT_TEXT_FORMAT);
}

VT_EXPORT int malloc_info(int options, FILE *out) {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    struct mallinfo2 m = mallinfo2();
    int n =
        fprintf(out, /* allowed: the caller's stream is the interface */
                "<malloc version=\"1\">\n"
                "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n"
                "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
                "<system type=\"current\" size=\"%zu\"/>\n"
                "<aspace type=\"total\" size=\"%zu\"/>\n"
                "</malloc>\n",
                m.ordblks, m.fordblks, m.hblks, m.hblkhd, m.arena + m.hblkhd, m.arena + m.hblkhd);
    return n < 0 ? -1 : 0;
}
#endif

/* ---- glibc's second names ---- */

ALIAS_OF(malloc) void *__libc_malloc(size_t n_bytes);
ALIAS_OF(free) void __libc_free(void *p);
ALIAS_OF(calloc) void *__libc_calloc(size_t n, size_t each_bytes);
ALIAS_OF(realloc) void *__libc_realloc(void *p, size_t n_bytes);
ALIAS_OF(memalign) void *__libc_memalign(size_t align, size_t n_bytes);
ALIAS_OF(valloc) void *__libc_valloc(size_t n_bytes);
ALIAS_OF(pvalloc) void *__libc_pvalloc(size_t n_bytes);
ALIAS_OF(cfree) void __libc_cfree(void *p);
ALIAS_OF(posix_memalign) int __posix_memalign(void **out, size_t align, size_t n_bytes);
