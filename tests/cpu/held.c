/* held.c - what a tick must survive, one case at a time and without chance; storm.cpp has them all at once.
 *
 *   held linker    inside dl_iterate_phdr, which holds ld.so's lock: this thread burns, and waits for another that burns
 *   held jit       code without any tables, whose frame pointer is no address, or one that cannot be read
 *   held fibre     a stack of the program's own, with pages of no access around it
 *   held small     a stack of one page, with an alternate one for signals of the least size that programs take, SIGSTKSZ
 *
 * Each burns so long that there are many ticks. Exit 0; a minute without an end is a failure: SIGALRM ends it.
 */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn_loop.h"

#define BURN_MS 100
#define PAGE 4096

static __attribute__((noinline)) void *burn_beside(void *arg) {
    burn(BURN_MS);
    return arg;
}

static __attribute__((noinline)) void burn_inside(void) {
    burn(BURN_MS);
    sink++;
}

static int in_callback(struct dl_phdr_info *info, size_t n_bytes, void *unused) {
    pthread_t id;
    (void)info, (void)n_bytes, (void)unused;
    burn_inside();
    if (pthread_create(&id, NULL, burn_beside, NULL) != 0 || pthread_join(id, NULL) != 0) exit(3);
    return 1; /* once is enough */
}

/* rdi turns, with esi in rbp: mov %rbp,%rax; mov %esi,%ebp; 1: dec %rdi; jnz 1b; mov %rax,%rbp; ret */
static const unsigned char code[] = {0x48, 0x89, 0xe8, 0x89, 0xf5, 0x48, 0xff,
                                     0xcf, 0x75, 0xfb, 0x48, 0x89, 0xc5, 0xc3};

static int jit(void) {
#ifdef __x86_64__
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 3;
    memcpy(at, code, sizeof code);
    if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) != 0) return 3;
    void *nothing = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (nothing == MAP_FAILED) return 3;
    /* none at all, and one that looks well but cannot be read */
    ((void (*)(uint64_t, uint32_t))(uintptr_t)at)(150000000, 8);
    ((void (*)(uint64_t, uint32_t))(uintptr_t)at)(150000000, (uint32_t)(uintptr_t)nothing);
    return 0;
#else
    return sizeof code == 0;
#endif
}

static ucontext_t outside, inside;

static int fibre(size_t n_bytes) {
    char *at = mmap(NULL, n_bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + PAGE, n_bytes, PROT_READ | PROT_WRITE) != 0) return 3;
    if (getcontext(&inside) != 0) return 3;
    inside.uc_stack.ss_sp = at + PAGE;
    inside.uc_stack.ss_size = n_bytes;
    inside.uc_link = &outside;
    makecontext(&inside, burn_inside, 0);
    return swapcontext(&outside, &inside) != 0 ? 3 : 0;
}

static int small(void) {
    stack_t alternate = {.ss_size = (size_t)SIGSTKSZ};
    /* what is written below it would be found */
    char *at = mmap(NULL, PAGE + alternate.ss_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + PAGE, alternate.ss_size, PROT_READ | PROT_WRITE) != 0)
        return 3;
    alternate.ss_sp = at + PAGE;
    if (sigaltstack(&alternate, NULL) != 0) return 3;
    return fibre(PAGE); /* too small for the frame of a signal and its handler */
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    alarm(60);
    if (strcmp(what, "linker") == 0) return dl_iterate_phdr(in_callback, NULL) == 1 ? 0 : 4;
    if (strcmp(what, "jit") == 0) return jit();
    if (strcmp(what, "fibre") == 0) return fibre(16 * PAGE);
    if (strcmp(what, "small") == 0) return small();
    return 2;
}
