/* child.c - the program that cost.c steps through: warm malloc and free pairs of one size.
 *
 * Before the pairs it stops at a breakpoint with the address of its `struct mark` in rdi; that is all the
 * two programs say to each other. usage: cost_child SIZE WARM_PAIRS ALLOCATE FREE (only under cost, which traces it), with the
 * names of the two functions: called as mallocx and sdallocx are, of which malloc and free look at the first argument.
 */
#define _GNU_SOURCE
#include "mark.h"

#include <dlfcn.h>
#include <stdlib.h>

#if !defined(__x86_64__)
int main(void) { return 77; }
#else

static void *(*take)(size_t n_bytes, int flags);
static void (*give)(void *p, size_t n_bytes, int flags);

static void pair(size_t n) { give(take(n, 0), n, 0); }

/* A program has other blocks of the same size. Without any, some allocators see their page run empty at
 * each free and leave the fast path, which says nothing about a program. */
enum { N_LIVE = 64 };
static void *volatile live[N_LIVE];

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    size_t n = strtoul(argv[1], NULL, 10);
    long n_warm = strtol(argv[2], NULL, 10);
    struct mark mark = {dlsym(RTLD_DEFAULT, argv[3]), dlsym(RTLD_DEFAULT, argv[4])};
    *(void **)&take = mark.malloc_entry;
    *(void **)&give = mark.free_entry;
    for (int i = 0; i < N_LIVE; i++) live[i] = take(n, 0);
    for (long i = 0; i < n_warm; i++) pair(n);
    __asm__ volatile("int3" : : "D"(&mark) : "memory");
    for (;;) pair(n); /* until the parent has seen enough */
}
#endif
