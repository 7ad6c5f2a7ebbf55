/* launch.c - starts one program under one allocator and writes down what it used.
 *
 *     launch [-o FILE] [-p PRELOAD] PROGRAM [ARGUMENT...]
 *
 * Why not from run.py itself: ru_maxrss of a process is at least the RSS its parent had at the
 * fork, and an interpreter's is larger than many of our rows. This program is static and tiny, and
 * LD_PRELOAD is set in the child alone. The child's usage includes the children that it waited for
 * (a compiler driver's).
 *
 * FILE gets one JSON object; times in seconds, memory in KiB. Exit 0 if the program could be
 * started, whatever became of it; 127 if not; 3 if we failed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WE_FAILED = 3, EXIT_NOT_STARTED = 127 };

static void fail(const char *what) {
    dprintf(STDERR_FILENO, "launch: error: %s: %s\n", what, strerror(errno));
    exit(EXIT_WE_FAILED);
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start(char **command, const char *preload, int out) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    close(out);
    if (preload && setenv("LD_PRELOAD", preload, 1)) fail("cannot set LD_PRELOAD");
    execvp(command[0], command);
    dprintf(STDERR_FILENO, "launch: error: cannot start '%s': %s\n", command[0], strerror(errno));
    _exit(EXIT_NOT_STARTED);
}

static void report(int out, int status, double wall, const struct rusage *u) {
    dprintf(out,
            "{\"exit\": %d, \"signal\": %d, \"wall\": %.6f, \"user\": %.6f, \"system\": %.6f, "
            "\"peak_kib\": %ld, \"minor_faults\": %ld, \"major_faults\": %ld, "
            "\"switches\": %ld}\n",
            WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, wall, seconds(u->ru_utime),
            seconds(u->ru_stime), u->ru_maxrss, u->ru_minflt, u->ru_majflt,
            u->ru_nvcsw + u->ru_nivcsw);
}

int main(int argc, char **argv) {
    const char *file = NULL, *preload = NULL;
    for (int opt; (opt = getopt(argc, argv, "+o:p:")) != -1;) {
        if (opt == 'o')
            file = optarg;
        else if (opt == 'p')
            preload = optarg;
        else
            return 2;
    }
    if (optind == argc) {
        dprintf(STDERR_FILENO, "usage: launch [-o FILE] [-p PRELOAD] PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    int out = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : STDERR_FILENO;
    if (out < 0) fail(file);

    double began = now();
    pid_t pid = start(argv + optind, preload, file ? out : -1);
    if (pid < 0) fail("cannot fork");

    int status;
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0)
        if (errno != EINTR) fail("cannot wait");
    report(out, status, now() - began, &usage);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_STARTED ? EXIT_NOT_STARTED : 0;
}
