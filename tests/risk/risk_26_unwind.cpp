/* risk_26_unwind.cpp - exceptions, thread cancellation and longjmp pass through the allocator's
 * frames.
 *
 * operator new calls the program's new handler, and that may throw anything, end the thread or jump
 * away. The allocator's frames on the way need unwind tables and must hold no lock.
 */
#include "risk.h"

#include <csetjmp>
#include <new>
#include <stdexcept>
#include <vector>

namespace {

volatile size_t absurd = SIZE_MAX / 4;
int n_handler_calls;
jmp_buf back;

struct own_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct counted { /* proves that frames were unwound, not skipped */
    static int alive;
    counted() { alive++; }
    ~counted() { alive--; }
};
int counted::alive;

void throwing_handler() {
    n_handler_calls++;
    throw own_error("from the handler");
}
void jumping_handler() { longjmp(back, 1); }
void ending_handler() { pthread_exit(reinterpret_cast<void *>(26)); }
void giving_up_handler() {
    if (++n_handler_calls % 5 == 0) std::set_new_handler(nullptr);
}

__attribute__((noinline)) void *nested(int depth) {
    counted here;
    if (depth > 0) {
        void *p = nested(depth - 1);
        return p;
    }
    return ::operator new(absurd);
}

template <class Error> void expect(void (*handler)()) {
    bool caught = false;
    std::set_new_handler(handler);
    try {
        free(nested(20));
    } catch (const Error &) {
        caught = true;
    }
    std::set_new_handler(nullptr);
    CHECK_TRUE(caught);
    CHECK_EQ(counted::alive, 0);
}

extern "C" void *end_in_handler(void *) {
    std::set_new_handler(ending_handler);
    counted here;
    free(nested(3));
    return nullptr;
}

void every_operator() {
    struct alignas(256) wide {
        char c[256];
    };
    int n = 0;
    std::set_new_handler(nullptr);
    try {
        free(::operator new[](absurd));
    } catch (const std::bad_alloc &) {
        n++;
    }
    try {
        free(::operator new(absurd, std::align_val_t(128)));
    } catch (const std::bad_alloc &) {
        n++;
    }
    try {
        free(::operator new[](absurd, std::align_val_t(128)));
    } catch (const std::bad_alloc &) {
        n++;
    }
    CHECK_NULL(::operator new(absurd, std::nothrow));
    CHECK_NULL(::operator new(absurd, std::align_val_t(128), std::nothrow));
    CHECK_EQ(n, 3);
    std::set_new_handler(throwing_handler);
    /* nothrow turns a bad_alloc of the handler into NULL; another exception ends the program, so
     * none here */
    std::set_new_handler([] { throw std::bad_alloc(); });
    CHECK_NULL(::operator new(absurd, std::nothrow));
    std::set_new_handler(nullptr);
    std::vector<wide> v(10);
    CHECK_ALIGNED(v.data(), 256);
}

} // namespace

int main() {
    require_preloaded();
    for (int i = 0; i < 300; i++) {
        expect<std::bad_alloc>(nullptr);
        expect<own_error>(throwing_handler);
        expect<std::bad_alloc>(giving_up_handler);
        void *p = malloc(1000); /* no lock is left behind */
        MUST(p != nullptr);
        free(p);
    }
    CHECK_EQ(n_handler_calls, 300 * 5); /* one that throws, four that make the loop go on */
    every_operator();

    std::set_new_handler(jumping_handler);
    if (setjmp(back) == 0) {
        free(::operator new(absurd));
        CHECK_TRUE(!"reached after an impossible allocation");
    }
    std::set_new_handler(nullptr);
    delete new int(3);

    pthread_t id;
    void *answer = nullptr;
    counted::alive = 0;
    MUST(pthread_create(&id, nullptr, end_in_handler, nullptr) == 0);
    MUST(pthread_join(id, &answer) == 0);
    CHECK_EQ(answer, 26);
    CHECK_EQ(counted::alive, 0); /* pthread_exit unwinds through us too */
    std::set_new_handler(nullptr);
    delete[] new char[100000];
    return CHECK_DONE();
}
