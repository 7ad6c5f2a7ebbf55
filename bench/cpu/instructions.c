/* instructions.c - how many instructions of ours a tick of the CPU profiler takes, by single stepping: the machine's noise is not in it.
 *
 *     instructions N PROG [ARG...]       of PROG's N ticks (SIGPROF): the instructions of each handler, and of the median one, by address
 *
 * A system call counts for one. The addresses are for addr2line: "NUMBER FILE OFFSET".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_STEPS 200000

static unsigned long long steps[MAX_STEPS];

static unsigned long long pc_of(pid_t pid) {
    struct user_regs_struct r;
    ptrace(PTRACE_GETREGS, pid, 0, &r);
    return r.rip;
}

/* From the delivery of the signal to the instruction that was interrupted. */
static long step_through(pid_t pid, int number) {
    unsigned long long from = pc_of(pid);
    int status;
    long n = 0;
    for (;;) {
        if (ptrace(PTRACE_SINGLESTEP, pid, 0, n == 0 ? number : 0) != 0) return -1;
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return -1;
        unsigned long long pc = pc_of(pid);
        if (pc == from || n == MAX_STEPS) return n;
        steps[n++] = pc;
    }
}

static void print_where(pid_t pid, long n) {
    char path[64], line[1024], file[1024];
    unsigned long long low, high, offset;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    for (long i = 0; i < n; i++) {
        FILE *maps = fopen(path, "r");
        while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
            if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %1023s", &low, &high, &offset, file) ==
                    4 &&
                steps[i] >= low && steps[i] < high)
                printf("%ld %s %llx\n", i, file, steps[i] - low + offset);
        if (maps != NULL) fclose(maps);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    long n_ticks = strtol(argv[1], NULL, 0), last = 0;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    ptrace(PTRACE_CONT, pid, 0, 0);
    while (n_ticks > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        int number = WSTOPSIG(status);
        if (number == SIGPROF) {
            last = step_through(pid, number);
            fprintf(stderr, "%ld\n", last);
            n_ticks--;
            number = 0;
        }
        if (number == SIGTRAP) number = 0; /* an exec */
        if (n_ticks > 0) ptrace(PTRACE_CONT, pid, 0, number);
    }
    print_where(pid, last);
    kill(pid, SIGKILL);
    return 0;
}
