// where.cc - says where it is: a heap profile of this process on stdout, one stack for each place below, with as many
// bytes as the place has number. symbols.py builds it in many ways and asks for the names.
//
//   1 plain function   2 member of a template   3 inlined into its caller   4 Rust's old names   5 Rust's new ones
//   6 a library's function   7 the vdso   8 a lambda, inlined   9 a lambda, called
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>

#define NOINLINE __attribute__((noinline, noclone))

extern "C" uintptr_t library_place();

static uintptr_t places[10];

// The return address of this call, which lies in whoever it was inlined into.
extern "C" NOINLINE uintptr_t here() {
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    __asm__ volatile("" : "+r"(pc));
    return pc;
}

namespace app {
NOINLINE void plain(int) {
    places[1] = here();
    __asm__ volatile("");
}
template <class T> struct Box {
    NOINLINE static void member(T) {
        places[2] = here();
        __asm__ volatile("");
    }
};
static inline __attribute__((always_inline)) void inlined() {
    places[3] = here(); // line of 3
    __asm__ volatile("");
}
NOINLINE void host() {
    inlined();
    __asm__ volatile("");
}
} // namespace app

// what rustc calls core::fmt::write::h0123456789abcdef, and mycrate::run
extern "C" NOINLINE void rust_old() __asm__("_ZN4core3fmt5write17h0123456789abcdefE");
extern "C" NOINLINE void rust_old() {
    places[4] = here();
    __asm__ volatile("");
}
extern "C" NOINLINE void rust_new() __asm__("_RNvCs1234_7mycrate3run");
extern "C" NOINLINE void rust_new() {
    places[5] = here();
    __asm__ volatile("");
}

int main() {
    app::plain(1);
    app::Box<long>::member(1);
    app::host();
    rust_old();
    rust_new();
    places[6] = library_place();
    if (void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD))
        if (void *f = dlsym(vdso, "__vdso_clock_gettime"))
            places[7] = reinterpret_cast<uintptr_t>(f) + 2;
    [] {
        places[8] = here();
        __asm__ volatile("");
    }();
    void (*called)() = [] {
        places[9] = here();
        __asm__ volatile("");
    };
    __asm__ volatile("" : "+r"(called));
    called();
    unsigned bytes = 0, n = 0;
    for (unsigned i = 1; i < 10; i++)
        if (places[i]) bytes += i, n++;
    printf("heap profile: %u: %u [%u: %u] @ heapprofile\n", n, bytes, n, bytes);
    for (unsigned i = 1; i < 10; i++)
        if (places[i]) printf("1: %u [1: %u] @ 0x%lx\n", i, i, places[i]);
    printf("MAPPED_LIBRARIES:\n");
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;) putchar(c);
    fclose(maps);
}
