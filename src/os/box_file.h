/* box_file.h - the file of the option black_box: made, handed on at forks, removed. box_file.c. Climate: host, no malloc. */
#ifndef VT_OS_BOX_FILE_H
#define VT_OS_BOX_FILE_H

#include "os/box.h"

VT_HIDDEN_BEGIN

extern struct vt_region *vt__box_regions[VT_BOX_N_REGIONS]; /* that are reserved; else NULL */

/* Makes it under this name, or with the process's number behind it where that is taken or `has_process`, and maps it. Once, before
 * any table of the box is there; in the child of a fork the tables that are there move into it. 0 or -errno. */
int vt__box_file_make(const char *path, bool has_process);
/* The process ends, and what is in it is in other files, too. */
void vt__box_file_remove(void);
/* The file of this name beside it, to append to; -errno: there is none, or it is not ours. The second writes and closes it. */
int vt__box_file_open_beside(const char *name);
void vt__box_file_tell(int fd, const void *data, size_t n_bytes);

/* Around a fork, with all locks held. The child has what the parent had, in memory of its own. */
void vt__box_fork_prepare(void);
void vt__box_fork_done(bool is_child);
bool vt__box_detach(void); /* the same for a child that we were not told of; false: done before */
void vt__box_calm(void);   /* there is nothing to attend to any more (vt__box_guard) */

VT_HIDDEN_END

#endif
