/* asking.c - counts what a question about the heap costs: ours against the original's, in the same run.
 *
 * It starts asking_child with each of two libraries preloaded, and follows it through its questions step by step, instruction by
 * instruction. Time plays no part.
 *
 *   asking OURS ORIGINAL BLOCKS THREADS QUESTION...     (see asking_child.c)
 *
 * A question may cost at most twice what the original takes for it, or FLOOR instructions where that is less: some originals read
 * one word. What the thread itself allocated and freed, and its peak, have THREAD_FLOOR by MIB: malloc and free count for them
 * there, here the question does. Questions that the original does not know are measured and not judged. Exit 0 fine, 1 too expensive,
 * 2 usage, 3 could not, 77 tracing is not permitted here.
 */
#define _GNU_SOURCE
#include "asking.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__x86_64__)
int main(void) {
    puts("skipped: the stepper knows x86-64 only");
    return 77;
}
#else

#include <libgen.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOO_MUCH = 1, USAGE = 2, COULD_NOT = 3, SKIPPED = 77 };
enum { N_QUESTIONS = 128, FIRST_QUESTION = 5 };

#define TIMES 2
#define FLOOR 500         /* some 0.1 us */
#define THREAD_FLOOR 1400 /* with some 10 lists and slabs */
#define COUNT_ONCE 20000  /* more than this is not counted again: each step takes 5 us and more */
#define MOST 20000000L    /* something hangs */

static void fail(const char *what, const char *subject) {
    fprintf(stderr, "asking: error: %s '%s'\n", what, subject);
    exit(COULD_NOT);
}

/* ---- one child ---- */

static pid_t start(const char *library, char **child_argv) {
    pid_t pid = fork();
    if (pid < 0) fail("cannot fork", child_argv[0]);
    if (pid > 0) return pid;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(SKIPPED);
    if (library[0] != '\0') setenv("LD_PRELOAD", library, 1);
    execv(child_argv[0], child_argv);
    _exit(COULD_NOT);
}

/* Now and then a step comes with a breakpoint's code, TRAP_BRKPT: one over a system call does. The instruction tells them apart. */
static bool is_behind_breakpoint(pid_t pid, unsigned long long rip) {
    long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(rip - 1), NULL);
    return (word & 0xff) == 0xcc; /* int3 */
}

/* The child runs to its next breakpoint; answers what it says there, 0 when it has ended. With `count` it goes step by step. */
static int go_on(pid_t pid, long *count) {
    struct user_regs_struct regs;
    siginfo_t info;
    int status, signal = 0;
    for (;;) {
        if (ptrace(count != NULL ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL,
                   (void *)(long)signal) != 0)
            fail("cannot go on with", "asking_child");
        if (waitpid(pid, &status, 0) != pid) fail("cannot wait for", "asking_child");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
        if (!WIFSTOPPED(status)) fail("an unexpected end of", "asking_child");
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (signal != 0) continue;
        ptrace(PTRACE_GETSIGINFO, pid, NULL, &info);
        ptrace(PTRACE_GETREGS, pid, NULL, &regs);
        if (info.si_code != TRAP_TRACE && is_behind_breakpoint(pid, regs.rip)) break;
        if (count != NULL && ++*count > MOST) fail("too many instructions in", "asking_child");
    }
    return (int)regs.rdi;
}

static int by_size(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* Instructions of each question, the median; -1: the library does not know it. */
static void measure(const char *library, char **child_argv, long *cost) {
    long counts[N_ASKS];
    int n_counts = 0, question = -1, status;
    pid_t pid = start(library, child_argv);
    if (waitpid(pid, &status, 0) != pid) fail("cannot wait for", child_argv[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        puts("skipped: tracing is not permitted here");
        exit(SKIPPED);
    }
    if (!WIFSTOPPED(status)) fail("cannot start", child_argv[0]);
    for (int said; (said = go_on(pid, NULL)) != 0;) {
        if (said == ASKING_NEXT) {
            question++;
            n_counts = 0;
            continue;
        }
        if (said != ASKING_BEGINS || question < 0) fail("nonsense from", child_argv[0]);
        bool is_known = n_counts > 0 && counts[0] > COUNT_ONCE;
        counts[n_counts] = 0;
        if (go_on(pid, is_known ? NULL : &counts[n_counts]) != ASKING_ENDS)
            fail("nonsense from", child_argv[0]);
        if (is_known) continue;
        n_counts++;
        qsort(counts, (size_t)n_counts, sizeof *counts, by_size);
        cost[question] = counts[n_counts / 2];
    }
}

/* ---- ours and theirs ---- */

/* The way to the figure is short there: what is counted here decides. */
static bool is_counted(const char *question) {
    return strcmp(question, "m:thread.allocated") == 0 ||
           strcmp(question, "m:thread.deallocated") == 0 ||
           strcmp(question, "m:thread.peak.read") == 0;
}

static bool is_fine(const char *question, long ours, long theirs) {
    long floor = is_counted(question) ? THREAD_FLOOR : FLOOR;
    return theirs < 0 || (ours >= 0 && (ours <= floor || ours <= TIMES * theirs));
}

int main(int argc, char **argv) {
    static long cost[2][N_QUESTIONS];
    static char child[4096];
    char *self = strdup(argv[0]);
    bool all_fine = true;
    if (argc <= FIRST_QUESTION || argc - FIRST_QUESTION > N_QUESTIONS) return USAGE;
    snprintf(child, sizeof child, "%s/asking_child", dirname(self));
    free(self);
    const char *libraries[2] = {argv[1], argv[2]};
    argv[2] = child; /* its arguments follow: BLOCKS THREADS QUESTION... */
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N_QUESTIONS; i++) cost[k][i] = -1;
        measure(libraries[k], argv + 2, cost[k]);
    }
    printf("%-44s %10s %10s\n", "instructions", "ours", "theirs");
    for (int i = 0; i < argc - FIRST_QUESTION; i++) {
        long ours = cost[0][i], theirs = cost[1][i];
        bool fine = is_fine(argv[FIRST_QUESTION + i], ours, theirs);
        printf("%-44s %10ld %10ld %s\n", argv[FIRST_QUESTION + i], ours, theirs,
               fine ? "" : " too much");
        all_fine = all_fine && fine;
    }
    return all_fine ? 0 : TOO_MUCH;
}
#endif
