/* profile_file.h - what the file of a profile that lasts is called: a CPU profile's, a contention profile's.
 *
 *   FILE          the process that was asked            FILE.0, FILE.1 ...   the same, where one begins many
 *   FILE_PID      the child of a fork, from there on; a program that such a process started; every process if the user wants that
 *
 * How a program knows that its parent has the name already: life/mark.h.
 *
 * Climate: host, no malloc.   Locks: none; the caller's.
 */
#ifndef VT_LIFE_PROFILE_FILE_H
#define VT_LIFE_PROFILE_FILE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

#define VT_PROFILE_PATH_BYTES 1024
#define VT_PROFILE_NAME_BYTES (2 * VT_PROFILE_PATH_BYTES)

struct vt_profile_file {
    bool is_child, has_pid, has_number;
    unsigned number;
    int pid;                            /* whose it is */
    char path[VT_PROFILE_PATH_BYTES];   /* as it was given */
    char folder[VT_PROFILE_PATH_BYTES]; /* where a relative one belongs: the program may move on */
};

/* 0 or -ENAMETOOLONG. */
int vt__profile_file_set(struct vt_profile_file *f, const char *path);
/* The same, with a path from the environment: it is marked there, or was by another process. */
int vt__profile_file_from_environment(struct vt_profile_file *f, const char *path);
void vt__profile_file_fork_child(struct vt_profile_file *f);
int vt__profile_file_name(const struct vt_profile_file *f, char name[VT_PROFILE_NAME_BYTES]);

VT_HIDDEN_END

#endif
