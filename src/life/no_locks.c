/* no_locks.c - a static program has libc's locks by libc's names: there is nothing to put before them. dialect/locks.c is the
 * other choice. Climate: host. */
#include <errno.h>

#include "life/upcalls.h"

int vt__watch_locks(bool on) {
    (void)on;
    return -ENOTSUP;
}
