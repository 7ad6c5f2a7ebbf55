/* box_folder.h - the folders that `vitrine run` makes for black boxes, and what earlier runs left in theirs.
 *
 *   XDG_RUNTIME_DIR, /dev/shm, TMPDIR or /tmp: the first that others cannot lead astray (src/os/place.h)
 *     vitrine.run.RANDOM/          ours alone; locked as long as the run lasts
 *       PID, PID.1                 black boxes
 *       ends                       what processes told at their end (VT_BOX_ENDS)
 *       RANDOM/PID                 under root: for processes that give up root
 *       .told                      the user knows what is in it, since this file was made
 *
 * A folder is made, looked into, emptied and removed by its descriptor, never by its path: who moves it away and plants a link there
 * leads nobody anywhere.
 *
 * Climate: cli.
 */
#ifndef CLI_BOX_FOLDER_H
#define CLI_BOX_FOLDER_H

#include <limits.h>
#include <sys/types.h>

#include "report/read_box.h"

#define BOX_FOLDER_NAME "vitrine.run." /* how its name begins */

struct box_folder {
    int parent, top,
        boxes;           /* descriptors; boxes: `top`, or the folder below it; -1: there is none */
    char name[32];       /* of `top` in the parent */
    char path[PATH_MAX]; /* of `boxes` */
};
#define BOX_FOLDER_NONE ((struct box_folder){.parent = -1, .top = -1, .boxes = -1})
static inline bool box_folder_is_there(const struct box_folder *f) { return f->top >= 0; }

/* Tells of the boxes that earlier runs left, too. false: there is no place, after a warning. */
bool box_folder_make(struct box_folder *f);
void box_folder_remove(struct box_folder *f);
/* Forgets it, and leaves it for processes that still write there. */
void box_folder_leave(struct box_folder *f);

struct box_file {
    char name[NAME_MAX + 1];
    struct vt_box box;
};

/* By process, then by time. */
struct box_list {
    struct box_file *all; /* to be freed */
    uint32_t n, cap;
};

/* Of what is no box nothing is said: the program may put there what it likes. */
struct box_list box_folder_list(const struct box_folder *f);
/* Has the box this, and its process did not write it itself? */
bool box_has_record(const struct vt_box *b, enum box_kind kind);

struct processes {
    pid_t *all; /* to be freed */
    uint32_t n, cap;
};

/* Those that have the folder's name in their environment, or map one of these boxes: they run, and may write there. */
struct processes box_folder_processes(const struct box_folder *f, const struct box_list *l);
bool box_is_running(const struct processes *p, const struct vt_box *b);

#endif
