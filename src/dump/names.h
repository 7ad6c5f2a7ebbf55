/* names.h - what the file of a dump is called, in our own manner and in those of others.
 *
 * Climate: host, no malloc.   Owns: nothing; the numbers are counted by the caller.
 */
#ifndef VT_DUMP_NAMES_H
#define VT_DUMP_NAMES_H

#include "base/base.h"

VT_HIDDEN_BEGIN

enum vt_dump_style {
    VT_NAMES_VITRINE,    /* app.0001.heap, app.PID.0001.heap in a child */
    VT_NAMES_GPERFTOOLS, /* app.0001.heap, app_PID.0001.heap after exec */
    VT_NAMES_JEMALLOC,   /* jeprof.PID.7.i3.heap, always with the process */
};

/* What became of the process that the prefix was given to. */
enum vt_dump_process { VT_PROCESS_FIRST, VT_PROCESS_FORKED, VT_PROCESS_EXECED };

enum vt_dump_reason {
    VT_DUMP_ASKED,  /* by the program or another process */
    VT_DUMP_SIGNAL, /* by a signal */
    VT_DUMP_BYTES,  /* every N bytes allocated */
    VT_DUMP_TIME,   /* every N seconds */
    VT_DUMP_HIGH,   /* a new high-water mark, or a new peak */
    VT_DUMP_EXIT,   /* the last one */
    VT_DUMP_PEAK,   /* of the moment when most was in use; has a word for its number */
};

struct vt_dump_name {
    enum vt_dump_style style;
    enum vt_dump_process process;
    enum vt_dump_reason reason;
    const char
        *prefix; /* as the user gave it, with its folder; ours has %p for the pid, %% for % */
    int pid;
    uint64_t pid_namespace; /* 0: not wanted in the name (jemalloc's prof_pid_namespace) */
    uint64_t
        number; /* of all dumps of this process; ours and gperftools' begin with 1, jemalloc's with 0 */
    uint64_t
        reason_number; /* of those for the same reason, from 0; jemalloc alone has it in the name */
};

/* Writes the name and a NUL into `buf`; 0 or -ENAMETOOLONG, and then `buf` is empty. */
int vt__dump_name(char *buf, size_t n_bytes, const struct vt_dump_name *name);

/* The same for a file that has no number: the path with the process where it says %p. *has_process: it does. */
int vt__process_path(char *buf, size_t n_bytes, const char *path, bool *has_process);

VT_HIDDEN_END

#endif
