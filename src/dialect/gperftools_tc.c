/* gperftools_tc.c - the malloc family by gperftools' own names, tcmalloc.h: each hands on to its namesake of this library.
 *
 * Translation, no logic.   Climate: malloc, but for the statistics.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/base.h"
#include "dialect/gperftools.h"

#define TC(result, name, params, call)                                                             \
    VT_EXPORT result name params;                                                                  \
    VT_EXPORT result name params { return call; }
#define TC_VOID(name, params, call)                                                                \
    VT_EXPORT void name params;                                                                    \
    VT_EXPORT void name params { call; }

void cfree(void *p);
void free_sized(void *p, size_t n);
void free_aligned_sized(void *p, size_t align, size_t n);
size_t nallocx(size_t n, int flags);

VT_EXPORT const char *tc_version(int *major, int *minor, const char **patch);
VT_EXPORT const char *tc_version(int *major, int *minor, const char **patch) {
    if (major != NULL) *major = 2;
    if (minor != NULL) *minor = 18;
    if (patch != NULL) *patch = ".1";
    return "gperftools 2.18.1";
}

/* clang-format off */
TC(void *, tc_malloc, (size_t n), malloc(n)) /* allowed: this library's */
TC(void *, tc_realloc, (void *p, size_t n), realloc(p, n)) /* allowed: this library's */
TC(void *, tc_calloc, (size_t n, size_t each), calloc(n, each)) /* allowed: this library's */
TC(void *, tc_memalign, (size_t align, size_t n), memalign(align, n)) /* allowed: this library's */
TC(int, tc_posix_memalign, (void **out, size_t align, size_t n), posix_memalign(out, align, n)) /* allowed: this library's */
TC(void *, tc_valloc, (size_t n), valloc(n)) /* allowed: this library's */
TC(void *, tc_pvalloc, (size_t n), pvalloc(n)) /* allowed: this library's */
TC(int, tc_mallopt, (int cmd, int value), mallopt(cmd, value))
TC(size_t, tc_malloc_size, (void *p), malloc_usable_size(p))
TC(size_t, malloc_size, (void *p), malloc_usable_size(p))
TC(size_t, tc_nallocx, (size_t n, int flags), nallocx(n, flags))
TC_VOID(tc_free, (void *p), free(p)) /* allowed: this library's */
TC_VOID(tc_free_sized, (void *p, size_t n), free_sized(p, n))
TC_VOID(tc_free_aligned_sized, (void *p, size_t align, size_t n), free_aligned_sized(p, align, n))
TC_VOID(tc_cfree, (void *p), cfree(p))
TC_VOID(tc_malloc_stats, (void), malloc_stats())

#if defined(__GLIBC__)
TC(struct mallinfo2, tc_mallinfo2, (void), mallinfo2())
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TC(struct mallinfo, tc_mallinfo, (void), mallinfo())
#pragma GCC diagnostic pop
#endif

/* ---- the operators ---- */

#define OPERATOR(result, name, mangled, params) extern result name params __asm__(mangled);
OPERATOR(void *, op_new, "_Znwm", (size_t n))
OPERATOR(void *, op_new_nothrow, "_ZnwmRKSt9nothrow_t", (size_t n, const void *nt))
OPERATOR(void *, op_new_aligned, "_ZnwmSt11align_val_t", (size_t n, size_t al))
OPERATOR(void *, op_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", (size_t n, size_t al, const void *nt))
OPERATOR(void *, op_newarray, "_Znam", (size_t n))
OPERATOR(void *, op_newarray_nothrow, "_ZnamRKSt9nothrow_t", (size_t n, const void *nt))
OPERATOR(void *, op_newarray_aligned, "_ZnamSt11align_val_t", (size_t n, size_t al))
OPERATOR(void *, op_newarray_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", (size_t n, size_t al, const void *nt))
OPERATOR(void, op_delete, "_ZdlPv", (void *p))
OPERATOR(void, op_delete_nothrow, "_ZdlPvRKSt9nothrow_t", (void *p, const void *nt))
OPERATOR(void, op_delete_sized, "_ZdlPvm", (void *p, size_t n))
OPERATOR(void, op_delete_aligned, "_ZdlPvSt11align_val_t", (void *p, size_t al))
OPERATOR(void, op_delete_sized_aligned, "_ZdlPvmSt11align_val_t", (void *p, size_t n, size_t al))
OPERATOR(void, op_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", (void *p, size_t al, const void *nt))
OPERATOR(void, op_deletearray, "_ZdaPv", (void *p))
OPERATOR(void, op_deletearray_nothrow, "_ZdaPvRKSt9nothrow_t", (void *p, const void *nt))
OPERATOR(void, op_deletearray_sized, "_ZdaPvm", (void *p, size_t n))
OPERATOR(void, op_deletearray_aligned, "_ZdaPvSt11align_val_t", (void *p, size_t al))
OPERATOR(void, op_deletearray_sized_aligned, "_ZdaPvmSt11align_val_t", (void *p, size_t n, size_t al))
OPERATOR(void, op_deletearray_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", (void *p, size_t al, const void *nt))
TC(void *, tc_new, (size_t n), op_new(n))
TC(void *, tc_new_nothrow, (size_t n, const void *nt), op_new_nothrow(n, nt))
TC(void *, tc_new_aligned, (size_t n, size_t al), op_new_aligned(n, al))
TC(void *, tc_new_aligned_nothrow, (size_t n, size_t al, const void *nt), op_new_aligned_nothrow(n, al, nt))
TC(void *, tc_newarray, (size_t n), op_newarray(n))
TC(void *, tc_newarray_nothrow, (size_t n, const void *nt), op_newarray_nothrow(n, nt))
TC(void *, tc_newarray_aligned, (size_t n, size_t al), op_newarray_aligned(n, al))
TC(void *, tc_newarray_aligned_nothrow, (size_t n, size_t al, const void *nt), op_newarray_aligned_nothrow(n, al, nt))
TC_VOID(tc_delete, (void *p), op_delete(p))
TC_VOID(tc_delete_nothrow, (void *p, const void *nt), op_delete_nothrow(p, nt))
TC_VOID(tc_delete_sized, (void *p, size_t n), op_delete_sized(p, n))
TC_VOID(tc_delete_aligned, (void *p, size_t al), op_delete_aligned(p, al))
TC_VOID(tc_delete_sized_aligned, (void *p, size_t n, size_t al), op_delete_sized_aligned(p, n, al))
TC_VOID(tc_delete_aligned_nothrow, (void *p, size_t al, const void *nt), op_delete_aligned_nothrow(p, al, nt))
TC_VOID(tc_deletearray, (void *p), op_deletearray(p))
TC_VOID(tc_deletearray_nothrow, (void *p, const void *nt), op_deletearray_nothrow(p, nt))
TC_VOID(tc_deletearray_sized, (void *p, size_t n), op_deletearray_sized(p, n))
TC_VOID(tc_deletearray_aligned, (void *p, size_t al), op_deletearray_aligned(p, al))
TC_VOID(tc_deletearray_sized_aligned, (void *p, size_t n, size_t al), op_deletearray_sized_aligned(p, n, al))
TC_VOID(tc_deletearray_aligned_nothrow, (void *p, size_t al, const void *nt), op_deletearray_aligned_nothrow(p, al, nt))
