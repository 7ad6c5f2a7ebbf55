/* risk_05_first_and_last.c - a handler that allocates, at a process's first malloc and at its last.
 *
 * Each child is interrupted at one instruction. The first: nothing was allocated yet, and the handler's malloc is what the heap begins
 * with, or comes while it begins. The last: a mistake was found, and the process is about to abort; the handler makes a mistake, too.
 */
#include "risk.h"

#if !defined(__x86_64__)
int main(void) {
    check_say("skipped: the program steps itself on x86-64 only");
    return CHECK_SKIPPED;
}
#else

#include <signal.h>
#include <ucontext.h>

#include "step.h"

enum { HANG_SECONDS = 100, LAST = 100 };

static struct { /* the children's, too */
    long n_steps, n_came;
} * shared;
static int nowhere;
static long stop_at;
static void (*at_stop)(void);

static void on_step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (++shared->n_steps != stop_at) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL; /* no more steps */
    at_stop();
}

/* A child that makes the call, and is interrupted after n instructions: how it ended. */
static int interrupted(long n, void (*call)(void), void (*handler)(void), void (*then)(void)) {
    struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    int status;
    shared->n_steps = 0;
    stop_at = n;
    at_stop = handler;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(HANG_SECONDS);
        dup2(nowhere, 2); /* what it says is not the subject */
        if (sigaction(SIGTRAP, &act, NULL) != 0) _exit(3);
        STEPPED(call());
        then();
        _exit(0);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

/* ---- the first malloc ---- */

static void *block, *of_handler;

static void free_nothing(void) { free(NULL); }
static void ask_for_nothing(void) { (void)!malloc_usable_size(NULL); }
static void allocate(void) { block = malloc(24); }
static void allocate_too(void) { of_handler = malloc(KiB(80)); }

static void go_on(void) {
    void *p = malloc(KiB(80));
    if (p == NULL || p == of_handler) _exit(4);
    free(p);
    free(of_handler);
    free(block);
}

/* Answers how many instructions the call has. */
static long first(void (*call)(void), long stride) {
    for (long n = 1;; n += stride) {
        int status = interrupted(n, call, allocate_too, go_on);
        if (status != 0) check_say("a malloc after %ld instructions: %s", n, how_ended(status));
        MUST(status == 0);
        if (shared->n_steps < n) return shared->n_steps;
    }
}

/* ---- the last ---- */

static char *volatile freed, *volatile freed_too;

static void free_again(void) { free(freed); }
static void free_another_again(void) { free(freed_too); }
static void fail_to_die(void) { _exit(5); }

static void come_back(int number) { shared->n_came += number == SIGABRT; }
static void die_though_ignored(void) {
    signal(SIGABRT, SIG_IGN);
    free_again();
}
static void die_though_blocked(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    free_again();
}
static void die_after_handler(void) {
    signal(SIGABRT, come_back);
    free_again();
}

static bool is_aborted(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }

static void die_at_each_step(void) {
    free(freed = malloc(100));
    free(freed_too = malloc(1000));
    CHECK_TRUE(is_aborted(interrupted(0, die_though_ignored, NULL, fail_to_die)));
    CHECK_TRUE(is_aborted(interrupted(0, die_though_blocked, NULL, fail_to_die)));
    CHECK_TRUE(is_aborted(interrupted(0, die_after_handler, NULL, fail_to_die)));
    CHECK_EQ(shared->n_came, 1);
    CHECK_TRUE(is_aborted(interrupted(0, free_again, NULL, fail_to_die)));
    long n_all = shared->n_steps; /* the last one is the system call that ends it */
    for (long n = n_all - LAST; n <= n_all; n++) {
        int status = interrupted(n, free_again, free_another_again, fail_to_die);
        if (!is_aborted(status))
            check_say("a mistake after %ld of %ld instructions: %s", n, n_all, how_ended(status));
        MUST(is_aborted(status));
    }
    check_say("%ld instructions to the end", n_all);
    CHECK_TRUE(n_all > 2 * LAST);
}

int main(void) {
    require_preloaded();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    MUST(shared != MAP_FAILED && nowhere >= 0);
    long n_free = first(free_nothing, 1), n_ask = first(ask_for_nothing, 1);
    long n_malloc = first(allocate, 997); /* it is long */
    check_say("first calls of %ld, %ld and %ld instructions", n_free, n_ask, n_malloc);
    CHECK_TRUE(n_free > 5 && n_ask > 5 && n_malloc > 1000);
    die_at_each_step();
    return CHECK_DONE();
}
#endif
