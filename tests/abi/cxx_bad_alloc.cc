// cxx_bad_alloc.cc - a failing new throws std::bad_alloc, although the library has no C++ run-time of its own.
//
// The exception crosses frames of a C library: those need unwind tables, and what is thrown must be the
// program's own std::bad_alloc, caught by type. In a static link the throwing function has to be pulled
// in from libstdc++.a, and nothing here but operator new asks for it.

#include "../check.h"

#include <new>
#include <pthread.h>

static const size_t absurd[] = {(size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX,
                                SIZE_MAX - 15, (size_t)1 << 62};

enum outcome { NO_THROW, BAD_ALLOC, SOMETHING_ELSE };

template <typename Call> static outcome outcome_of(Call call) {
    try {
        void *p = opaque(call());
        (void)p;
        return NO_THROW;
    } catch (const std::bad_alloc &e) {
        CHECK_TRUE(e.what() != nullptr && e.what()[0] != 0);
        return BAD_ALLOC;
    } catch (...) {
        return SOMETHING_ELSE;
    }
}

static void every_throwing_form_throws() {
    const std::align_val_t v{64}, page{4096};
    for (size_t n : absurd) {
        n = opaque_size(n);
        CHECK_EQ(outcome_of([=] { return operator new(n); }), BAD_ALLOC);
        CHECK_EQ(outcome_of([=] { return operator new[](n); }), BAD_ALLOC);
        CHECK_EQ(outcome_of([=] { return operator new(n, v); }), BAD_ALLOC);
        CHECK_EQ(outcome_of([=] { return operator new[](n, v); }), BAD_ALLOC);
        CHECK_EQ(outcome_of([=] { return operator new(n, page); }), BAD_ALLOC);
    }
}

static void every_nothrow_form_gives_null() {
    const std::align_val_t v{64};
    for (size_t n : absurd) {
        n = opaque_size(n);
        CHECK_NULL(operator new(n, std::nothrow));
        CHECK_NULL(operator new[](n, std::nothrow));
        CHECK_NULL(operator new(n, v, std::nothrow));
        CHECK_NULL(operator new[](n, v, std::nothrow));
    }
}

// The way most programs meet it; destructors on the way out must run.
struct counted {
    static int n_alive;
    counted() { n_alive++; }
    ~counted() { n_alive--; }
};
int counted::n_alive;

__attribute__((noinline)) static char *deep(int levels, size_t n) {
    counted c;
    return levels ? deep(levels - 1, n) : new char[n];
}

static void destructors_run_on_the_way() {
    CHECK_EQ(outcome_of([] { return (void *)deep(20, opaque_size((size_t)PTRDIFF_MAX)); }),
             BAD_ALLOC);
    CHECK_EQ(counted::n_alive, 0);
}

static void *fail_often(void *) {
    for (int i = 0; i < 2000; i++) {
        outcome seen = outcome_of([] { return operator new(opaque_size(SIZE_MAX)); });
        if (seen != BAD_ALLOC) CHECK_EQ(seen, BAD_ALLOC);
        void *p = operator new(100 + i); // and the heap is as good as before
        fill(p, 100 + i, 1);
        operator delete(opaque(p));
    }
    return nullptr;
}

static void threads_fail_independently() {
    pthread_t t[4];
    for (auto &x : t) CHECK_EQ(pthread_create(&x, nullptr, fail_often, nullptr), 0);
    for (auto &x : t) CHECK_EQ(pthread_join(x, nullptr), 0);
}

int main() {
    check_allocator();
    every_throwing_form_throws();
    every_nothrow_form_gives_null();
    destructors_run_on_the_way();
    threads_fail_independently();
    return CHECK_DONE();
}
