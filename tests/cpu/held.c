/* held.c - what a tick must survive, one case at a time and without chance; storm.cpp has them all at once.
 *
 *   held linker    inside dl_iterate_phdr, which holds ld.so's lock: this thread burns, and waits for another that burns
 *   held jit       code without any tables, whose frame pointer is no address
 *   held frame     code whose tables lead to memory that cannot be read
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

/* rdi turns, with 8 in rbp: mov %rbp,%rax; mov $8,%ebp; 1: dec %rdi; jnz 1b; mov %rax,%rbp; ret */
static const unsigned char code[] = {0x48, 0x89, 0xe8, 0xbd, 8,    0,    0,    0,   0x48,
                                     0xff, 0xcf, 0x75, 0xfb, 0x48, 0x89, 0xc5, 0xc3};

static int jit(void) {
#ifdef __x86_64__
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 3;
    memcpy(at, code, sizeof code);
    if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) != 0) return 3;
    ((void (*)(uint64_t))(uintptr_t)at)(300000000);
    return 0;
#else
    return sizeof code == 0;
#endif
}

#ifdef __x86_64__
/* rdi turns, with rsi in rbp, by which its caller is to be found. */
extern void frame_elsewhere(uint64_t n_turns, uintptr_t frame_pointer);
__asm__(".text\n.type frame_elsewhere, @function\nframe_elsewhere:\n.cfi_startproc\n"
        "mov %rbp, %rax\nmov %rsi, %rbp\n.cfi_def_cfa %rbp, 16\n1: dec %rdi\njnz 1b\n"
        "mov %rax, %rbp\nret\n.cfi_endproc\n.size frame_elsewhere, . - frame_elsewhere\n");
#endif

static int frame(void) {
#ifdef __x86_64__
    char *at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 3;
    frame_elsewhere(300000000, (uintptr_t)at);
#endif
    return 0;
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
    if (strcmp(what, "frame") == 0) return frame();
    if (strcmp(what, "fibre") == 0) return fibre(16 * PAGE);
    if (strcmp(what, "small") == 0) return small();
    return 2;
}
