/* truth.cpp - our stacks against libunwind's at very many points of a C++ program: exceptions, templates, recursion,
 * alloca, virtual and library calls, libraries that come and go, signals on alternate stacks, coroutines, threads.
 *
 *     truth LIBRARY.so LIBRARY2.so
 *
 * At least 99.9 % must be equal, in each of the places by itself; the rest is counted.
 */
#include <alloca.h>
#include <algorithm>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <pthread.h>
#include <regex>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <ucontext.h>
#include <vector>

#include "truth.h"

namespace {

#define KEEP_FRAME(x) __asm__ volatile("" ::"r"(x) : "memory")

uint64_t rng = 88172645463325252;
uint64_t next_random() {
    rng ^= rng << 13;
    rng ^= rng >> 7;
    return rng ^= rng << 17;
}

const char *plugin_path[2];

/* ---- places ---- */

template <int N> struct Layers {
    static __attribute__((noinline)) long call(long x) {
        char room[N * 24 + 8];
        room[x & 7] = static_cast<char>(x);
        KEEP_FRAME(room);
        long r = Layers<N - 1>::call(x + N);
        KEEP_FRAME(&r);
        return r + room[x & 7];
    }
};
template <> struct Layers<0> {
    static __attribute__((noinline)) long call(long x) {
        truth_here();
        return x;
    }
};

__attribute__((noinline)) long fibonacci(int n) {
    if (n < 2) {
        truth_here();
        return n;
    }
    return fibonacci(n - 1) + fibonacci(n - 2);
}

struct Guard {
    int *n;
    ~Guard() {
        ++*n;
        truth_here(); /* while an exception is on its way, too */
    }
};

__attribute__((noinline)) void throw_deep(int depth, int *n) {
    Guard g{n};
    std::string text(static_cast<size_t>(depth) * 7 + 1, 'x');
    if (depth == 0) throw std::runtime_error(text);
    throw_deep(depth - 1, n);
    KEEP_FRAME(&text);
}

__attribute__((noinline)) void exceptions() {
    int n = 0;
    try {
        throw_deep(static_cast<int>(next_random() % 12), &n);
    } catch (const std::exception &e) {
        truth_here();
        KEEP_FRAME(&e);
    }
}

__attribute__((noinline)) void with_alloca(int depth) {
    size_t n = 16 + next_random() % 3000;
    volatile char *room = static_cast<volatile char *>(alloca(n));
    room[n - 1] = 1;
    if (depth > 0)
        with_alloca(depth - 1);
    else
        truth_here();
    KEEP_FRAME(room);
}

/* Functions that align their stack, for vectors. With an argument on the stack the CFA is saved in memory. */
typedef long wide __attribute__((vector_size(64), aligned(64)));
__attribute__((noinline)) void with_alignment(int depth, long b, long c, long d, long e, long f,
                                              long on_the_stack) {
    volatile wide w[4] = {};
    w[depth & 3] = w[0] + depth;
    if (depth > 0)
        with_alignment(depth - 1, c, d, e, f, on_the_stack, b);
    else
        truth_here();
    KEEP_FRAME(w);
    KEEP_FRAME(on_the_stack);
}

struct Base {
    virtual ~Base() = default;
    virtual long visit(int depth) = 0;
};
struct Node : Base {
    std::vector<std::unique_ptr<Base>> inner;
    long visit(int depth) override {
        long sum = 0;
        truth_here();
        std::for_each(inner.begin(), inner.end(),
                      [&](std::unique_ptr<Base> &b) { sum += b->visit(depth + 1); });
        return sum + 1;
    }
};
std::unique_ptr<Base> grow(int depth) {
    auto n = std::make_unique<Node>();
    truth_here();
    for (uint64_t i = 0; depth > 0 && i < 1 + next_random() % 3; i++)
        n->inner.push_back(grow(depth - 1));
    return n;
}

extern "C" int compare_ints(const void *a, const void *b) {
    truth_here();
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

void library_calls() {
    int v[40];
    for (int &x : v) x = static_cast<int>(next_random() % 1000);
    qsort(v, 40, sizeof(v[0]), compare_ints);
    std::sort(v, v + 40, [](int a, int b) {
        truth_here();
        return a > b;
    });
    std::function<void(int)> f = [&](int n) {
        if (n > 0)
            f(n - 1);
        else
            truth_here();
    };
    f(8);
    std::map<std::string, int> m;
    for (int i = 0; i < 20; i++) m[std::to_string(next_random() % 100)]++;
    std::regex_search("a-b--c---d", std::regex("(-+)c(-+)"));
}

extern "C" void called_back(void *depth) {
    truth_here();
    if (depth != nullptr) Layers<3>::call(reinterpret_cast<intptr_t>(depth));
}

void libraries() {
    const char *path = plugin_path[next_random() & 1];
    truth_loader(true);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    truth_loader(false);
    if (lib == nullptr) {
        truth_failed(dlerror());
        return;
    }
    auto run = reinterpret_cast<void (*)(int, void (*)(void *), void *)>(dlsym(lib, "plugin_run"));
    for (int i = 0; i < 5; i++) run(i * 3, called_back, reinterpret_cast<void *>(i));
    truth_loader(true);
    dlclose(lib);
    truth_unloaded();
}

/* ---- coroutines ---- */

ucontext_t main_context, coroutine;
void run_coroutine() {
    for (;;) {
        Layers<5>::call(1);
        exceptions();
        with_alloca(3);
        swapcontext(&coroutine, &main_context);
    }
}
void coroutines() {
    static bool is_started;
    static char room[262144] __attribute__((aligned(16)));
    if (!is_started) {
        is_started = true;
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = room;
        coroutine.uc_stack.ss_size = sizeof(room);
        coroutine.uc_link = &main_context;
        makecontext(&coroutine, run_coroutine, 0);
    }
    swapcontext(&main_context, &coroutine);
}

void everything() {
    Layers<12>::call(static_cast<long>(next_random() % 8));
    fibonacci(6);
    exceptions();
    with_alloca(static_cast<int>(next_random() % 10));
    with_alignment(static_cast<int>(next_random() % 5), 1, 2, 3, 4, 5, 6);
    grow(3)->visit(0);
    library_calls();
    libraries();
    coroutines();
}

/* ---- signals ---- */

extern "C" void on_raise(int, siginfo_t *, void *uc) {
    truth_context(uc);
    Layers<2>::call(3); /* and from the handler's own stack through to the rest */
}

extern "C" void on_tick(int, siginfo_t *, void *uc) { truth_tick(uc); }

__attribute__((noinline)) void raise_deep(int depth) {
    char room[64];
    KEEP_FRAME(room);
    if (depth > 0)
        raise_deep(depth - 1);
    else
        raise(SIGUSR1);
    KEEP_FRAME(room);
}

void *in_thread(void *arg) {
    for (int i = 0; i < 20; i++) {
        Layers<8>::call(i);
        exceptions();
        with_alloca(3);
        fibonacci(5);
        raise_deep(i);
    }
    truth_thread_ends();
    return arg;
}

void start_signals() {
    static char room[65536] __attribute__((aligned(16)));
    stack_t alt = {};
    alt.ss_sp = room;
    alt.ss_size = sizeof(room);
    sigaltstack(&alt, nullptr);
    struct sigaction act = {};
    act.sa_sigaction = on_raise;
    act.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &act, nullptr);
    act.sa_sigaction = on_tick;
    act.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &act, nullptr);
    itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &every, nullptr);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    plugin_path[0] = argv[1];
    plugin_path[1] = argv[2];
    start_signals();
    for (int i = 0; i < 150; i++) {
        everything();
        raise_deep(i % 20);
        if (i % 10 == 0) {
            pthread_t id;
            pthread_create(&id, nullptr, in_thread, nullptr);
            pthread_join(id, nullptr);
        }
    }
    for (int i = 0; i < 3000 && !truth_has_ticks(); i++) everything(); /* for the timer only */
    itimerval none = {};
    setitimer(ITIMER_PROF, &none, nullptr);
    return truth_report();
}
