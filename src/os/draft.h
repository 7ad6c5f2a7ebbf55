/* draft.h - a file in the making: under a name of its own beside the one it gets when it is complete.
 *
 * `.vitrine.PID.TID.RANDOM.tmp` is created anew, never opened; locked while it is written; renamed at the end. So nothing that others
 * put under either name is written to. A draft whose lock is free was left by a process that was killed: the next one that is made in
 * the folder removes it. What is no regular file is written in place, if place.h lets us.
 *
 * Climate: malloc; also in the command.
 */
#ifndef VT_OS_DRAFT_H
#define VT_OS_DRAFT_H

#include "os/place.h"

VT_HIDDEN_BEGIN

struct vt_draft {
    struct vt_place place;
    int fd;             /* to be written and read, and closed by the caller */
    int lock;           /* the same file: holds the lock until the end; -1: none */
    char temporary[64]; /* its name; empty: written in place */
};

/* `buf` has VT_PLACE_BYTES and stays until the end. 0 or -errno, as vt__place_find. */
int vt__draft_open(struct vt_draft *d, const char *path, char *buf, unsigned mode);
/* Gives the file its name, or after an error (`err`) removes it. It may still be open, and written on. 0 or -errno; an older file of
 * that name is there until it succeeds. */
int vt__draft_end(struct vt_draft *d, int err);
/* The same under another name in that folder, if nothing has it: -EEXIST. After any error vt__draft_end is still due. */
int vt__draft_end_as(struct vt_draft *d, const char *name);

VT_HIDDEN_END

#endif
