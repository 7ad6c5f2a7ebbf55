/* mimalloc_names.c - what other systems and C++ call malloc's kind, with mi_ before it; and the names that libmimalloc has without
 * it beside those of libc.c. Climate: malloc. */
#include <errno.h>
#include <stdlib.h>

#include "dialect/mimalloc_impl.h"
#include "heap/fast.h"
#include "os/os.h"

VT_EXPORT void mi_cfree(void *p) {
    if (vt__heap_owns(p)) vt__free(p);
}
VT_EXPORT void *mi__expand(void *p, size_t newsize) {
    void *same = mi_expand(p, newsize);
    if (same == NULL) errno = ENOMEM;
    return same;
}
VT_EXPORT size_t mi_malloc_size(const void *p) { return vt__usable_size(p); }
VT_EXPORT size_t mi_malloc_usable_size(const void *p) { return vt__usable_size(p); }
VT_EXPORT size_t mi_malloc_good_size(size_t size) { return mi_good_size(size); }

VT_EXPORT int mi_posix_memalign(void **out, size_t alignment, size_t size) {
    if (out == NULL || !vt_is_pow2(alignment) || alignment % sizeof(void *) != 0) return EINVAL;
    int saved = errno;
    void *p = mi_malloc_aligned(size, alignment);
    errno = saved;
    if (p == NULL) return ENOMEM;
    *out = p;
    return 0;
}
VT_EXPORT void *mi_memalign(size_t alignment, size_t size) {
    return mi_malloc_aligned(size, alignment);
}
VT_EXPORT void *mi_aligned_alloc(size_t alignment, size_t size) {
    return mi_malloc_aligned(size, alignment);
}
VT_EXPORT void *mi_valloc(size_t size) { return mi_malloc_aligned(size, VT_OS_PAGE); }
VT_EXPORT void *mi_pvalloc(size_t size) {
    if (size > PTRDIFF_MAX) return mi_malloc_aligned(size, VT_OS_PAGE);
    return mi_malloc_aligned(vt_round_up(vt_max(size, 1), VT_OS_PAGE), VT_OS_PAGE);
}

VT_EXPORT void *mi_reallocarray(void *p, size_t count, size_t size) {
    void *to = mi_reallocn(p, count, size);
    if (to == NULL) errno = ENOMEM;
    return to;
}

/* NetBSD's: `p` points at the pointer; 0 or an errno. */
VT_EXPORT int mi_reallocarr(void *p, size_t count, size_t size) {
    void **at = p;
    if (at == NULL) return EINVAL;
    int saved = errno;
    void *to = mi_reallocarray(*at, count, size);
    errno = saved;
    if (to == NULL) return ENOMEM;
    *at = to;
    return 0;
}

VT_EXPORT void *mi_aligned_recalloc(void *p, size_t newcount, size_t size, size_t alignment) {
    return mi_recalloc_aligned(p, newcount, size, alignment);
}
VT_EXPORT void *mi_aligned_offset_recalloc(void *p, size_t newcount, size_t size, size_t alignment,
                                           size_t offset) {
    return mi_recalloc_aligned_at(p, newcount, size, alignment, offset);
}

VT_EXPORT void mi_free_size(void *p, size_t size) { vt__free_sized(p, size); }
VT_EXPORT void mi_free_size_aligned(void *p, size_t size, size_t alignment) {
    (void)alignment;
    vt__free_sized(p, size);
}
VT_EXPORT void mi_free_aligned(void *p, size_t alignment) {
    (void)alignment;
    vt__free(p);
}

VT_EXPORT unsigned char *mi_mbsdup(const unsigned char *s) {
    return (unsigned char *)mi_strdup((const char *)s);
}

VT_EXPORT unsigned short *mi_wcsdup(const unsigned short *s) {
    size_t n = 1;
    if (s == NULL) return NULL;
    for (const unsigned short *c = s; *c != 0; c++) n++;
    unsigned short *p = mi_malloc(n * sizeof(*p));
    if (p != NULL) __builtin_memcpy(p, s, n * sizeof(*p));
    return p;
}

VT_EXPORT int mi_dupenv_s(char **buf, size_t *size, const char *name) {
    if (buf == NULL || name == NULL) return EINVAL;
    if (size != NULL) *size = 0;
    const char *value = vt__os_getenv(name);
    *buf = value != NULL ? mi_strdup(value) : NULL;
    if (value != NULL && *buf == NULL) return ENOMEM;
    if (size != NULL && value != NULL) *size = vt__str_len(value) + 1;
    return 0;
}

