/* run_summary.h - a whole run as one JSON file, FOLDER/NAME.run.json: for programs, what the report tells people. Climate: cli. */
#ifndef CLI_RUN_SUMMARY_H
#define CLI_RUN_SUMMARY_H

#include "cli/run.h"

struct summary {
    FILE *out; /* memory; NULL: not asked for */
    char *text;
    size_t n;
    bool has_probe;
};

/* What came of one probe. */
struct summary_probe {
    const char *what;              /* "heap" */
    pid_t pid;                     /* of the process that is shown */
    const struct profile *figures; /* its last profile; or NULL */
    const struct view *shown;      /* what the sites are of */
    const char *moment;            /* that is: "in use at the peak" */
    bool is_peak;
    bool has_mapped;                   /* the program's own mappings are in it */
    const char *last, *peak, *picture; /* files; NULL: none */
    const struct timeline *over_time;
    uint32_t n_others, n_left_out; /* other processes: with files, and with too little for them */
};

/* Does nothing more unless the settings ask for JSON. */
void summary_begin(struct summary *m, const struct run *r, const struct settings *s);
void summary_add(struct summary *m, const struct summary_probe *p);
/* Writes the file and says where it is. */
void summary_end(struct summary *m, const struct run *r);

#endif
