/* residence.h - what the resident memory of a running program is: its heap, other mappings, stacks, files.
 *
 * The kernel tells the most that was resident, but not what it was. So we look on the way: often, and into the map of the
 * process when there is more than ever before. Climate: cli.
 */
#ifndef CLI_RESIDENCE_H
#define CLI_RESIDENCE_H

#include <stdbool.h>
#include <sys/types.h>

enum residence_part {
    RESIDENCE_HEAP,
    RESIDENCE_MAPPINGS, /* anonymous ones of the program's own, and of the library's tables */
    RESIDENCE_STACKS,
    RESIDENCE_FILES, /* code and data of the program and its libraries, and what it maps itself */
    RESIDENCE_PARTS
};
extern const char *const residence_words[RESIDENCE_PARTS];

struct residence {
    pid_t pid;                     /* of the largest process of the tree; 0: nothing was seen */
    double bytes[RESIDENCE_PARTS]; /* when it had most */
    double total;                  /* sum of them */
    bool has_heap;                 /* it is known which part is the heap */
};

/* Looks at the process and its children until it has ended. Returns at once where the kernel cannot tell of that. */
void residence_watch(pid_t pid, struct residence *r);

#endif
