// work.cc - a program whose profile is known in advance: each function allocates a fixed number of blocks of a fixed
// size and keeps them, then CPU time is burnt in two functions. Built with frame pointers, as users of the old
// profilers build.
//
//   work [millions of loops]     HEAPPROFILE, CPUPROFILE, MALLOC_CONF say what is recorded
#include <cstdio>
#include <cstdlib>
#include <vector>

#define NOINLINE __attribute__((noinline))
static std::vector<void *> kept;
static void keep(void *p) { kept.push_back(p); }

namespace app {
template <class T> struct Box {
    NOINLINE void fill(int n) {
        keep(malloc(n * sizeof(T)));
        asm volatile("");
    }
};
static inline __attribute__((always_inline)) void inlined(int n) {
    keep(malloc(n));
    asm volatile("");
}
NOINLINE void small() {
    Box<char> b;
    b.fill(1000);
    asm volatile("");
}
NOINLINE void large() {
    Box<double> b;
    b.fill(5000);
    asm volatile("");
}
NOINLINE void deep(int d) {
    if (d > 0)
        deep(d - 1);
    else
        keep(malloc(3000));
    asm volatile("");
}
NOINLINE void host() {
    inlined(7000);
    asm volatile("");
}
NOINLINE void freed() {
    void *p = malloc(11000);
    asm volatile("" : "+r"(p));
    free(p);
}
NOINLINE double burn_much(long n) {
    volatile double x = 1;
    for (long i = 0; i < n; i++) x = x * 1.0000001 + 0.1;
    return x;
}
NOINLINE double burn_some(long n) {
    volatile double x = 2;
    for (long i = 0; i < n; i++) x = x * 1.0000001 + 0.2;
    return x;
}
} // namespace app

int main(int argc, char **argv) {
    kept.reserve(10000);
    for (int i = 0; i < 1000; i++) app::small();
    for (int i = 0; i < 50; i++) app::large();
    for (int i = 0; i < 300; i++) app::deep(i % 7);
    for (int i = 0; i < 200; i++) app::host();
    for (int i = 0; i < 100; i++) app::freed();
    long n = argc > 1 ? atol(argv[1]) * 1000000 : 0;
    double x = app::burn_much(3 * n) + app::burn_some(n);
    fprintf(stderr, "%g\n", x);
    return 0;
}