/* Windows only. */
VT_EXPORT int mi_wdupenv_s(unsigned short **buf, size_t *size, const unsigned short *name) {
    if (buf == NULL || name == NULL) return EINVAL;
    if (size != NULL) *size = 0;
    *buf = NULL;
    return EINVAL;
}

/* ---- operator new: cxx.c has the handler and the throwing ---- */

extern void *operator_new(size_t n_bytes) __asm__("_Znwm");
extern void *operator_new_aligned(size_t n_bytes, size_t align) __asm__("_ZnwmSt11align_val_t");
extern void *operator_new_nothrow(size_t n_bytes,
                                  const void *nothrow) __asm__("_ZnwmRKSt9nothrow_t");
extern void *operator_new_aligned_nothrow(
    size_t n_bytes, size_t align,
    const void *nothrow) __asm__("_ZnwmSt11align_val_tRKSt9nothrow_t");

static void say_out_of_memory(void) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: error: ");
    vt__text_put(&m.text, "out of memory in 'new'");
    vt__mi_error(&m, ENOMEM);
}

/* Tries once more from the thread's own heap, and fails as that does. */
void *vt__mi_new_in(struct vt_own *o, size_t n_bytes) {
    void *p = vt__mi_alloc(o, n_bytes, /* zero */ false);
    if (vt_likely(p != NULL)) return p;
    say_out_of_memory();
    return operator_new(n_bytes);
}

VT_EXPORT void *mi_new(size_t size) {
    if (vt_unlikely(vt__mi_default != NULL)) return vt__mi_new_in(vt__mi_default, size);
    return operator_new(size);
}
VT_EXPORT void *mi_new_nothrow(size_t size) {
    return vt__mi_default != NULL ? mi_malloc(size) : operator_new_nothrow(size, NULL);
}
VT_EXPORT void *mi_new_aligned(size_t size, size_t alignment) {
    void *p = vt__mi_default != NULL ? mi_malloc_aligned(size, alignment) : NULL;
    return p != NULL ? p : operator_new_aligned(size, alignment);
}
VT_EXPORT void *mi_new_aligned_nothrow(size_t size, size_t alignment) {
    return vt__mi_default != NULL ? mi_malloc_aligned(size, alignment)
                                  : operator_new_aligned_nothrow(size, alignment, NULL);
}
VT_EXPORT void *mi_new_n(size_t count, size_t size) {
    size_t n;
    return mi_new(vt__mi_product(count, size, &n) ? n : SIZE_MAX);
}
VT_EXPORT void *mi_new_realloc(void *p, size_t newsize) {
    void *to = mi_realloc(p, newsize);
    if (to != NULL) return to;
    to = mi_new(newsize); /* calls the handler; if it answers at all, there is memory */
    if (p != NULL) {
        __builtin_memcpy(to, p, vt_min(vt__usable_size(p), newsize));
        vt__free(p);
    }
    return to;
}
VT_EXPORT void *mi_new_reallocn(void *p, size_t newcount, size_t size) {
    size_t n;
    return mi_new_realloc(p, vt__mi_product(newcount, size, &n) ? n : SIZE_MAX);
}

/* ---- without mi_ ---- */

VT_EXPORT void *reallocf(void *p, size_t n_bytes);
VT_EXPORT size_t malloc_size(const void *p);
VT_EXPORT size_t malloc_good_size(size_t n_bytes);
VT_EXPORT void vfree(void *p);
VT_EXPORT void *_aligned_malloc(size_t align, size_t n_bytes);
VT_EXPORT __attribute__((weak)) int reallocarr(void *p, size_t count, size_t size);

void *reallocf(void *p, size_t n_bytes) { return mi_reallocf(p, n_bytes); }
size_t malloc_size(const void *p) { return vt__usable_size(p); }
size_t malloc_good_size(size_t n_bytes) { return mi_good_size(n_bytes); }
void vfree(void *p) { vt__free(p); }
void *_aligned_malloc(size_t align, size_t n_bytes) { return mi_malloc_aligned(n_bytes, align); }
int reallocarr(void *p, size_t count, size_t size) { return mi_reallocarr(p, count, size); }
