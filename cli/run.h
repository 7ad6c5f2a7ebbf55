/* run.h - between cli/cmd_run.c, which runs a program, and cli/run_report.c, which tells what came of it. Climate: cli. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <sys/types.h>
#include <time.h>

#include "cli/command.h"

/* What can be recorded: an option of `run`, and what it makes the library do. */
struct probe {
    size_t asked;         /* the option's field in struct settings */
    const char *variable; /* gets the prefix of its files */
    const char *end;      /* of their names: PREFIX.NNNN.end */
    const char *what;     /* for people */
};
extern const struct probe probes[]; /* ended by a row without variable */
static inline bool probe_is_asked(const struct probe *p, const struct settings *s) {
    return *(const bool *)((const char *)s + p->asked);
}

struct run {
    const char *name;      /* of the program, without folder */
    const char *folder;    /* where the files are, as the user would write it */
    pid_t pid;             /* it had */
    int ended;             /* how, as wait(2) says it */
    struct timespec began; /* wall clock, as files are dated */
    double seconds;
    double peak_resident_bytes;
};

/* On stderr: how it ended, and of each probe the sums, the top sites, the files and a flame graph, which is drawn here. */
void run_report(const struct run *r, const struct settings *s);

#endif
