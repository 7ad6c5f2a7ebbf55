/* jemalloc/jemalloc.h - the names by which programs know jemalloc 5. Link with -ljemalloc.
 *
 * docs/dialects.md tells which options and figures have a meaning here. Every function also has its name with je_ before it.
 */
#ifndef JEMALLOC_H_
#define JEMALLOC_H_

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#define JEMALLOC_VERSION "5.3.1-0-gvitrine"
#define JEMALLOC_VERSION_MAJOR 5
#define JEMALLOC_VERSION_MINOR 3
#define JEMALLOC_VERSION_BUGFIX 1
#define JEMALLOC_VERSION_NREV 0
#define JEMALLOC_VERSION_GID "vitrine"
#define JEMALLOC_VERSION_GID_IDENT vitrine

/* Flags of the ...allocx functions, to be or-ed: the alignment as its logarithm or as it is, zeroed memory, a thread cache, an
 * arena. */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a)                                                                           \
    ((int)((size_t)(a) < (size_t)INT_MAX ? ffs((int)(a)) - 1 : ffs((int)((size_t)(a) >> 32)) + 31))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE(tc) ((int)(((tc) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a) ((((int)(a)) + 1) << 20)

/* sizeof(void *), as a logarithm. */
#if UINTPTR_MAX > 0xffffffff
#define LG_SIZEOF_PTR 3
#else
#define LG_SIZEOF_PTR 2
#endif

/* In the place of an arena's number in a name of mallctl: all of them, those that were destroyed. */
#define MALLCTL_ARENAS_ALL 4096
#define MALLCTL_ARENAS_DESTROYED 4097

/* What the original declares its functions with; programs declare theirs with it, too. */
#define JEMALLOC_HAVE_ATTR
#define JEMALLOC_HAVE_ATTR_ALLOC_SIZE
#define JEMALLOC_HAVE_ATTR_COLD
#define JEMALLOC_HAVE_ATTR_DEPRECATED
#define JEMALLOC_HAVE_ATTR_FALLTHROUGH
#define JEMALLOC_HAVE_ATTR_FORMAT_ARG
#define JEMALLOC_HAVE_ATTR_FORMAT_GNU_PRINTF
#define JEMALLOC_HAVE_ATTR_FORMAT_PRINTF
#define JEMALLOC_OVERRIDE_MEMALIGN
#define JEMALLOC_OVERRIDE_PVALLOC
#define JEMALLOC_OVERRIDE_VALLOC
#define JEMALLOC_CONFIG_ENV
#define JEMALLOC_CONFIG_FILE
#define JEMALLOC_USE_CXX_THROW
#define JEMALLOC_USABLE_SIZE_CONST
#define JEMALLOC_ALLOCATOR
#define JEMALLOC_RESTRICT_RETURN
#define JEMALLOC_ATTR(s) __attribute__((s))
#define JEMALLOC_ALIGNED(s) JEMALLOC_ATTR(aligned(s))
#define JEMALLOC_ALLOC_SIZE(s) JEMALLOC_ATTR(alloc_size(s))
#define JEMALLOC_ALLOC_SIZE2(s1, s2) JEMALLOC_ATTR(alloc_size(s1, s2))
#define JEMALLOC_COLD JEMALLOC_ATTR(__cold__)
#ifndef JEMALLOC_EXPORT
#define JEMALLOC_EXPORT JEMALLOC_ATTR(visibility("default"))
#endif
#define JEMALLOC_FALLTHROUGH JEMALLOC_ATTR(fallthrough)
#define JEMALLOC_FORMAT_ARG(i) JEMALLOC_ATTR(__format_arg__(i))
#ifdef __clang__
#define JEMALLOC_FORMAT_PRINTF(s, i) JEMALLOC_ATTR(format(printf, s, i))
#else
#define JEMALLOC_FORMAT_PRINTF(s, i) JEMALLOC_ATTR(format(gnu_printf, s, i))
#endif
#define JEMALLOC_NOINLINE JEMALLOC_ATTR(noinline)
#define JEMALLOC_NOTHROW JEMALLOC_ATTR(nothrow)
#define JEMALLOC_SECTION(s) JEMALLOC_ATTR(section(s))
#define JEMALLOC_SYS_NOTHROW JEMALLOC_NOTHROW
#define JEMALLOC_WARN_ON_USAGE(warning_message) JEMALLOC_ATTR(deprecated(warning_message))
/* Behind the parameters, as libc has it. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define JEMALLOC_CXX_THROW noexcept(true)
#elif defined(__cplusplus)
#define JEMALLOC_CXX_THROW throw()
#else
#define JEMALLOC_CXX_THROW
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Options "key:value,key:value" that the program itself sets, by defining this variable with a value. */
extern const char *malloc_conf;
extern const char *malloc_conf_2_conf_harder; /* the same, and MALLOC_CONF does not override it */
/* Where messages go; NULL: to stderr. */
extern void (*malloc_message)(void *opaque, const char *s);

/* stdlib.h has some of these, for some standards. NOLINTBEGIN(readability-redundant-declaration) */
void *malloc(size_t size) JEMALLOC_CXX_THROW;
void *calloc(size_t num, size_t size) JEMALLOC_CXX_THROW;
int posix_memalign(void **memptr, size_t alignment, size_t size) JEMALLOC_CXX_THROW;
void *aligned_alloc(size_t alignment, size_t size) JEMALLOC_CXX_THROW;
void *realloc(void *ptr, size_t size) JEMALLOC_CXX_THROW;
void free(void *ptr) JEMALLOC_CXX_THROW;
void free_sized(void *ptr, size_t size) JEMALLOC_CXX_THROW;
void free_aligned_sized(void *ptr, size_t alignment, size_t size) JEMALLOC_CXX_THROW;
void *memalign(size_t alignment, size_t size) JEMALLOC_CXX_THROW;
void *valloc(size_t size) JEMALLOC_CXX_THROW;
void *pvalloc(size_t size) JEMALLOC_CXX_THROW;
size_t malloc_usable_size(void *ptr) JEMALLOC_CXX_THROW; /* 0 for NULL */
/* NOLINTEND(readability-redundant-declaration) */

void *mallocx(size_t size, int flags) JEMALLOC_CXX_THROW; /* NULL: no memory */
void *rallocx(void *ptr, size_t size, int flags) JEMALLOC_CXX_THROW;
/* Where it is: to size + extra bytes if possible. Returns what it has then, which may be less than size. */
size_t xallocx(void *ptr, size_t size, size_t extra, int flags) JEMALLOC_CXX_THROW;
size_t sallocx(const void *ptr, int flags) JEMALLOC_CXX_THROW; /* what it has */
void dallocx(void *ptr, int flags) JEMALLOC_CXX_THROW;
void sdallocx(void *ptr, size_t size, int flags) JEMALLOC_CXX_THROW;
size_t nallocx(size_t size,
               int flags) JEMALLOC_CXX_THROW; /* what mallocx would give; 0: too large */

/* Read and write what has a name, "stats.allocated" for one. 0 or an error of errno.h: ENOENT, EINVAL (a length), EPERM, EAGAIN,
 * EFAULT. */
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp,
            size_t newlen) JEMALLOC_CXX_THROW;
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp) JEMALLOC_CXX_THROW;
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp,
                 size_t newlen) JEMALLOC_CXX_THROW;

