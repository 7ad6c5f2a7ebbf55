// cxx_nothrow_handler.cc - nothrow new with a handler that throws std::bad_alloc: NULL, not an exception.
//
// To throw bad_alloc is one of the things the standard tells a handler to do, and the nothrow forms must
// turn it into NULL. Their callers are compiled in the belief that nothing comes out of them: an exception
// that did would end the program in std::terminate.

#include "../check.h"

#include <exception>
#include <initializer_list>
#include <new>

static int n_calls;

static void throws_bad_alloc() {
    n_calls++;
    throw std::bad_alloc();
}

struct derived : std::bad_alloc {};
static void throws_derived() {
    n_calls++;
    throw derived();
}

int main() {
    check_allocator();
    const size_t n = opaque_size((size_t)PTRDIFF_MAX);
    const std::align_val_t v{64};
    for (auto handler : {throws_bad_alloc, throws_derived}) {
        std::set_new_handler(handler);
        n_calls = 0;
        CHECK_NULL(operator new(n, std::nothrow));
        CHECK_NULL(operator new[](n, std::nothrow));
        CHECK_NULL(operator new(n, v, std::nothrow));
        CHECK_NULL(operator new[](n, v, std::nothrow));
        CHECK_EQ(n_calls, 4);
        // the exception is gone, not in flight: a later throw and catch work as ever
        int seen = 0;
        try {
            throw 7;
        } catch (int value) {
            seen = value;
        }
        CHECK_EQ(seen, 7);
        CHECK_FALSE(std::uncaught_exceptions());
        void *p = operator new(100, std::nothrow);
        CHECK_NOT_NULL(p);
        operator delete(p);
    }
    return CHECK_DONE();
}
