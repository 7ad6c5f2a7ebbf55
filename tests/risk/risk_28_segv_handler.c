/* risk_28_segv_handler.c - programs with a SIGSEGV handler of their own, as the JVM, Go and crash
 * reporters have.
 *
 * There is none before: a library that has one itself changes how programs without one die. The
 * program's must stay the one that is installed, run on its own stack, and see exactly the faults
 * of the program: a null pointer, a guard page, a stack overflow. It allocates nothing and jumps
 * back.
 */
#include "risk.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>

static sigjmp_buf back;
static volatile sig_atomic_t n_faults, on_own_stack;
static void *volatile fault_address;
static char *alt_stack;
enum { ALT_BYTES = 64 * 1024 };

static void on_fault(int number, siginfo_t *info, void *context) {
    char here;
    (void)number, (void)context;
    n_faults++;
    fault_address = info->si_addr;
    on_own_stack = &here >= alt_stack && &here < alt_stack + ALT_BYTES;
    siglongjmp(back, 1);
}

static void churn(unsigned seed) {
    uint64_t rng = seed + 1;
    void *kept[64] = {NULL};
    for (int i = 0; i < 20000; i++) {
        uint64_t r = next_random(&rng);
        free(kept[r % 64]);
        kept[r % 64] = malloc(1 + (r >> 8) % (i % 50 ? 2000 : 2000000));
    }
    for (int i = 0; i < 64; i++) free(kept[i]);
}

__attribute__((noinline)) static int overflow(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

static void expect_fault(volatile char *at) {
    int before = n_faults;
    if (sigsetjmp(back, 1) == 0) {
        *at = 1;
        CHECK_TRUE(!"a write that must fault did not");
    }
    CHECK_EQ(n_faults, before + 1);
    CHECK_EQ(fault_address, at);
    CHECK_EQ(on_own_stack, 1);
}

static void *thread(void *arg) {
    churn((unsigned)(uintptr_t)arg);
    return NULL;
}

int main(void) {
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, seen;
    pthread_t id;
    require_preloaded();
    alt_stack = malloc(ALT_BYTES); /* a signal stack from the heap, as usual */
    for (int number = SIGILL; number <= SIGSEGV; number++) {
        if (number == SIGKILL) continue;
        MUST(sigaction(number, NULL, &seen) == 0);
        CHECK_EQ((uintptr_t)seen.sa_handler, (uintptr_t)SIG_DFL);
    }
    stack_t stack = {.ss_sp = alt_stack, .ss_size = ALT_BYTES};
    struct rlimit small = {MiB(2), MiB(2)};
    MUST(alt_stack && sigaltstack(&stack, NULL) == 0);
    MUST(sigaction(SIGSEGV, &act, NULL) == 0 && sigaction(SIGBUS, &act, NULL) == 0);
    char *guard = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(guard != MAP_FAILED);
    for (unsigned i = 0; i < 20; i++) {
        churn(i);
        expect_fault(NULL);
        expect_fault(guard + i);
        MUST(pthread_create(&id, NULL, thread, (void *)(uintptr_t)i) == 0);
        CHECK_EQ(pthread_join(id, NULL), 0);
    }
    MUST(setrlimit(RLIMIT_STACK, &small) == 0);
    int before = n_faults;
    if (sigsetjmp(back, 1) == 0) overflow(0);
    CHECK_EQ(n_faults, before + 1);
    CHECK_EQ(on_own_stack, 1);
    churn(99);
    MUST(sigaction(SIGSEGV, NULL, &seen) == 0);
    CHECK_EQ((uintptr_t)seen.sa_sigaction,
             (uintptr_t)on_fault); /* nobody put another in its place */
    CHECK_EQ(seen.sa_flags & SA_ONSTACK, SA_ONSTACK);
    return CHECK_DONE();
}
