/* own.c - which code is ours, and how far walks go, in a program that is linked in every way; see own.sh. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "stack/impl.h"

static int n_bad;
#define CHECK(x)                                                                                   \
    do                                                                                             \
        if (!(x)) {                                                                                \
            printf("line %d: expected %s\n", __LINE__, #x);                                        \
            n_bad++;                                                                               \
        }                                                                                          \
    while (0)

static struct vt_frames f, of_signal;

__attribute__((noinline)) static void go_down(int depth) {
    if (depth == 0)
        vt__stack_here(&f);
    else
        go_down(depth - 1);
    __asm__ volatile("" ::"r"(depth) : "memory");
}

static void on_signal(int sig) {
    (void)sig;
    vt__stack_here(&of_signal);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv) {
    bool can_tell = argc > 1 && argv[1][0] == 'y'; /* whether ours has a section of its own */
    CHECK(vt__is_own((uintptr_t)vt__stack_here) == can_tell);
    CHECK(vt__is_own((uintptr_t)vt__depot_put) == can_tell);
    CHECK(!vt__is_own((uintptr_t)main));
    CHECK(!vt__is_own((uintptr_t)go_down));
    CHECK(!vt__is_own((uintptr_t)printf));
    free(malloc(10));
    for (int i = 0; i < 3; i++) {
        go_down(10);
        CHECK(f.n >= 12 && f.n < 20);
        CHECK(f.pc[0] - (uintptr_t)go_down < 200);
        CHECK(f.pc[5] == f.pc[4] && f.pc[9] == f.pc[4]);
        CHECK(f.hash == vt__frames_hash(f.pc, f.n));
    }
    vt__stack_modules_changed(); /* libc itself, where it has no _dl_find_object */
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    CHECK(of_signal.n >= 3); /* handler, restorer, raise; musl's raise has no tables */
    go_down(10);
    CHECK(f.n >= 12);
    printf("%u and %u frames\n", f.n, of_signal.n);
    return n_bad != 0;
}