/* Statistics to a function, or to where messages go. Letters in opts: J for JSON; the others leave parts out: g m d a b l x e h */
void malloc_stats_print(void (*write_cb)(void *opaque, const char *s), void *cbopaque,
                        const char *opts) JEMALLOC_CXX_THROW;

/* The same with je_ before the name. */
#define JEMALLOC_ALSO(name) extern __typeof__(name) je_##name
JEMALLOC_ALSO(malloc);
JEMALLOC_ALSO(calloc);
JEMALLOC_ALSO(posix_memalign);
JEMALLOC_ALSO(aligned_alloc);
JEMALLOC_ALSO(realloc);
JEMALLOC_ALSO(free);
JEMALLOC_ALSO(free_sized);
JEMALLOC_ALSO(free_aligned_sized);
JEMALLOC_ALSO(memalign);
JEMALLOC_ALSO(valloc);
JEMALLOC_ALSO(pvalloc);
JEMALLOC_ALSO(malloc_usable_size);
JEMALLOC_ALSO(mallocx);
JEMALLOC_ALSO(rallocx);
JEMALLOC_ALSO(xallocx);
JEMALLOC_ALSO(sallocx);
JEMALLOC_ALSO(dallocx);
JEMALLOC_ALSO(sdallocx);
JEMALLOC_ALSO(nallocx);
JEMALLOC_ALSO(mallctl);
JEMALLOC_ALSO(mallctlnametomib);
JEMALLOC_ALSO(mallctlbymib);
JEMALLOC_ALSO(malloc_stats_print);
#undef JEMALLOC_ALSO
extern const char *je_malloc_conf;
extern void (*je_malloc_message)(void *opaque, const char *s);

/* What an arena takes its memory by, but for arena 0, whose hooks are kept and never called. They are called with no lock held and may
 * allocate. False means success, but for alloc. docs/decisions/extents.md has which is called, when. */
typedef struct extent_hooks_s extent_hooks_t;
typedef void *(extent_alloc_t)(extent_hooks_t *hooks, void *new_addr, size_t size, size_t alignment,
                               bool *zero, bool *commit, unsigned arena_ind);
typedef bool(extent_dalloc_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed,
                              unsigned arena_ind);
typedef void(extent_destroy_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed,
                               unsigned arena_ind);
typedef bool(extent_commit_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset,
                              size_t length, unsigned arena_ind);
typedef bool(extent_decommit_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset,
                                size_t length, unsigned arena_ind);
typedef bool(extent_purge_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset,
                             size_t length, unsigned arena_ind);
typedef bool(extent_split_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t size_a,
                             size_t size_b, bool committed, unsigned arena_ind);
typedef bool(extent_merge_t)(extent_hooks_t *hooks, void *addr_a, size_t size_a, void *addr_b,
                             size_t size_b, bool committed, unsigned arena_ind);
struct extent_hooks_s {
    extent_alloc_t *alloc;
    extent_dalloc_t *dalloc;
    extent_destroy_t *destroy;
    extent_commit_t *commit;
    extent_decommit_t *decommit;
    extent_purge_t *purge_lazy;
    extent_purge_t *purge_forced;
    extent_split_t *split;
    extent_merge_t *merge;
};

#ifdef __cplusplus
}
#endif

#endif
