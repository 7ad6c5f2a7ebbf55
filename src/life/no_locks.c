/* no_locks.c - a static program has libc's locks and mappings by libc's names: there is nothing to put before them. dialect/locks.c
 * and dialect/mmap.c are the other choice. Climate: host. */
#include <errno.h>

#include "life/upcalls.h"

const bool vt__sees_maps = false;

int vt__watch_locks(bool on) {
    (void)on;
    return -ENOTSUP;
}
