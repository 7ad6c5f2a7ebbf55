/* whole_family.c - every name of the family comes from the library under test, none from libc.
 *
 * One name left to libc means blocks of two heaps in one process. The list is the contract; a name that
 * a libc adds later (C23's free_sized came so) belongs here.
 */
#include "../check.h"

/* clang-format off */
#define NAMES(X)                                                                                   \
    X(malloc) X(calloc) X(realloc) X(free) X(reallocarray) X(aligned_alloc) X(posix_memalign)      \
    X(memalign) X(valloc) X(pvalloc) X(malloc_usable_size) X(cfree) X(free_sized)                  \
    X(free_aligned_sized) X(mallinfo) X(mallinfo2) X(mallopt) X(malloc_trim) X(malloc_stats)       \
    X(malloc_info) X(__libc_malloc) X(__libc_free) X(__libc_calloc) X(__libc_realloc)              \
    X(__libc_memalign) X(__libc_valloc) X(__libc_pvalloc) X(__posix_memalign)
/* clang-format on */

int main(void) {
    check_allocator();
    if (!check_expects_vitrine())
        CHECK_SKIP("only Vitrine promises all names (VT_EXPECT_VITRINE=1)");
#ifdef VT_STATIC
#define WHOSE(name) CHECK_OURS(#name, ADDRESS_OF(name)); /* strong: a missing one does not link */
#else
#define WHOSE(name) CHECK_OURS(#name, SYMBOL(void *, name));
#endif
    NAMES(WHOSE)
    return CHECK_DONE();
}
