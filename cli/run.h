/* run.h - between cli/cmd_run.c, which runs a program, and cli/run_report.c, which tells what came of it. Climate: cli. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <sys/types.h>
#include <time.h>

#include "cli/command.h"
#include "cli/residence.h"

/* What the name of a file tells. */
struct dump_name {
    pid_t pid;            /* 0: the program itself */
    unsigned long number; /* the last of a process has the highest */
    bool is_peak;
};

/* What can be recorded: an option of `run`, and what it makes the library do. */
struct probe {
    size_t asked;         /* the option's field in struct settings */
    const char *variable; /* gets FOLDER/NAME and this: */
    const char *prefix;
    /* Behind NAME, is it a file of this probe? */
    bool (*read_name)(const char *rest, struct dump_name *out);
    const char *what;   /* for people: "no WHAT profile" */
    const char *none;   /* and why that may be */
    const char *little; /* of processes without files: what they did */
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
    int64_t over_ns;       /* the end, since 1970 */
    double seconds;
    double peak_resident_bytes;
    struct residence residence; /* what it was */
    struct boxes *boxes;        /* run_boxes.h */
    char **before_exec;         /* files of what processes ran before they called exec; malloc'ed */
    uint32_t n_before_exec, cap_before_exec;
    pid_t *cut_off; /* processes whose exit handlers did not run; those with a box */
    uint32_t n_cut_off, cap_cut_off;
};

/* Of a profile, which may be a heap's with the program's own mappings in it: of these, or of all else. */
double run_total(const struct profile *p, uint32_t type, bool is_mapped);

bool run_heap_name(const char *rest, struct dump_name *out); /* .PID.NNNN.heap, .PID.peak.heap */
bool run_cpu_name(const char *rest, struct dump_name *out);  /* .cpu, .cpu_PID of a child */
bool run_contention_name(const char *rest, struct dump_name *out); /* .contention, as with .cpu */

/* On stderr: how it ended, and of each probe the sums, the top sites, the files and a flame graph, which is drawn here. */
void run_report(const struct run *r, const struct settings *s);

#endif
