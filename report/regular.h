/* regular.h - files that data names, not the user: the binaries of a profile, their debug files, the sources in DWARF.
 *
 * Who made the data chose the names. A FIFO would hang us, a device would do something, /proc/kmsg or a trace would be eaten up.
 * So only ordinary files are opened, and opening never waits.   Climate: cli.
 */
#ifndef REPORT_REGULAR_H
#define REPORT_REGULAR_H

#include <stdbool.h>

/* A descriptor for reading; or a negative errno, -EINVAL for what is no ordinary file. */
int regular_open(const char *path);
/* Would it be opened? For those who can only be given a path. */
bool regular_is(const char *path);

#endif
