/* containers.cc - the STL allocators of mimalloc.h and the operators of mimalloc-new-delete.h. */
#include "check.h"

#include <list>
#include <map>
#include <mimalloc-new-delete.h>
#include <mimalloc.h>
#include <string>
#include <unordered_map>
#include <vector>

template <template <class> class A> static void use_containers() {
    std::vector<int, A<int>> v;
    for (int i = 0; i < 10000; i++) v.push_back(i);
    CHECK_EQ(v[9999], 9999);
    std::vector<int, A<int>> copy = v;
    CHECK_TRUE(copy == v);
    std::list<std::string, A<std::string>> l(v.size() / 100, "a longer text than fits");
    CHECK_EQ(l.size(), 100);
    l = std::list<std::string, A<std::string>>();
    std::map<int, int, std::less<int>, A<std::pair<const int, int>>> m;
    for (int i = 0; i < 1000; i++) m[i] = i;
    m.erase(5);
    CHECK_EQ(m.size(), 999);
    std::swap(v, copy);
}

static size_t committed() {
    size_t n = 0;
    mi_collect(true);
    mi_process_info(nullptr, nullptr, nullptr, nullptr, nullptr, &n, nullptr, nullptr);
    return n;
}

#if MI_MALLOC_VERSION > 10000 /* the original, compiled as C, ends the process */
template <class F> static bool throws(F f) {
    try {
        f();
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}
#endif

struct alignas(256) wide {
    char c[256];
};

int main() {
    use_containers<mi_stl_allocator>();
#if defined(MI_HAS_HEAP_STL_ALLOCATOR)
    use_containers<mi_heap_stl_allocator>();
    use_containers<mi_heap_destroy_stl_allocator>();
    size_t before = committed(); /* its deallocate does nothing: what is not destroyed stays */
    for (int i = 0; i < 50; i++) {
        std::vector<int, mi_heap_destroy_stl_allocator<int>> v;
        for (int k = 0; k < 100000; k++) v.push_back(k);
    }
    CHECK_TRUE(committed() < before + (5 << 20));
    {
        mi_heap_t *h = mi_heap_new();
        mi_heap_stl_allocator<int> a(h);
        std::vector<int, mi_heap_stl_allocator<int>> v(a);
        v.resize(100);
        CHECK_TRUE(mi_heap_contains_block(h, v.data()));
        CHECK_TRUE(a == v.get_allocator());
        CHECK_TRUE(a != mi_heap_stl_allocator<int>());
        v = std::vector<int, mi_heap_stl_allocator<int>>(a);
        mi_heap_destroy(h);
    }
#endif
    wide *w = new wide;
    CHECK_EQ(reinterpret_cast<uintptr_t>(w) % 256, 0);
    CHECK_TRUE(mi_is_in_heap_region(w));
    delete w;
    int *p = new int[100];
    CHECK_TRUE(mi_is_in_heap_region(p));
    delete[] p;
    volatile size_t too_much = PTRDIFF_MAX;
    CHECK_TRUE(new (std::nothrow) char[too_much] == nullptr);
#if MI_MALLOC_VERSION > 10000
    CHECK_TRUE(throws([=] { (void)!mi_new(too_much); }));
    CHECK_TRUE(throws([=] { ::operator delete(::operator new(too_much)); }));
    CHECK_TRUE(throws([=] { ::operator delete[](::operator new[](too_much)); }));
    CHECK_TRUE(throws([=] {
        std::align_val_t wide_one{256};
        ::operator delete(::operator new(too_much, wide_one), wide_one);
    }));
#endif
    return CHECK_DONE();
}
