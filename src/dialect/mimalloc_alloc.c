/* mimalloc_alloc.c - mi_malloc and its sisters, for the calling thread's default heap; the rules mimalloc has for them.
 *
 *   zeroed      the whole block, so that mi_rezalloc knows what is zero
 *   to size 0   a smallest block
 *   aligned at  see vt__mi_alloc_aligned
 *
 * Climate: malloc.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "dialect/mimalloc_impl.h"
#include "heap/class.h"
#include "heap/fast.h"
#include "heap/own_cache.h"
#include "os/os.h"

#define SLOW_CALLS 1000 /* between two calls of the registered function */
#define TRIES_MAX 64

__thread struct vt_own *vt__mi_default __attribute__((tls_model("initial-exec")));

/* ---- one block ---- */

VT_COLD static void call_deferred_free(void) {
    static _Atomic unsigned n_calls;
    if (atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed) % SLOW_CALLS == SLOW_CALLS - 1)
        vt__mi_deferred_free(/* force */ false);
}

void *vt__mi_malloc_slow(size_t n_bytes) {
    /* relaxed: whoever registers one may be noticed late */
    if (vt_unlikely(atomic_load_explicit(&vt__mi_deferred, memory_order_relaxed) != NULL))
        call_deferred_free();
    return vt__mi_default != NULL ? vt__mi_alloc(vt__mi_default, n_bytes, /* zero */ false)
                                  : vt__malloc_slow(n_bytes);
}

static void *told(void *p, size_t n_bytes) {
    if (vt_unlikely(p == NULL)) vt__mi_no_memory(n_bytes);
    return p;
}

/* Not in vt__mi_malloc_slow, which is counted (tests/cost). */
VT_NOINLINE void *vt__mi_alloc(struct vt_own *o, size_t n_bytes, bool zero) {
    if (o != NULL) return told(vt__own_alloc(o, VT_BLOCK_ALIGN, n_bytes, zero), n_bytes);
    return zero ? vt__calloc(1, n_bytes) : vt__malloc(n_bytes);
}

bool vt__mi_product(size_t n, size_t each_bytes, size_t *out) {
    if (!__builtin_mul_overflow(n, each_bytes, out)) return true;
    errno = ENOMEM;
    vt__mi_no_memory(SIZE_MAX);
    return false;
}

/* ---- aligned ---- */

static void *too_large(size_t n_bytes, size_t align) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: error: ");
    vt__text_put(&m.text, "aligned allocation request is too large (size ");
    vt__text_uint(&m.text, n_bytes);
    vt__text_put(&m.text, ", alignment ");
    vt__text_uint(&m.text, align);
    vt__text_put(&m.text, ")");
    vt__mi_error(&m, EOVERFLOW);
    errno = ENOMEM;
    return NULL;
}

static void *aligned(struct vt_own *o, size_t n_bytes, size_t align, bool zero) {
    if (align <= VT_BLOCK_ALIGN) return vt__mi_alloc(o, n_bytes, zero);
    if (o != NULL) return told(vt__own_alloc(o, align, n_bytes, zero), n_bytes);
    void *p = vt__aligned_alloc(align, n_bytes);
    if (p != NULL && zero) __builtin_memset(p, 0, vt__usable_size(p));
    return p;
}

/* A small block whose address leaves `rest` when divided by align, both multiples of 16. Blocks of an odd multiple of 16 bytes
 * leave every such rest in turn: some are taken until one does. NULL: none did. */
static void *small_with_rest(struct vt_own *o, size_t n_bytes, size_t align, size_t rest,
                             bool zero) {
    size_t size = vt_round_up(n_bytes + (n_bytes == 0), VT_BLOCK_ALIGN);
    void *wrong[TRIES_MAX], *p = NULL;
    unsigned n = 0;
    if (size % (2 * VT_BLOCK_ALIGN) == 0) size += VT_BLOCK_ALIGN;
    while (n < TRIES_MAX && (p = vt__mi_alloc(o, size, zero)) != NULL &&
           (uintptr_t)p % align != rest)
        wrong[n++] = p;
    if (n == TRIES_MAX) p = NULL;
    while (n > 0) vt__free(wrong[--n]);
    return p;
}

