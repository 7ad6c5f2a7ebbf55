/* residence.h - what the resident memory of a running program is: its heap, other mappings, stacks, files, our tables.
 *
 * The kernel tells the most that was resident, but not what it was. So we look on the way: often, and into the map of the
 * process when there is more than ever before. What a process has at its end it tells itself (src/dump/box_end.c). Climate: cli.
 */
#ifndef CLI_RESIDENCE_H
#define CLI_RESIDENCE_H

#include <stdbool.h>
#include <sys/types.h>

#include "report/read_box.h"

enum residence_part {
    RESIDENCE_HEAP,
    RESIDENCE_MAPPINGS, /* anonymous ones of the program's own */
    RESIDENCE_STACKS,
    RESIDENCE_FILES, /* code and data of the program and its libraries, and what it maps itself */
    RESIDENCE_TABLES, /* the library's; of a process that did not tell, only what is in its black box */
    RESIDENCE_PARTS
};
extern const char *const residence_words[RESIDENCE_PARTS];

struct residence {
    pid_t pid;                     /* of the largest process of the tree; 0: nothing was seen */
    char name[16];                 /* it has */
    double bytes[RESIDENCE_PARTS]; /* when it had most */
    double total;                  /* sum of them */
    bool has_heap;                 /* it is known which part is the heap */
    bool is_told;                  /* by the process itself */
    double peak_bytes;             /* most that any process had, as the kernel told us */
};

/* Looks at the process and its children until it has ended. Returns at once where the kernel cannot tell of that. */
void residence_watch(pid_t pid, struct residence *r);
/* After that: what a process told at its end. */
void residence_add_end(struct residence *r, const struct vt_box_end *e);
/* Of this process, so far; 0: not known. */
double residence_own_peak(void);

#endif
