// cxx_operators.cc - the 20 replaceable operators new and delete of C++17: whose they are, and what they do.

#include "../check.h"

#include <malloc.h>
#include <new>

// Without this an operator left out would be served by libstdc++ over our malloc, and nobody would see.
static void all_of_them_are_ours() {
// clang-format off
#define OPERATORS(X)                                                                               \
    X(_Znwm) X(_Znam) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t) X(_ZnwmSt11align_val_t)        \
    X(_ZnamSt11align_val_t) X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                  \
    X(_ZnamSt11align_val_tRKSt9nothrow_t) X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm)                \
    X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t) X(_ZdlPvSt11align_val_t)                       \
    X(_ZdaPvSt11align_val_t) X(_ZdlPvmSt11align_val_t) X(_ZdaPvmSt11align_val_t)                   \
    X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)
// clang-format on
#define IS_OURS(name) CHECK_OURS(#name, ADDRESS_OF(name));
    OPERATORS(IS_OURS)
}

static const size_t sizes[] = {0, 1, 16, 24, 100, 1000, 1024, 5000, 40000, 70000, 3 << 20};
static const std::nothrow_t &quiet = std::nothrow;

// What every new gives: a block of our heap, usable to the last byte.
static void *good(void *p, size_t n, size_t alignment) {
    if (!CHECK_NOT_NULL(p)) exit(CHECK_DONE());
    CHECK_ALIGNED(p, 16);
    CHECK_ALIGNED(p, alignment);
    size_t usable = malloc_usable_size(p);
    CHECK_GE(usable, n);
    size_t some = usable < 70000 ? usable : 70000;
    fill(p, some, 1);
    CHECK_EQ(intact(p, some, 1), some);
    if (usable) ((char *)p)[usable - 1] = 1;
    return opaque(p);
}

// new by each form, delete by each form that the standard lets follow it
static void plain_forms(size_t n) {
    operator delete(good(operator new(n), n, 16));
    operator delete(good(operator new(n), n, 16), n);
    operator delete(good(operator new(n), n, 16), quiet);
    operator delete(good(operator new(n, quiet), n, 16));
    operator delete(good(operator new(n, quiet), n, 16), n);
    operator delete(good(operator new(n, quiet), n, 16), quiet);
    operator delete[](good(operator new[](n), n, 16));
    operator delete[](good(operator new[](n), n, 16), n);
    operator delete[](good(operator new[](n), n, 16), quiet);
    operator delete[](good(operator new[](n, quiet), n, 16));
    operator delete[](good(operator new[](n, quiet), n, 16), n);
    operator delete[](good(operator new[](n, quiet), n, 16), quiet);
}

static void aligned_forms(size_t n, size_t a) {
    std::align_val_t v{a};
    operator delete(good(operator new(n, v), n, a), v);
    operator delete(good(operator new(n, v), n, a), n, v);
    operator delete(good(operator new(n, v), n, a), v, quiet);
    operator delete(good(operator new(n, v, quiet), n, a), v);
    operator delete(good(operator new(n, v, quiet), n, a), n, v);
    operator delete(good(operator new(n, v, quiet), n, a), v, quiet);
    operator delete[](good(operator new[](n, v), n, a), v);
    operator delete[](good(operator new[](n, v), n, a), n, v);
    operator delete[](good(operator new[](n, v), n, a), v, quiet);
    operator delete[](good(operator new[](n, v, quiet), n, a), v);
    operator delete[](good(operator new[](n, v, quiet), n, a), n, v);
    operator delete[](good(operator new[](n, v, quiet), n, a), v, quiet);
}

static void *volatile null; // volatile: to the compiler each is another pointer

static void null_is_accepted() {
    std::align_val_t v{64};
    errno = EXDEV;
    operator delete(null), operator delete(null, 8), operator delete(null, quiet);
    operator delete[](null), operator delete[](null, 8), operator delete[](null, quiet);
    operator delete(null, v), operator delete(null, 8, v), operator delete(null, v, quiet);
    operator delete[](null, v), operator delete[](null, 8, v), operator delete[](null, v, quiet);
    CHECK_EQ(errno, EXDEV);
}

static void zero_bytes_give_distinct_blocks() {
    void *a = operator new(opaque_size(0)), *b = operator new[](opaque_size(0));
    CHECK_NOT_NULL(a), CHECK_NOT_NULL(b), CHECK_NE(a, b);
    operator delete(a), operator delete[](b);
}

static void delete_leaves_errno() {
    for (size_t n : sizes) {
        void *p = opaque(operator new(n));
        errno = EXDEV;
        operator delete(p);
        CHECK_EQ(errno, EXDEV);
        p = opaque(operator new[](n, std::align_val_t{128}));
        errno = EXDEV;
        operator delete[](p, n, std::align_val_t{128});
        CHECK_EQ(errno, EXDEV);
    }
}

// The forms free: if one did nothing, each would leave 64 MiB behind in 64 Ki rounds of 1 KiB.
template <typename Take, typename Give>
static void comes_round_again(const char *what, Take take, Give give) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < 65536; i++) {
        void *p = opaque(take());
        if ((uintptr_t)p < low) low = (uintptr_t)p;
        if ((uintptr_t)p > high) high = (uintptr_t)p;
        give(p);
    }
    if (!CHECK_LE(high - low, 32 << 20)) check_say("  after %s", what);
}

static void each_delete_frees() {
    const size_t n = 1024;
    const std::align_val_t v{256};
    auto plain = [] { return operator new(n); };
    auto array = [] { return operator new[](n); };
    auto aligned = [=] { return operator new(n, v); };
    auto aligned_array = [=] { return operator new[](n, v); };
    comes_round_again("delete", plain, [](void *p) { operator delete(p); });
    comes_round_again("sized delete", plain, [](void *p) { operator delete(p, n); });
    comes_round_again("nothrow delete", plain, [](void *p) { operator delete(p, quiet); });
    comes_round_again("delete[]", array, [](void *p) { operator delete[](p); });
    comes_round_again("sized delete[]", array, [](void *p) { operator delete[](p, n); });
    comes_round_again("nothrow delete[]", array, [](void *p) { operator delete[](p, quiet); });
    comes_round_again("aligned delete", aligned, [=](void *p) { operator delete(p, v); });
    comes_round_again("sized aligned delete", aligned, [=](void *p) { operator delete(p, n, v); });
    comes_round_again("nothrow aligned delete", aligned,
                      [=](void *p) { operator delete(p, v, quiet); });
    comes_round_again("aligned delete[]", aligned_array, [=](void *p) { operator delete[](p, v); });
    comes_round_again("sized aligned delete[]", aligned_array,
                      [=](void *p) { operator delete[](p, n, v); });
    comes_round_again("nothrow aligned delete[]", aligned_array,
                      [=](void *p) { operator delete[](p, v, quiet); });
}

int main() {
    check_allocator();
    all_of_them_are_ours();
    for (size_t n : sizes) {
        plain_forms(opaque_size(n));
        for (size_t a = 1; a <= (size_t)1 << 21; a *= 2) aligned_forms(opaque_size(n), a);
    }
    null_is_accepted();
    zero_bytes_give_distinct_blocks();
    delete_leaves_errno();
    each_delete_frees();
    return CHECK_DONE();
}
