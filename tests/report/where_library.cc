// where_library.cc - the place of where.cc that is in a library.
#include <cstdint>

extern "C" __attribute__((noinline)) uintptr_t library_place() {
    uintptr_t pc;
    __asm__ volatile("call 1f\n1: pop %0" : "=r"(pc));
    return pc;
}
