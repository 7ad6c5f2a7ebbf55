// cxx_new_handler.cc - the new-handler: called until it helps, gives up, or throws.

#include "limited.h"

#include <initializer_list>
#include <new>

static const size_t absurd = (size_t)PTRDIFF_MAX;
static int n_calls;

static bool throws_bad_alloc(void *(*call)()) {
    try {
        void *p = opaque(call());
        (void)p;
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

static void *by_new() { return operator new(opaque_size(absurd)); }
static void *by_new_array() { return operator new[](opaque_size(absurd)); }
static void *by_aligned_new() { return operator new (opaque_size(absurd), std::align_val_t{64}); }
static void *by_aligned_new_array() {
    return operator new[](opaque_size(absurd), std::align_val_t{64});
}
static void *by_nothrow_new() { return operator new(opaque_size(absurd), std::nothrow); }
static void *by_nothrow_new_array() { return operator new[](opaque_size(absurd), std::nothrow); }
static void *by_nothrow_aligned_new() {
    return operator new (opaque_size(absurd), std::align_val_t{64}, std::nothrow);
}
static void *by_nothrow_aligned_new_array() {
    return operator new[](opaque_size(absurd), std::align_val_t{64}, std::nothrow);
}
static void *(*const throwing[])() = {by_new, by_new_array, by_aligned_new, by_aligned_new_array};
static void *(*const quiet[])() = {by_nothrow_new, by_nothrow_new_array, by_nothrow_aligned_new,
                                   by_nothrow_aligned_new_array};

// A handler that gives up the third time by taking itself away.
static void gives_up() {
    if (++n_calls == 3) std::set_new_handler(nullptr);
}

static void is_called_again_and_again_until_removed() {
    for (auto call : throwing) {
        n_calls = 0;
        std::set_new_handler(gives_up);
        CHECK_TRUE(throws_bad_alloc(call));
        CHECK_EQ(n_calls, 3);
    }
    for (auto call : quiet) {
        n_calls = 0;
        std::set_new_handler(gives_up);
        CHECK_NULL(call());
        CHECK_EQ(n_calls, 3);
    }
}

// A handler may install another one, which is then the one to call.
static int n_second;
static void second() {
    n_second++;
    std::set_new_handler(nullptr);
}
static void first() {
    n_calls++;
    std::set_new_handler(second);
}

static void may_pass_on_to_another() {
    n_calls = n_second = 0;
    std::set_new_handler(first);
    CHECK_TRUE(throws_bad_alloc(by_new));
    CHECK_EQ(n_calls, 1);
    CHECK_EQ(n_second, 1);
}

// An exception of the program's own travels from the handler through operator new to its caller.
struct own_exception {
    int value;
};
static void throws_its_own() {
    n_calls++;
    throw own_exception{42};
}

static void may_throw_anything() {
    for (auto call : throwing) {
        int seen = 0;
        n_calls = 0;
        std::set_new_handler(throws_its_own);
        try {
            void *p = opaque(call());
            (void)p;
        } catch (const own_exception &e) {
            seen = e.value;
        }
        CHECK_EQ(seen, 42);
        CHECK_EQ(n_calls, 1);
    }
    std::set_new_handler(nullptr);
}

// malloc knows no handlers.
static void is_not_called_by_malloc() {
    n_calls = 0;
    std::set_new_handler(gives_up);
    CHECK_FAILS(malloc(opaque_size(absurd)), ENOMEM);
    CHECK_EQ(n_calls, 0);
    std::set_new_handler(nullptr);
}

// A handler allocates, and fails, itself: no lock is held while it runs.
static void allocates() {
    n_calls++;
    void *p = operator new(1000);
    fill(p, 1000, 1);
    operator delete(p);
    std::set_new_handler(nullptr);
    CHECK_NULL(operator new(opaque_size(absurd), std::nothrow));
}

static void may_allocate() {
    n_calls = 0;
    std::set_new_handler(allocates);
    CHECK_TRUE(throws_bad_alloc(by_new));
    CHECK_EQ(n_calls, 1);
}

// ---- under a memory limit: the handler frees a reserve, and new succeeds after all

static struct held *reserve;
static void frees_the_reserve() {
    n_calls++;
    if (!reserve) std::set_new_handler(nullptr);
    let_go(reserve, free);
    reserve = nullptr;
}

static int part_with_a_limit() {
    const size_t n = 100000;
    for (int i = 0; i < 200; i++) reserve = hold(reserve, malloc(n), n); // 20 MB
    struct held *list = nullptr;
    size_t got_before = 0, got_after = 0;
    std::set_new_handler(frees_the_reserve);
    try {
        for (;;) {
            void *p = operator new(n);
            list = hold(list, p, n);
            (reserve ? got_before : got_after) += n;
        }
    } catch (const std::bad_alloc &) {}
    CHECK_GE(got_before, 20 << 20); // there was room,
    CHECK_GE(n_calls, 2);           // then the handler was asked, freed the reserve,
    CHECK_GE(got_after, 10 << 20);  // and the reserve was there for new to use
    let_go(list, [](void *p) { operator delete(p); });
    return CHECK_DONE();
}

int main(int argc, char **) {
    check_allocator();
    if (argc > 1) return part_with_a_limit();
    is_called_again_and_again_until_removed();
    may_pass_on_to_another();
    may_throw_anything();
    is_not_called_by_malloc();
    may_allocate();
    for (int resource : {RLIMIT_AS, RLIMIT_DATA}) {
        int status = run_limited(resource, (rlim_t)256 << 20, "limited");
        if (!CHECK_EQ(status, 0)) check_say("  under limit %d", resource);
    }
    return CHECK_DONE();
}