void *vt__mi_alloc_aligned(struct vt_own *o, size_t n_bytes, size_t align, size_t offset,
                           bool zero) {
    if (!vt_is_pow2(align)) {
        errno = EINVAL;
        return NULL;
    }
    if (n_bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2) return too_large(n_bytes, align);
    size_t rest = -offset & (align - 1);
    if (rest == 0) return aligned(o, n_bytes, align, zero);
    if (align > KiB(32)) return too_large(n_bytes, align); /* see vt__alloc_behind */
    void *p = NULL;
    if (rest % VT_BLOCK_ALIGN == 0 && n_bytes < VT_SMALL_MAX && align <= VT_SMALL_MAX)
        p = small_with_rest(o, n_bytes, align, rest, zero);
    if (p != NULL) return p;
    return o != NULL ? told(vt__own_alloc_behind(o, rest, n_bytes, zero), n_bytes)
                     : vt__alloc_behind(rest, n_bytes, zero);
}

/* ---- again ---- */

static void *moved(void *to, void *p, size_t old_bytes) {
    if (to == NULL) return NULL;
    __builtin_memcpy(to, p, vt_min(old_bytes, vt__usable_size(to)));
    vt__free(p);
    return to;
}

/* A block of this heap that stays where it is. It does not grow there: what it would get need not be zero. */
static bool fits(const struct vt_own *o, void *p, size_t usable, size_t n_bytes) {
    return n_bytes <= usable && vt__own_of(p) == o && vt__realloc_in_place(p, n_bytes);
}

void *vt__mi_realloc(struct vt_own *o, void *p, size_t n_bytes, bool zero) {
    if (p == NULL) return vt__mi_alloc(o, n_bytes, zero);
    if (o == NULL && !zero && n_bytes > 0) return vt__realloc(p, n_bytes);
    size_t usable = vt__usable_size(p);
    if (n_bytes > 0 && fits(o, p, usable, n_bytes)) return p;
    char *to = moved(vt__mi_alloc(o, n_bytes, zero), p, usable);
    if (to != NULL && n_bytes == 0) *to = 0;
    return to;
}

void *vt__mi_realloc_aligned(struct vt_own *o, void *p, size_t n_bytes, size_t align, size_t offset,
                             bool zero) {
    if (p == NULL) return vt__mi_alloc_aligned(o, n_bytes, align, offset, zero);
    size_t usable = vt__usable_size(p);
    bool is_aligned = vt_is_pow2(align) && (((uintptr_t)p + offset) & (align - 1)) == 0;
    if (is_aligned && n_bytes > 0 && fits(o, p, usable, n_bytes)) return p;
    return moved(vt__mi_alloc_aligned(o, n_bytes, align, offset, zero), p, usable);
}

/* ---- texts ---- */

