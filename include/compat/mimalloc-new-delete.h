/* mimalloc-new-delete.h - operators new and delete by mimalloc. Include it in exactly one C++ source file of a program. Needed
 * only where the operators are not replaced already, which linking with libmimalloc does. */
#ifndef MIMALLOC_NEW_DELETE_H
#define MIMALLOC_NEW_DELETE_H

#include "mimalloc.h"

#if defined(__cplusplus)
#include <new>

void *operator new(std::size_t n) { return mi_new(n); }
void *operator new[](std::size_t n) { return mi_new(n); }
void *operator new(std::size_t n, const std::nothrow_t &) noexcept { return mi_new_nothrow(n); }
void *operator new[](std::size_t n, const std::nothrow_t &) noexcept { return mi_new_nothrow(n); }

void operator delete(void *p) noexcept { mi_free(p); }
void operator delete[](void *p) noexcept { mi_free(p); }
void operator delete(void *p, const std::nothrow_t &) noexcept { mi_free(p); }
void operator delete[](void *p, const std::nothrow_t &) noexcept { mi_free(p); }

#if __cplusplus >= 201402L
void operator delete(void *p, std::size_t n) noexcept { mi_free_size(p, n); }
void operator delete[](void *p, std::size_t n) noexcept { mi_free_size(p, n); }
#endif

#if __cplusplus > 201402L && defined(__cpp_aligned_new)
#define MI_ALIGN(a) static_cast<std::size_t>(a)
void *operator new(std::size_t n, std::align_val_t a) { return mi_new_aligned(n, MI_ALIGN(a)); }
void *operator new[](std::size_t n, std::align_val_t a) { return mi_new_aligned(n, MI_ALIGN(a)); }
void *operator new(std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
    return mi_new_aligned_nothrow(n, MI_ALIGN(a));
}
void *operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
    return mi_new_aligned_nothrow(n, MI_ALIGN(a));
}
void operator delete(void *p, std::align_val_t a) noexcept { mi_free_aligned(p, MI_ALIGN(a)); }
void operator delete[](void *p, std::align_val_t a) noexcept { mi_free_aligned(p, MI_ALIGN(a)); }
void operator delete(void *p, std::size_t n, std::align_val_t a) noexcept {
    mi_free_size_aligned(p, n, MI_ALIGN(a));
}
void operator delete[](void *p, std::size_t n, std::align_val_t a) noexcept {
    mi_free_size_aligned(p, n, MI_ALIGN(a));
}
void operator delete(void *p, std::align_val_t a, const std::nothrow_t &) noexcept {
    mi_free_aligned(p, MI_ALIGN(a));
}
void operator delete[](void *p, std::align_val_t a, const std::nothrow_t &) noexcept {
    mi_free_aligned(p, MI_ALIGN(a));
}
#undef MI_ALIGN
#endif
#endif

#endif