char *vt__mi_strndup(struct vt_own *o, const char *s, size_t most) {
    size_t n = 0;
    if (s == NULL) return NULL;
    while (n < most && s[n] != '\0') n++;
    char *p = vt__mi_alloc(o, n + 1, /* zero */ false);
    if (p == NULL) return NULL;
    __builtin_memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

char *vt__mi_realpath(struct vt_own *o, const char *name, char *resolved) {
    char path[PATH_MAX];
    char *found = realpath(name, resolved != NULL ? resolved : path); /* allowed: host climate */
    if (found == NULL || resolved != NULL) return found;
    return vt__mi_strndup(o, path, PATH_MAX);
}

/* ---- by the names of C ---- */

void *vt__mi_plain_malloc(size_t n_bytes) {
    return vt__fast_malloc_or(n_bytes, vt__mi_malloc_slow);
}
void *vt__mi_plain_calloc(size_t n, size_t each_bytes) { return mi_calloc(n, each_bytes); }
void *vt__mi_plain_realloc(void *p, size_t n_bytes) { return mi_realloc(p, n_bytes); }
void *vt__mi_plain_aligned(size_t align, size_t n_bytes) {
    return aligned(vt__mi_default, n_bytes, align, /* zero */ false);
}

/* ---- by their own ---- */

VT_EXPORT void *mi_malloc(size_t size) { return vt__fast_malloc_or(size, vt__mi_malloc_slow); }
VT_EXPORT void *mi_malloc_small(size_t size) {
    return vt__fast_malloc_or(size, vt__mi_malloc_slow);
}
/* Blocks of the program's heaps are more frequent here than elsewhere: they are looked for first. */
VT_NOINLINE static void free_other(void *p, struct slab *s) {
    /* acquire: as in vt__free_other */
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
    if ((owner & (VT_OWNER_OWN | VT_OWNER_INNER)) == VT_OWNER_OWN &&
        atomic_load_explicit(&vt__watch, memory_order_relaxed) == 0)
        vt__own_cache_free(p, s, owner);
    else
        vt__free_other(p, s);
}
VT_EXPORT void mi_free(void *p) { vt__fast_free_or(p, free_other); }
VT_EXPORT void mi_free_small(void *p) { vt__fast_free_or(p, free_other); }

VT_EXPORT void *mi_zalloc(size_t size) { return vt__mi_alloc(vt__mi_default, size, true); }
VT_EXPORT void *mi_zalloc_small(size_t size) { return mi_zalloc(size); }

VT_EXPORT void *mi_calloc(size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_zalloc(n) : NULL;
}

VT_EXPORT void *mi_mallocn(size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_malloc(n) : NULL;
}

VT_EXPORT void *mi_realloc(void *p, size_t newsize) {
    return vt__mi_realloc(vt__mi_default, p, newsize, false);
}

VT_EXPORT void *mi_reallocn(void *p, size_t count, size_t size) {
    size_t n;
    return vt__mi_product(count, size, &n) ? mi_realloc(p, n) : NULL;
}

VT_EXPORT void *mi_reallocf(void *p, size_t newsize) {
    void *to = mi_realloc(p, newsize);
    if (to == NULL) vt__free(p);
    return to;
}

VT_EXPORT void *mi_rezalloc(void *p, size_t newsize) {
    return vt__mi_realloc(vt__mi_default, p, newsize, true);
}

VT_EXPORT void *mi_recalloc(void *p, size_t newcount, size_t size) {
    size_t n;
    return vt__mi_product(newcount, size, &n) ? mi_rezalloc(p, n) : NULL;
}

VT_EXPORT void *mi_expand(void *p, size_t newsize) {
    return p != NULL && newsize <= vt__usable_size(p) ? p : NULL;
}

VT_EXPORT char *mi_strdup(const char *s) { return vt__mi_strndup(vt__mi_default, s, SIZE_MAX); }
VT_EXPORT char *mi_strndup(const char *s, size_t n) { return vt__mi_strndup(vt__mi_default, s, n); }
VT_EXPORT char *mi_realpath(const char *fname, char *resolved_name) {
    return vt__mi_realpath(vt__mi_default, fname, resolved_name);
}

VT_EXPORT size_t mi_usable_size(const void *p) { return vt__usable_size(p); }

VT_EXPORT size_t mi_good_size(size_t size) {
    if (size > VT_MEDIUM_MAX) return size > PTRDIFF_MAX ? size : vt_round_up(size, VT_OS_PAGE);
    return vt__class_bytes(vt__class_of(size + (size == 0)));
}

#define WITHOUT_BRACES(...) __VA_ARGS__
#define FORM(name, params, call)                                                                   \
    VT_EXPORT void *mi_##name##_aligned_at(WITHOUT_BRACES params, size_t offset) {                 \
        struct vt_own *o = vt__mi_default;                                                         \
        VT_UNUSED size_t n;                                                                        \
        return call;                                                                               \
    }                                                                                              \
    VT_EXPORT void *mi_##name##_aligned params {                                                   \
        struct vt_own *o = vt__mi_default;                                                         \
        const size_t offset = 0;                                                                   \
        VT_UNUSED size_t n;                                                                        \
        return call;                                                                               \
    }
#include "dialect/mimalloc_aligned.def"

/* ---- with the block's size ---- */

static void *with_size(void *p, size_t *block_size) {
    if (block_size != NULL) *block_size = vt__usable_size(p);
    return p;
}

VT_EXPORT void *mi_umalloc(size_t size, size_t *block_size) {
    return with_size(mi_malloc(size), block_size);
}
VT_EXPORT void *mi_umalloc_small(size_t size, size_t *block_size) {
    return with_size(mi_malloc(size), block_size);
}
VT_EXPORT void *mi_uzalloc_small(size_t size, size_t *block_size) {
    return with_size(mi_zalloc(size), block_size);
}
VT_EXPORT void *mi_ucalloc(size_t count, size_t size, size_t *block_size) {
    return with_size(mi_calloc(count, size), block_size);
}
VT_EXPORT void *mi_umalloc_aligned(size_t size, size_t alignment, size_t *block_size) {
    return with_size(mi_malloc_aligned(size, alignment), block_size);
}
VT_EXPORT void *mi_uzalloc_aligned(size_t size, size_t alignment, size_t *block_size) {
    return with_size(mi_zalloc_aligned(size, alignment), block_size);
}
VT_EXPORT void *mi_urealloc(void *p, size_t newsize, size_t *pre, size_t *post) {
    (void)with_size(p, pre);
    return with_size(mi_realloc(p, newsize), post);
}
VT_EXPORT void mi_ufree(void *p, size_t *block_size) { vt__free(with_size(p, block_size)); }
